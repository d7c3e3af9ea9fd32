'use strict';

const { SELECT, ROWS } = require('../queries');

class BunSession {
  constructor(sql) { this.sql = sql; }
  select(id) { return this.sql.unsafe(SELECT, [id]).execute(); }
  value(result) { return result[0].id; }
  readRows() { return this.sql.unsafe(ROWS); }
  readObjects() { return this.readRows(); }
  end() { return this.sql.end(); }
}

module.exports = {
  label: 'Bun SQL',
  runtime: 'bun',
  async open({ path, host, port, user, database, tls }) {
    const { SQL } = require('bun');
    const sql = new SQL({ adapter: 'postgres', path, hostname: host, port, username: user, database, max: 1,
      tls: tls ? { rejectUnauthorized: false } : undefined });
    await sql.connect();
    return new BunSession(sql);
  }
};
