'use strict';

const { Client } = require('pg');
const { SELECT, ROWS } = require('../queries');

class PgSession {
  constructor(client) { this.client = client; }
  select(id) { return this.client.query({ name: 'select', text: SELECT, values: [id] }); }
  value(result) { return result.rows[0].id; }
  async readRows() { return (await this.client.query(ROWS)).rows; }
  readObjects() { return this.readRows(); }
  end() { return this.client.end(); }
}

const adapter = (label, pipeline) => ({
  label,
  async open({ path: socketPath, host, port, user, database, tls }) {
    const client = new Client({
      host: socketPath ? require('node:path').dirname(socketPath) : host, port, user, database, pipeline,
      ssl: tls ? { rejectUnauthorized: false } : false
    });
    await client.connect();
    return new PgSession(client);
  }
});
module.exports = { ...adapter('pg', false), adapter };
