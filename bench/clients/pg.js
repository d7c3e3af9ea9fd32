'use strict';

const { pipeline } = require('node:stream/promises');

const jsonLines = async function* (rows) {
  for await (const row of rows) yield `${JSON.stringify(row)}\n`;
};

class PgSession {
  constructor(client, config) {
    this.client = client;
    this.config = config;
  }

  query({ name, text }, values) {
    return this.client.query({ name, text, values });
  }
  rows(result) {
    return result.rows;
  }

  async read({ text }, as) {
    if (as === 'arrays') return (await this.client.query({ text, rowMode: 'array' })).rows;
    return (await this.client.query(as === 'binary' ? { text, binary: true } : text)).rows;
  }

  _stream(text, size) {
    const QueryStream = require('pg-query-stream');
    return this.client.query(new QueryStream(text, [], { batchSize: size }));
  }

  passTo(stream, { text }) {
    return pipeline(this._stream(text, 1000), jsonLines, stream);
  }

  /** There is no stream of a result that leaves another stream open. */
  passEach(stream, statement, lists) {
    return Promise.all(
      lists.map(async values => {
        for (const row of this.rows(await this.query(statement, values))) stream.write(`${JSON.stringify(row)}\n`);
      })
    );
  }

  async firstOf({ text }, size) {
    for await (const row of this._stream(text, size)) if (row) break;
  }

  running(text) {
    const { Client, Query } = require('pg');
    const query = new Query(text);
    const ended = new Promise((resolve, reject) => {
      query.on('end', resolve).on('error', reject);
    });
    this.client.query(query);
    return { ended, cancel: () => new Client(this.config).cancel(this.client, query) };
  }

  copyOut({ text }, stream) {
    const { to } = require('pg-copy-streams');
    return pipeline(this.client.query(to(text)), stream);
  }

  async copyLoop({ text }, sink) {
    const { to } = require('pg-copy-streams');
    for await (const chunk of this.client.query(to(text))) sink.bytesTaken += chunk.length;
  }

  copyIn({ text }, chunks) {
    const { from } = require('pg-copy-streams');
    return pipeline(chunks, this.client.query(from(text)));
  }

  async cursor({ text }, size, onrows) {
    for await (const row of this._stream(text, size)) onrows(row ? 1 : 0);
  }

  end() {
    return this.client.end();
  }
}

/**
 * @param {string} label
 * @param {boolean} pipelined whether `pipeline: true`
 */
function adapter(label, pipelined) {
  return {
    label,
    load: () => require('pg'),

    async open({ directory, host, port, user, password, database, tls }) {
      const { Client } = require('pg');
      const ssl = tls ? { rejectUnauthorized: false } : false;
      const where = { host: directory || host, port, user, password, database, ssl };
      const client = new Client({ ...where, pipeline: pipelined });
      await client.connect();
      return new PgSession(client, where);
    },

    openPool({ directory, host, port, user, password, database, tls }) {
      const ssl = tls ? { rejectUnauthorized: false } : false;
      const pool = new (require('pg').Pool)({ host: directory || host, port, user, password, database, ssl });
      return {
        async transaction(work) {
          const client = await pool.connect();
          try {
            await client.query('BEGIN');
            await work(({ name, text }, values) => client.query({ name, text, values }));
            await client.query('COMMIT');
          } finally {
            client.release();
          }
        },
        rows: result => result.rows,
        end: () => pool.end()
      };
    },

    async firstRow(target, statement, values) {
      const session = await this.open(target);
      const { rows } = await session.query({ text: statement.text }, values);
      await session.end();
      return rows[0].id;
    }
  };
}

const noBatch = { 'select-batch': 'no shared Sync' };

module.exports = {
  ...adapter('pg', false),
  labels: {
    'copy-out': 'pg + pg-copy-streams',
    'copy-out-csv': 'pg + pg-copy-streams',
    'copy-out-binary': 'pg + pg-copy-streams',
    'copy-out-iterated': 'pg + pg-copy-streams',
    'copy-in': 'pg + pg-copy-streams',
    'copy-in-rows': 'pg + pg-copy-streams',
    cursor: 'pg + pg-query-stream',
    'pass-null': 'pg + pg-query-stream, JSON',
    'pass-file': 'pg + pg-query-stream, JSON'
  },
  cannot: {
    ...noBatch,
    'pass-binary': 'JSON is text',
    'cancel@tls': 'asks without TLS',
    'select-pipelined@link': 'a round trip for each query, 25 a second'
  },
  adapter,
  noBatch
};
