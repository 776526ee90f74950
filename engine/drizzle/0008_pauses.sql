CREATE TABLE "webhooks"."pauses" (
	"kind" text NOT NULL,
	"host" text NOT NULL,
	"failing" text[] DEFAULT '{}' NOT NULL,
	"last_error" text,
	"ok_at" timestamp with time zone,
	"paused_at" timestamp with time zone,
	"paused_by" text,
	"probe_at" timestamp with time zone,
	"probe_seconds" integer DEFAULT 0 NOT NULL,
	"backlog" boolean DEFAULT false NOT NULL,
	"next_at" timestamp with time zone,
	"line_at" timestamp with time zone,
	"runs" jsonb,
	"changed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "pauses_kind_host_pk" PRIMARY KEY("kind","host")
);
--> statement-breakpoint
ALTER TABLE "webhooks"."effects" ADD COLUMN "host" text;--> statement-breakpoint
ALTER TABLE "webhooks"."effects" ADD COLUMN "failing_since" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "webhooks"."effects" ADD COLUMN "slot_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "webhooks"."events" ADD COLUMN "failing_since" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "effects_waiting" ON "webhooks"."effects" USING btree ("kind","host","due_at") WHERE status = 'pending' and host is not null;