'use strict';

const { events: { EventEmitter } } = require('#platform');
const { errorOf, fieldOf } = require('./query');
const { prepareValue } = require('./values');

/**
 * The connection as an object sees it that was submitted and writes the messages of the extended protocol itself, and
 * takes the answers by methods of its own: a cursor of pg-cursor, a stream of pg-query-stream. The rows come by way of
 * a portal of the client's; its first row is fetched with the description.
 */
class Submission extends EventEmitter {
  #begun; // promise
  #client;
  #first = null; // the reader of the first row, until rows are asked for
  #query;
  #release;
  #state = 'open'; // 'failed', 'over'

  /**
   * @param {Client} client of this library
   * @param {object} query that was submitted
   * @param {function} release called when the connection is free for others
   */
  constructor(client, query, release) {
    super();
    this.#client = client;
    this.#query = query;
    this.#release = release;
    client.closed.then(error => this.#fail(error ?? new Error('Connection terminated')));
    this.#begun = this.#attempt(() => this.#begin());
  }

  #attempt(work) { return work().catch(error => this.#fail(error)); }

  async #begin() {
    this.#query.submit(this);
    this.#client.startQuery(this.text, this.values, 0, false);
    const { rowParser } = this.#first = await this.#client.getResults(1);
    if (this.#state !== 'open') return;
    if (rowParser !== undefined) this.#query.handleRowDescription({ fields: rowParser.columns.map(fieldOf) });
    this.emit(rowParser === undefined ? 'noData' : 'rowDescription');
  }

  #fail(error) {
    if (this.#state !== 'open') return;
    this.#state = 'failed';
    this.#query.handleError(errorOf(error), this);
    this.sync();
  }

  parse({ text }) { this.text = text; }
  bind({ values }) { this.values = (values ?? []).map(value => prepareValue(value)); }
  describe() {}
  flush() {}
  close() {}

  /** Asks for so many rows; 0 for all. */
  execute({ rows }) {
    this.#attempt(async () => {
      await this.#begun;
      if (this.#state !== 'open') return;
      let reader = this.#first;
      this.#first = null;
      if (reader !== null) this.#give(reader);
      if (reader === null || (reader.cmd === 'SUSPENDED' && rows !== 1)) {
        this.#give(reader = await this.#client.getResults(rows && reader ? rows - 1 : rows));
      }
      const { cmd, oid = '', rowCount } = reader;
      if (cmd === 'SUSPENDED') this.#query.handlePortalSuspended(this);
      else if (cmd === 'EMPTY') this.#query.handleEmptyQuery(this);
      else this.#query.handleCommandComplete({ text: `${cmd} ${oid} ${rowCount}` }, this);
    });
  }

  #give({ rows }) { for (const row of rows) this.#query.handleDataRow({ fields: row.toArray() }); }

  /** Ends it: others may go on. */
  async sync() {
    const state = this.#state;
    if (state === 'over') return;
    this.#state = 'over';
    const error = await this.#client.sync().then(() => undefined, reason => reason);
    this.#release();
    if (state === 'open' && error !== undefined) this.#query.handleError(errorOf(error), this);
    else if (state === 'open') this.#query.handleReadyForQuery(this);
    this.emit('readyForQuery');
  }
}

module.exports = { Submission };
