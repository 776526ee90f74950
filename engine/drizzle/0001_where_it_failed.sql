ALTER TABLE "webhooks"."effects" ADD COLUMN "max_attempts" integer;--> statement-breakpoint
ALTER TABLE "webhooks"."effects" ADD COLUMN "position" text;--> statement-breakpoint
ALTER TABLE "webhooks"."events" ADD COLUMN "max_attempts" integer;--> statement-breakpoint
ALTER TABLE "webhooks"."events" ADD COLUMN "position" text;