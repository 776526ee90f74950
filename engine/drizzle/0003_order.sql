CREATE TABLE "webhooks"."order_keys" (
	"source" text NOT NULL,
	"order_key" text NOT NULL,
	"turn" uuid NOT NULL,
	"received_at" timestamp with time zone NOT NULL,
	"order_place" integer NOT NULL,
	"event_id" text NOT NULL,
	CONSTRAINT "order_keys_source_order_key_pk" PRIMARY KEY("source","order_key"),
	CONSTRAINT "turn_was_kept" CHECK ("webhooks"."order_keys"."turn" <> '00000000-0000-0000-0000-000000000000')
);
--> statement-breakpoint
ALTER TABLE "webhooks"."events" ADD COLUMN "order_key" text;--> statement-breakpoint
ALTER TABLE "webhooks"."events" ADD COLUMN "order_place" integer;--> statement-breakpoint
ALTER TABLE "webhooks"."events" ADD COLUMN "holds" boolean;--> statement-breakpoint
CREATE INDEX "events_in_line" ON "webhooks"."events" USING btree ("source","order_key","received_at","order_place","event_id") WHERE order_key is not null and (status = 'pending' or (status = 'parked' and holds));