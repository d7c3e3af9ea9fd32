'use strict';

const { pipeline } = require('node:stream/promises');

/** A statement as the literal that one would write in a program: it is faster than `unsafe`. */
function template(text) {
  const strings = text.split(/\$\d+/);
  return Object.assign(strings, { raw: strings });
}

class PostgresSession {
  constructor(sql) {
    this.sql = sql;
    this.templates = new Map();
  }

  query({ text }, values) {
    let strings = this.templates.get(text);
    if (strings === undefined) this.templates.set(text, (strings = template(text)));
    return this.sql(strings, ...values);
  }

  rows(result) {
    return result;
  }

  read(statement, as) {
    const query = this.query(statement, []);
    return as === 'arrays' ? query.values() : query;
  }

  passTo(stream, { text }) {
    const { sql } = this;
    return pipeline(async function* () {
      for await (const rows of sql.unsafe(text).cursor(1000)) {
        yield rows.map(row => `${JSON.stringify(row)}\n`).join('');
      }
    }, stream);
  }

  /** There is no stream of a result that leaves another stream open. */
  passEach(stream, statement, lists) {
    return Promise.all(
      lists.map(async values => {
        for (const row of await this.query(statement, values)) stream.write(`${JSON.stringify(row)}\n`);
      })
    );
  }

  async firstOf({ text }, size) {
    for await (const rows of this.sql.unsafe(text).cursor(size)) if (rows.length > 0) break;
  }

  running(text) {
    const query = this.sql.unsafe(text).execute();
    return { ended: query, cancel: () => query.cancel() };
  }

  async copyOut({ text }, stream) {
    return pipeline(await this.sql.unsafe(text).readable(), stream);
  }
  async copyLoop({ text }, sink) {
    for await (const chunk of await this.sql.unsafe(text).readable()) sink.bytesTaken += chunk.length;
  }
  async copyIn({ text }, chunks) {
    return pipeline(chunks, await this.sql.unsafe(text).writable());
  }

  async cursor({ text }, size, onrows) {
    for await (const rows of this.sql.unsafe(text).cursor(size)) onrows(rows.length);
  }

  end() {
    return this.sql.end();
  }
}

/** One connection, which sends as much ahead as it is asked for. */
const ONE = { max: 1, max_pipeline: 1e9, fetch_types: false };

function connect({ path, host, port, user, password, database, tls }, options = ONE) {
  const ssl = tls ? { rejectUnauthorized: false } : false;
  return require('postgres')({ path, host, port, user, password, database, ssl, ...options });
}

module.exports = {
  label: 'postgres',
  labels: { 'pass-null': 'postgres, JSON', 'pass-file': 'postgres, JSON' },
  cannot: { 'select-batch': 'no shared Sync', 'rows-binary': 'reads text', 'pass-binary': 'JSON is text' },
  load: () => require('postgres'),

  async open(target) {
    const sql = connect(target);
    await sql`SELECT 1`;
    return new PostgresSession(sql);
  },

  openPool(target) {
    const sql = connect(target, {});
    return {
      transaction: work =>
        sql.begin(tx => work((statement, values) => new PostgresSession(tx).query(statement, values))),
      rows: result => result,
      end: () => sql.end()
    };
  },

  async firstRow(target, { text }, values) {
    const sql = connect(target);
    const [row] = await sql.unsafe(text, values);
    await sql.end();
    return row.id;
  }
};
