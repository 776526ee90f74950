CREATE TABLE "customer_balances" (
	"customer" text PRIMARY KEY NOT NULL,
	"balance" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "email_status" (
	"email" text PRIMARY KEY NOT NULL,
	"status" text NOT NULL,
	"changed_at" timestamp with time zone NOT NULL,
	"received_at" timestamp with time zone NOT NULL,
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
