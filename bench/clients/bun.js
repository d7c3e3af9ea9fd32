'use strict';

// The SQL client that is part of Bun; it runs in Bun.

class BunSession {
  constructor(sql) {
    this.sql = sql;
  }

  // A query of Bun's is only sent when it is awaited or told to.
  query({ text }, values) {
    return this.sql.unsafe(text, values).execute();
  }
  rows(result) {
    return result;
  }

  /** There is no stream of a result. */
  passEach(stream, statement, lists) {
    return Promise.all(
      lists.map(async values => {
        for (const row of await this.query(statement, values)) stream.write(`${JSON.stringify(row)}\n`);
      })
    );
  }

  running(text) {
    const query = this.sql.unsafe(text).execute();
    return { ended: query, cancel: () => void query.cancel() };
  }

  read({ text }, as) {
    const query = this.sql.unsafe(text);
    return as === 'arrays' ? query.values() : query;
  }

  end() {
    return this.sql.end();
  }
}

function connect({ path, host, port, user, password, database, tls }, options = { max: 1 }) {
  const { SQL } = require('bun');
  const where = path ? { path } : { hostname: host };
  const secure = tls ? { rejectUnauthorized: false } : undefined;
  const login = { username: user, password, database };
  return new SQL({ adapter: 'postgres', ...where, port, ...login, tls: secure, ...options });
}

const NO_STREAM = 'gives whole results only';
const NO_COPY = 'no COPY';

module.exports = {
  label: 'Bun SQL',
  runtime: 'bun',
  cannot: {
    'select-batch': 'no shared Sync',
    'pass-null': NO_STREAM,
    cursor: NO_STREAM,
    'copy-out': NO_COPY,
    'copy-out-csv': NO_COPY,
    'copy-out-binary': NO_COPY,
    'pass-file': NO_STREAM,
    'pass-binary': NO_STREAM,
    'rows-binary': 'decides itself',
    'copy-in': NO_COPY,
    'copy-in-rows': NO_COPY,
    require: 'part of the runtime'
  },

  async open(target) {
    const sql = connect(target);
    await sql.connect();
    return new BunSession(sql);
  },

  openPool(target) {
    const sql = connect(target, {});
    return {
      transaction: work => sql.begin(tx => work(({ text }, values) => tx.unsafe(text, values))),
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
