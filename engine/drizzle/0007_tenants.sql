CREATE TABLE "webhooks"."tenants" (
	"source" text NOT NULL,
	"tenant" text NOT NULL,
	"generation" integer DEFAULT 1 NOT NULL,
	"key_id" text NOT NULL,
	"sealed" text,
	"previous_generation" integer,
	"previous_key_id" text,
	"sealed_previous" text,
	"created_at" timestamp with time zone NOT NULL,
	"disabled_at" timestamp with time zone,
	"erase_asked_at" timestamp with time zone,
	"erased_at" timestamp with time zone,
	CONSTRAINT "tenants_source_tenant_pk" PRIMARY KEY("source","tenant"),
	CONSTRAINT "tenant_name" CHECK ("webhooks"."tenants"."tenant" ~ '^[a-z0-9_-]{1,64}$')
);
