CREATE TABLE "webhooks"."cancellations" (
	"source" text NOT NULL,
	"kind" text NOT NULL,
	"cancel_key" text NOT NULL,
	"cancelled_at" timestamp with time zone NOT NULL,
	CONSTRAINT "cancellations_source_kind_cancel_key_pk" PRIMARY KEY("source","kind","cancel_key")
);
--> statement-breakpoint
ALTER TABLE "webhooks"."effects" DROP CONSTRAINT "known_effect_status";--> statement-breakpoint
ALTER TABLE "webhooks"."effects" ADD COLUMN "send_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "webhooks"."effects" ADD COLUMN "cancel_key" text;--> statement-breakpoint
CREATE INDEX "cancellations_age" ON "webhooks"."cancellations" USING btree ("cancelled_at");--> statement-breakpoint
CREATE UNIQUE INDEX "effect_key_once" ON "webhooks"."effects" USING btree ("source","kind","cancel_key") WHERE cancel_key is not null;--> statement-breakpoint
ALTER TABLE "webhooks"."effects" ADD CONSTRAINT "known_effect_status" CHECK ("webhooks"."effects"."status" in ('pending', 'sent', 'parked', 'cancelled')) NOT VALID;