'use strict';

const { pipeline } = require('node:stream/promises');
const { TEXTS } = require('../routes');

const named = (name, values) => ({ name, text: TEXTS[name], values });

const jsonLines = async function * (rows) {
  for await (const row of rows) yield `${JSON.stringify(row)}\n`;
};

module.exports = {
  label: 'pg, Pool of 10',
  async open({ host, port, user, database }) {
    const { Pool } = require('pg');
    const QueryStream = require('pg-query-stream');
    const pool = new Pool({ host, port, user, database, max: 10 });
    return {
      one: async id => (await pool.query(named('one', [id]))).rows[0],
      many: ids => Promise.all(ids.map(async id => (await pool.query(named('one', [id]))).rows[0])),
      twelve: async () => (await pool.query(named('twelve'))).rows,
      update: changes => Promise.all(changes.map(values => pool.query(named('update', values)))),
      thousand: async out => out.send('application/json', JSON.stringify((await pool.query(named('thousand'))).rows)),
      async stream(out) {
        const client = await pool.connect();
        try {
          const rows = client.query(new QueryStream(TEXTS.stream, [], { batchSize: 1000 }));
          await pipeline(rows, jsonLines, out.open('application/x-ndjson'));
        } finally {
          client.release();
        }
      }
    };
  }
};
