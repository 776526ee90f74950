CREATE TABLE "webhook_alerts" (
	"condition" text NOT NULL,
	"source" text NOT NULL,
	"error" text NOT NULL,
	"since" timestamp with time zone NOT NULL,
	"sent_at" timestamp with time zone,
	CONSTRAINT "webhook_alerts_condition_source_error_pk" PRIMARY KEY("condition","source","error")
);
--> statement-breakpoint
CREATE TABLE "webhook_bodies" (
	"source" text NOT NULL,
	"event_id" text NOT NULL,
	"body" text NOT NULL,
	"headers" jsonb NOT NULL,
	"received_at" timestamp with time zone NOT NULL,
	CONSTRAINT "webhook_bodies_source_event_id_pk" PRIMARY KEY("source","event_id")
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"source" text NOT NULL,
	"outcome" text NOT NULL,
	"count" bigint NOT NULL,
	CONSTRAINT "webhook_deliveries_source_outcome_pk" PRIMARY KEY("source","outcome")
);
--> statement-breakpoint
CREATE TABLE "webhook_effects" (
	"source" text NOT NULL,
	"event_id" text NOT NULL,
	"name" text NOT NULL,
	"kind" text NOT NULL,
	"payload" text NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"due_at" timestamp with time zone NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"last_error" text,
	"sent_at" timestamp with time zone,
	CONSTRAINT "webhook_effects_source_event_id_name_pk" PRIMARY KEY("source","event_id","name"),
	CONSTRAINT "known_effect_status" CHECK ("webhook_effects"."status" in ('pending', 'sent', 'parked'))
);
--> statement-breakpoint
CREATE TABLE "webhook_events" (
	"source" text NOT NULL,
	"event_id" text NOT NULL,
	"type" text,
	"occurred_at" timestamp with time zone,
	"received_at" timestamp with time zone NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"due_at" timestamp with time zone NOT NULL,
	"not_before" timestamp with time zone,
	"attempts" integer DEFAULT 0 NOT NULL,
	"last_error" text,
	"summary" text,
	"finished_at" timestamp with time zone,
	"completions" integer DEFAULT 0 NOT NULL,
	"fingerprint" text,
	"replay_number" integer DEFAULT 0 NOT NULL,
	"actions" jsonb,
	CONSTRAINT "webhook_events_source_event_id_pk" PRIMARY KEY("source","event_id"),
	CONSTRAINT "completed_at_most_once" CHECK ("webhook_events"."completions" <= 1),
	CONSTRAINT "known_status" CHECK ("webhook_events"."status" in ('pending', 'done', 'ignored', 'parked'))
);
--> statement-breakpoint
CREATE TABLE "webhook_hours" (
	"source" text NOT NULL,
	"hour" timestamp with time zone NOT NULL,
	CONSTRAINT "webhook_hours_source_hour_pk" PRIMARY KEY("source","hour")
);
--> statement-breakpoint
CREATE TABLE "customer_balances" (
	"customer" text PRIMARY KEY NOT NULL,
	"balance" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "email_status" (
	"email" text PRIMARY KEY NOT NULL,
	"status" text NOT NULL,
	"changed_at" timestamp with time zone NOT NULL,
	"changed_by" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "invoices" (
	"id" text PRIMARY KEY NOT NULL,
	"customer" text NOT NULL,
	"amount_paid" bigint NOT NULL,
	"currency" text NOT NULL,
	"paid_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "repositories" (
	"full_name" text PRIMARY KEY NOT NULL,
	"default_branch" text NOT NULL,
	"pushed_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "webhook_bodies" ADD CONSTRAINT "webhook_bodies_event" FOREIGN KEY ("source","event_id") REFERENCES "public"."webhook_events"("source","event_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_effects" ADD CONSTRAINT "webhook_effects_event" FOREIGN KEY ("source","event_id") REFERENCES "public"."webhook_events"("source","event_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "webhook_bodies_received" ON "webhook_bodies" USING btree ("received_at");--> statement-breakpoint
CREATE INDEX "webhook_effects_due" ON "webhook_effects" USING btree ("due_at") WHERE status = 'pending';--> statement-breakpoint
CREATE INDEX "webhook_effects_parked" ON "webhook_effects" USING btree ("source","event_id") WHERE status = 'parked';--> statement-breakpoint
CREATE INDEX "webhook_effects_sent" ON "webhook_effects" USING brin ("sent_at");--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_events_fingerprint" ON "webhook_events" USING btree ("source","fingerprint","replay_number") WHERE fingerprint is not null;--> statement-breakpoint
CREATE INDEX "webhook_events_due" ON "webhook_events" USING btree ("due_at") WHERE status = 'pending';--> statement-breakpoint
CREATE INDEX "webhook_events_received" ON "webhook_events" USING btree ("received_at");--> statement-breakpoint
CREATE INDEX "webhook_events_parked" ON "webhook_events" USING btree ("received_at") WHERE status = 'parked';