'use strict';

// This library; and, through `--module`, any other that has the interface of kig/quickgres 0.4.

const path = require('node:path');
const { pipeline } = require('node:stream/promises');

/** TLS without looking at the certificate. */
const LOOSE = { rejectUnauthorized: false };

const text = statement => statement.text;

class QuickgresSession {
  constructor(client) {
    this.client = client;
  }

  query(statement, values) {
    return this.client.query(statement.text, values);
  }
  rows(result) {
    return result.rows;
  }
  batch(statement, lists) {
    return this.client.batch(lists.map(values => [statement.text, values]));
  }

  async read(statement, as) {
    const result = await this.client.query(text(statement), [], as === 'binary' ? 1 : 0);
    if (as === 'arrays') return result.arrays ?? result.rows.map(row => row.toArray());
    if (as === 'objects' || as === 'typed' || as === 'binary') {
      return result.objects ?? result.rows.map(row => row.toObject());
    }
    if (as === 'iterated') {
      let count = 0;
      for (const row of result[Symbol.iterator] ? result : result.rows) count += row.length === 0 ? 0 : 1;
      return count;
    }
    return result.rows;
  }

  async passTo(stream, statement, format = 0) {
    if (this.client.queryTo) return this.client.queryTo(stream, text(statement), [], { format });
    await this.client.query(text(statement), [], format, true, stream);
    await new Promise(resolve => stream.end(resolve));
  }

  passEach(stream, statement, lists) {
    return Promise.all(lists.map(values => this.client.query(statement.text, values, 0, true, stream)));
  }

  passEachTo(stream, statement, lists) {
    return Promise.all(lists.map(values => this.client.queryTo(stream, statement.text, values, { end: false })));
  }

  async copyLoop(statement, sink) {
    for await (const chunk of this.client.copyTo(text(statement))) sink.bytesTaken += chunk.length;
  }

  async firstOf(statement, size) {
    if (this.client.cursor) {
      for await (const row of this.client.cursor(text(statement), [], { batchSize: size })) if (row) break;
      return;
    }
    await this.client.startQuery(text(statement), []);
    await this.client.getResults(size);
    await this.client.sync();
  }

  running(sql) {
    return { ended: this.client.query(sql, []), cancel: () => this.client.cancel() };
  }

  async copyOut(statement, stream) {
    if (this.client.copyTo) return pipeline(this.client.copyTo(text(statement)), stream);
    const { rows } = await this.client.query(text(statement));
    for (const row of rows) stream.write(row);
  }

  async copyIn(statement, chunks) {
    if (this.client.copyFrom) return pipeline(chunks, this.client.copyFrom(text(statement)));
    await this.client.query(text(statement));
    for (const chunk of chunks) {
      const room = this.client.copyData(chunk);
      if (room === false) await new Promise(resolve => this.client.once('drain', resolve));
    }
    return this.client.copyDone();
  }

  async cursor(statement, size, onrows) {
    if (this.client.cursor) {
      const rows = this.client.cursor(text(statement), [], { batchSize: size });
      for await (const row of rows) onrows(row ? 1 : 0);
      return;
    }
    await this.client.startQuery(text(statement), []);
    while (this.client.inQuery) onrows((await this.client.getResults(size)).rows.length);
    await this.client.sync();
  }

  end() {
    return this.client.end();
  }
}

/**
 * @param {string} label
 * @param {string} file path of the module
 * @param {boolean} [classic] whether it has nothing but what kig/quickgres 0.4 has: connect(port, host, ssl) or
 *   connect(path), and queries only after that
 */
function adapter(label, file, classic) {
  const configOf = ({ user, password, database, directory, host, port, tls }) => ({
    user,
    password,
    database,
    host: directory || host,
    port,
    sslmode: tls ? 'require' : 'disable'
  });
  const connect = target => {
    const { Client } = require(file);
    if (!classic) {
      const client = new Client(configOf(target));
      return { client, connected: client.connect() };
    }
    const { user, password, database, path: socket, host, port, tls } = target;
    const client = new Client({ user, database, ...(password === undefined ? {} : { password }) });
    const where = socket ? [socket] : [port, host, tls ? LOOSE : undefined];
    return { client, connected: client.connect(...where) };
  };
  return {
    label,
    load: () => require(file),

    async open(target) {
      const { client, connected } = connect(target);
      await connected;
      const session = new QuickgresSession(client);
      if (!client.batch) session.batch = undefined;
      if (!client.copyTo) session.copyLoop = undefined;
      if (!client.queryTo) session.passEachTo = undefined;
      return session;
    },

    openPool(target) {
      const { Pool } = require(path.join(file, 'lib/pool'));
      const pool = new Pool(configOf(target));
      return {
        transaction: work => pool.transaction(tx => work(({ text }, values) => tx.query(text, values))),
        rows: result => result.rows,
        end: () => pool.end()
      };
    },

    async firstRow(target, statement, values) {
      const { client, connected } = connect(target);
      // A query need not wait: it leaves with the last message of authentication.
      if (classic) await connected;
      else connected.catch(() => {});
      const { rows } = await client.query(statement.text, values);
      await client.end();
      return rows[0].id;
    }
  };
}

module.exports = { ...adapter('quickgres', path.join(__dirname, '../..')), adapter };
