CREATE TABLE "webhooks"."reconciles" (
	"source" text PRIMARY KEY NOT NULL,
	"since" timestamp with time zone NOT NULL,
	"asked_at" timestamp with time zone,
	"listed" integer DEFAULT 0 NOT NULL,
	"missing" integer DEFAULT 0 NOT NULL,
	"found" integer DEFAULT 0 NOT NULL,
	"found_since" timestamp with time zone,
	"found_at" timestamp with time zone,
	"confirmed_key" text,
	"accepted" boolean DEFAULT false NOT NULL,
	"problem" text,
	"problem_since" timestamp with time zone,
	"last_error" text,
	"not_before" timestamp with time zone,
	"delivered" jsonb
);
