// YOURS: your tables, as Drizzle describes them. After a change: `npm run db:generate`.
export {};
