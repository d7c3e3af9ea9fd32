'use strict';

const { pipeline } = require('node:stream/promises');
const { TEXTS } = require('../routes');

const named = (name, values) => ({ name, text: TEXTS[name], values });

const jsonLines = async function* (rows) {
  for await (const row of rows) yield `${JSON.stringify(row)}\n`;
};

module.exports = {
  label: 'pg, Pool of 10',
  /** If it is pipelined, a request that asks twenty times sends all of it on one connection. */
  async open({ host, port, user, database }, pipelined = false) {
    const { Pool } = require('pg');
    const QueryStream = require('pg-query-stream');
    const pool = new Pool({ host, port, user, database, max: 10, pipeline: pipelined });
    const streaming = pipelined ? new Pool({ host, port, user, database, max: 10 }) : pool; // a pipeline has no portals
    /** Does something with each of a list, on one connection where that can take more than one query. */
    const each = async (list, work) => {
      if (!pipelined) return Promise.all(list.map(item => work(pool, item)));
      const client = await pool.connect();
      return Promise.all(list.map(item => work(client, item))).finally(() => client.release());
    };
    return {
      one: async id => (await pool.query(named('one', [id]))).rows[0],
      many: ids => each(ids, async (client, id) => (await client.query(named('one', [id]))).rows[0]),
      twelve: async () => (await pool.query(named('twelve'))).rows,
      update: changes => each(changes, (client, values) => client.query(named('update', values))),
      thousand: async out => out.send('application/json', JSON.stringify((await pool.query(named('thousand'))).rows)),
      async stream(out) {
        const client = await streaming.connect();
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
