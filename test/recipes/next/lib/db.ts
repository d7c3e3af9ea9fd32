import { Pool } from 'quickgres/pool';

// On globalThis, since Next loads modules anew in development.
const shared = globalThis as { pool?: Pool };
export const pool = (shared.pool ??= new Pool(process.env.DATABASE_URL, { size: 2, idle_timeout: 5000 }));

// Connections may die while a serverless process is frozen: set `{ idempotent: true }` for queries that only read.
