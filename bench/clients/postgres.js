'use strict';

const postgres = require('postgres');
const { SELECT, ROWS } = require('../queries');

class PostgresSession {
  constructor(sql) { this.sql = sql; }
  select(id) { return this.sql.unsafe(SELECT, [id], { prepare: true }); }
  value(result) { return result[0].id; }
  readRows() { return this.sql.unsafe(ROWS, [], { prepare: true }); }
  readObjects() { return this.readRows(); }
  end() { return this.sql.end(); }
}

module.exports = {
  label: 'postgres',
  async open({ path, host, port, user, database, tls }) {
    const sql = postgres({ path, host, port, user, database, max: 1, fetch_types: false,
      max_pipeline: 100000, ssl: tls ? { rejectUnauthorized: false } : false });
    await sql`SELECT 1`;
    return new PostgresSession(sql);
  }
};
