'use strict';

const path = require('node:path');
const { SELECT, ROWS } = require('../queries');

class QuickgresSession {
  constructor(client) {
    this.client = client;
  }

  select(id) { return this.client.query(SELECT, [id]); }
  value(result) { return result.rows[0].id; }
  batch(ids) { return this.client.batch(ids.map(id => [SELECT, [id]])); }
  async readRows() { return (await this.client.query(ROWS)).rows; }
  async readObjects() { return (await this.client.query(ROWS)).rows.map(row => row.toObject()); }
  end() { return this.client.end(); }
}

module.exports = {
  label: 'quickgres',
  async open({ path: socketPath, host, port, user, database, tls }) {
    const { Client } = require(path.resolve(process.env.BENCH_MODULE || path.join(__dirname, '../../index.js')));
    const client = new Client({ user, database });
    if (socketPath) await client.connect(socketPath);
    else await client.connect(port, host, tls ? {} : undefined);
    return new QuickgresSession(client);
  }
};
