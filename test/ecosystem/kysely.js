'use strict';

// A dialect of Kysely: what it asks is pipelined, on one connection of a client or on those of a pool; transactions have
// one to themselves.

const { PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } = require('kysely');

/** What the server is to get for a parameter. */
function toValue(value) {
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array) ? JSON.stringify(value) : value;
}

class QuickgresConnection {
  /** @param {Session|Pool} session inside a transaction, what `transaction` gives */
  constructor(session) {
    this.session = session;
  }

  async executeQuery({ sql, parameters }) {
    const { rows, rowCount, cmd } = await this.session.query(sql, parameters.map(toValue), { decode: true });
    const changes = /^(?:INSERT|UPDATE|DELETE|MERGE)$/.test(cmd);
    return { rows, ...(changes ? { numAffectedRows: BigInt(rowCount) } : {}) };
  }

  async *streamQuery({ sql, parameters }, chunkSize) {
    const cursor = this.session.cursor(sql, parameters.map(toValue), { batchSize: chunkSize, decode: true });
    for await (const row of cursor) yield { rows: [row] };
  }

  /** Resolves when the transaction has begun; it lasts until `finish`. */
  begin({ isolationLevel: isolation, accessMode }) {
    const { session } = this;
    return new Promise((resolve, reject) => {
      this.over = session
        .transaction(
          tx =>
            new Promise((commit, rollback) => {
              this.session = tx;
              this.finish = error => (error === undefined ? commit() : rollback(error));
              resolve();
            }),
          { isolation, readOnly: accessMode && accessMode === 'read only' }
        )
        .finally(() => {
          this.session = session;
        });
      this.over.catch(reject);
    });
  }
}

class QuickgresDriver {
  constructor(session) {
    this.session = session;
  }

  async init() {}
  async acquireConnection() {
    return new QuickgresConnection(this.session);
  }
  async beginTransaction(connection, settings) {
    await connection.begin(settings);
  }

  async commitTransaction(connection) {
    connection.finish();
    await connection.over;
  }

  async rollbackTransaction(connection) {
    const rollback = new Error('rolled back');
    connection.finish(rollback);
    await connection.over.catch(error => {
      if (error !== rollback) throw error;
    });
  }

  async savepoint({ session }, name) {
    await session.query(`SAVEPOINT "${name}"`);
  }
  async rollbackToSavepoint({ session }, name) {
    await session.query(`ROLLBACK TO SAVEPOINT "${name}"`);
  }
  async releaseSavepoint({ session }, name) {
    await session.query(`RELEASE SAVEPOINT "${name}"`);
  }
  async releaseConnection() {}
  async destroy() {
    await this.session.end();
  }
}

/** `new Kysely({ dialect: new QuickgresDialect(session) })`, with a pool, or a client that is or will be connected. */
class QuickgresDialect {
  constructor(session) {
    this.session = session;
  }

  createAdapter() {
    return new PostgresAdapter();
  }
  createDriver() {
    return new QuickgresDriver(this.session);
  }
  createIntrospector(db) {
    return new PostgresIntrospector(db);
  }
  createQueryCompiler() {
    return new PostgresQueryCompiler();
  }
}

module.exports = { QuickgresDialect };
