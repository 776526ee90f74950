CREATE SCHEMA "webhooks";
--> statement-breakpoint
CREATE TABLE "webhooks"."alerts" (
	"condition" text NOT NULL,
	"source" text NOT NULL,
	"failure" text NOT NULL,
	"since" timestamp with time zone NOT NULL,
	"sent_at" timestamp with time zone,
	CONSTRAINT "alerts_condition_source_failure_pk" PRIMARY KEY("condition","source","failure")
);
--> statement-breakpoint
CREATE TABLE "webhooks"."bodies" (
	"source" text NOT NULL,
	"event_id" text NOT NULL,
	"body" text NOT NULL,
	"headers" jsonb NOT NULL,
	"received_at" timestamp with time zone NOT NULL,
	CONSTRAINT "bodies_source_event_id_pk" PRIMARY KEY("source","event_id")
);
--> statement-breakpoint
CREATE TABLE "webhooks"."effects" (
	"source" text NOT NULL,
	"event_id" text NOT NULL,
	"name" text NOT NULL,
	"generation" uuid DEFAULT gen_random_uuid() NOT NULL,
	"kind" text NOT NULL,
	"payload" text NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"due_at" timestamp with time zone NOT NULL,
	"not_before" timestamp with time zone,
	"begun_at" timestamp with time zone,
	"attempts" integer DEFAULT 0 NOT NULL,
	"failure" text,
	"last_error" text,
	"sent_at" timestamp with time zone,
	CONSTRAINT "effects_source_event_id_name_pk" PRIMARY KEY("source","event_id","name"),
	CONSTRAINT "known_effect_status" CHECK ("webhooks"."effects"."status" in ('pending', 'sent', 'parked')),
	CONSTRAINT "known_effect_failure" CHECK ("webhooks"."effects"."failure" in ('handler', 'permanent', 'retry_later', 'schema', 'changes', 'time_limit', 'response', 'database', 'no_handler', 'body_gone', 'replay', 'poison'))
);
--> statement-breakpoint
CREATE TABLE "webhooks"."events" (
	"source" text NOT NULL,
	"event_id" text NOT NULL,
	"type" text,
	"occurred_at" timestamp with time zone,
	"received_at" timestamp with time zone NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"due_at" timestamp with time zone NOT NULL,
	"not_before" timestamp with time zone,
	"begun_at" timestamp with time zone,
	"attempts" integer DEFAULT 0 NOT NULL,
	"failure" text,
	"last_error" text,
	"failed_paths" jsonb,
	"summary" text,
	"finished_at" timestamp with time zone,
	"completions" integer DEFAULT 0 NOT NULL,
	"fingerprint" text,
	"replay_number" integer DEFAULT 0 NOT NULL,
	"actions" jsonb,
	CONSTRAINT "events_source_event_id_pk" PRIMARY KEY("source","event_id"),
	CONSTRAINT "completed_at_most_once" CHECK ("webhooks"."events"."completions" between 0 and 1),
	CONSTRAINT "known_status" CHECK ("webhooks"."events"."status" in ('pending', 'done', 'ignored', 'parked')),
	CONSTRAINT "known_failure" CHECK ("webhooks"."events"."failure" in ('handler', 'permanent', 'retry_later', 'schema', 'changes', 'time_limit', 'response', 'database', 'no_handler', 'body_gone', 'replay', 'poison'))
);
--> statement-breakpoint
CREATE TABLE "webhooks"."hours" (
	"source" text NOT NULL,
	"hour" timestamp with time zone NOT NULL,
	CONSTRAINT "hours_source_hour_pk" PRIMARY KEY("source","hour")
);
--> statement-breakpoint
ALTER TABLE "webhooks"."bodies" ADD CONSTRAINT "bodies_event" FOREIGN KEY ("source","event_id") REFERENCES "webhooks"."events"("source","event_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhooks"."effects" ADD CONSTRAINT "effects_event" FOREIGN KEY ("source","event_id") REFERENCES "webhooks"."events"("source","event_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "bodies_received" ON "webhooks"."bodies" USING btree ("received_at");--> statement-breakpoint
CREATE INDEX "effects_due" ON "webhooks"."effects" USING btree ("due_at") WHERE status = 'pending';--> statement-breakpoint
CREATE INDEX "effects_parked" ON "webhooks"."effects" USING btree ("source","event_id") WHERE status = 'parked';--> statement-breakpoint
CREATE INDEX "effects_sent" ON "webhooks"."effects" USING brin ("sent_at");--> statement-breakpoint
CREATE UNIQUE INDEX "fingerprint_once" ON "webhooks"."events" USING btree ("source","fingerprint","replay_number") WHERE fingerprint is not null;--> statement-breakpoint
CREATE INDEX "events_due" ON "webhooks"."events" USING btree ("due_at") WHERE status = 'pending';--> statement-breakpoint
CREATE INDEX "events_received" ON "webhooks"."events" USING btree ("received_at");--> statement-breakpoint
CREATE INDEX "events_parked" ON "webhooks"."events" USING btree ("received_at") WHERE status = 'parked';