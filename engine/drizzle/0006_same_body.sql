ALTER TABLE "webhooks"."events" ADD COLUMN "body_of" text;--> statement-breakpoint
CREATE INDEX "events_body_of" ON "webhooks"."events" USING btree ("source","body_of") WHERE body_of is not null;