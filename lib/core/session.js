'use strict';

const { EventEmitter } = require('node:events');
const { CHANNELS, COPY_IN, GIVE_UP_STREAMS, LEASE } = require('./internal');
const { late } = require('./late');
const { UsageError, checkText, checkValues, isPiece, kindOf, tagOf } = require('./protocol');
const {
  CloseRequest,
  D,
  LOWER_CASE,
  Z,
  again,
  callerOf,
  copyDirection,
  handOut,
  needOf,
  ofInput,
  promised,
  send
} = require('./pipeline');
const { NAMES, NO_OPTIONS, NO_VALUES, checkOptions, inputOf, statementOf } = require('./options');
const requests = require('./requests');
const { readerOf } = require('./rows');

const { QueryRequest } = requests;

// What a plain query does not need is loaded late.
const later = late({ settings: () => require('./settings'), stream: () => require('./stream') });
const stream = () => later.stream;

/** The options of kig/quickgres 0.4's form. */
function byPosition(values, format, cache, target) {
  checkValues(values); // query(text, 1, 2) has no format
  const options = { format, cache, stream: target };
  if (!((format === 0 || format === 1) && typeof cache === 'boolean')) checkOptions(options, NAMES.query);
  return options;
}

/**
 * The base of Client, Pool and transactions; index.d.ts documents its methods. A session works on a lease: it asks for
 * a scope to send in, and gives the scope back when the request, cursor, stream or function is over.
 */
class Session extends EventEmitter {
  #depth; // how many blocks are around: a transaction and its savepoints
  #lease;
  #mode; // the options of the transaction
  #portals = 0;
  #streams; // a Set of the open COPY streams of this transaction

  /**
   * @param {number} [depth=0] how many blocks are around: a transaction and its savepoints
   * @param {object} [mode] the options of the transaction
   */
  constructor(lease = null, depth = 0, mode) {
    super();
    this.#lease = lease;
    this.#depth = depth;
    this.#mode = mode;
  }

  /** A Client has another lease for each connection. */
  get [LEASE]() {
    return this.#lease;
  }
  set [LEASE](lease) {
    this.#lease = lease;
  }

  /** What JSON and inspect show: nothing of what is inside. */
  toJSON() {
    return {};
  }

  [Symbol.for('nodejs.util.inspect.custom')]() {
    return `${this.constructor.name} {}`;
  }

  /** How queries decode columns unless they say otherwise: the config's `decode`. */
  get decode() {
    return this.#lease.common.decoding.decode;
  }

  /**
   * Sends one query in one write: Parse and Describe for a new text, then Bind, Execute and Sync. A piece of SQL may
   * stand in the place of text and values, here and in other methods.
   * @param {RowReader|Writable|{write: function}} [target] takes the result
   * @returns {Promise<RowReader>} of the target
   */
  query(text, values = NO_VALUES, format = 0, cache = true, target) {
    if (typeof text === 'object' && isPiece(text)) return this.query(...statementOf(this.#lease, text, values));
    try {
      const { sendsIn: scope } = this.#lease;
      const letter = typeof text === 'string' ? text.charCodeAt(0) | LOWER_CASE : D;
      const isPlain = format === 0 && cache === true && target === undefined && letter >= D && letter <= Z;
      // A Client's lease is a scope, and a text from D to Z is no COPY: then nothing has to be looked at.
      if (isPlain)
        return scope === null
          ? this.#plain(text, values)
          : scope.pipeline.submit(new QueryRequest(text, values), scope);
      if (typeof format !== 'object' || format === null)
        return this.#query(text, values, byPosition(values, format, cache, target));
      checkOptions(format, NAMES.query);
      return this.#query(text, values, format);
    } catch (error) {
      return Promise.reject(ofInput(error, Session.prototype.query));
    }
  }

  /** A query without options, which a connection has to be found for. */
  #plain(text, values) {
    const checked = this.#lease.inputOf(text, values);
    return send(this.#lease, 'shared', NO_OPTIONS, () => new QueryRequest(text, checked), text);
  }

  #query(text, values, options) {
    const { stream: target, buffer } = options;
    const receiver = target === undefined ? undefined : stream().receiverFor(target, buffer);
    const takes = () => receiver ?? readerOf(options);
    if (typeof text === 'string' && copyDirection(text) === 'in')
      return handOut(this[COPY_IN](text, values, takes(), options));
    const lease = this.#lease;
    const checked = lease.inputOf(text, values);
    if (target !== undefined) {
      if (options.idempotent)
        throw new TypeError('the stream of a query that is repeated may get rows twice: leave out idempotent');
      return stream().queryInto(lease, receiver, text, checked, options);
    }
    const execution = requests.executionOf(options);
    return send(lease, needOf(options), options, () => new QueryRequest(text, checked, execution, takes()), text);
  }

  /** Begins a COPY FROM STDIN, for which only a Client has steps. */
  [COPY_IN](text, values, receiver, options) {
    inputOf(text, values);
    throw new UsageError('COPY FROM STDIN by query() is for a Client, which has copyData(): use copyFrom()', '0A000');
  }

  /**
   * Sends several statements as one text.
   * @returns {Promise<RowReader[]>} a reader for each statement
   */
  simpleQuery(text, options = NO_OPTIONS) {
    return promised(() => {
      checkOptions(options, NAMES.simpleQuery);
      checkText(text, 'text');
      return send(this.#lease, 'session', options, () => new requests.SimpleQueryRequest(text, options));
    });
  }

  /**
   * Sends queries that share one Sync: one implicit transaction.
   * @returns {Promise<RowReader[]>} rejects with the first error, whose `index` is that of the query
   */
  batch(queries, options = NO_OPTIONS) {
    return promised(() => {
      checkOptions(options, NAMES.batch);
      const lease = this.#lease;
      let request = new requests.BatchRequest(queries, lease);
      const { inputs } = request;
      const make = () => (request.scope === null ? request : (request = new requests.BatchRequest(inputs, lease)));
      return send(
        lease,
        needOf(options),
        options,
        make,
        inputs.length > 0 ? `${inputs.length} ${inputs[0][0]}` : undefined
      );
    });
  }

  /**
   * Runs a function in a transaction block, or behind a savepoint. Commits when it returns, rolls back when it throws.
   * Inside it, requests to the outer client are rejected.
   */
  transaction(work, options = NO_OPTIONS) {
    return promised(() => {
      if (typeof work !== 'function')
        throw new TypeError(`transaction takes a function, then options, not ${kindOf(work)}`);
      checkOptions(options, NAMES.transaction);
      const depth = this.#depth;
      const { checkMode, transaction } = require('./transaction');
      const mode = depth > 0 ? this.#mode : options;
      checkMode(options, mode);
      const sessionOf = inside => new TransactionSession(inside, depth + 1, mode);
      // An async function shows its own frames; to record the call costs a transaction 6 % more.
      const called = tagOf(work) === 'AsyncFunction' ? undefined : callerOf(this.transaction);
      return handOut(transaction(this.#lease, depth, sessionOf, work, options), called, true);
    });
  }

  /**
   * @returns {Session} whose requests carry settings, which end with the request or transaction; in a transaction they
   * are put back
   */
  with(settings) {
    return new Session(later.settings.leaseWith(this, settings, this.#depth), this.#depth, this.#mode);
  }

  /**
   * @throws {UsageError} if queries of the transaction could come between the parts of what is opened, and have its
   * settings
   */
  #checkOpen() {
    if (this.#depth === 0 || !this.#lease.hasSettings) return;
    throw new UsageError(
      'in a transaction, a session made by with() has no cursor and no COPY: open it in its transaction()',
      '0A000'
    );
  }

  /** Ends the open COPY streams of this transaction. */
  [GIVE_UP_STREAMS](refused) {
    for (const each of this.#streams ?? []) each.giveUp(again(refused()));
  }

  /**
   * Fetches the rows of a query in batches. Outside a transaction the cursor owns a connection; inside one, others may
   * run beside it.
   */
  cursor(text, values, options) {
    try {
      return this.#cursor(text, values, options);
    } catch (error) {
      throw ofInput(error, Session.prototype.cursor);
    }
  }

  #cursor(text, values, options) {
    [text, values, options] = statementOf(this.#lease, text, values, options);
    checkOptions(options, NAMES.cursor);
    this.#checkOpen();
    const copied = requests.Portal.inputOf(text, values);
    const name = `c${this.#depth}_${++this.#portals}`;
    const lease = this.#lease;
    const open = () => require('./transaction').openPortal(lease, text, copied, options, name);
    return new (require('./cursor').Cursor)(open, options);
  }

  /**
   * Asks the server about a statement, without running it.
   * @returns {Promise<{params: Array<{oid: number}>, columns: Array<object>}>}
   */
  describe(text, options = NO_OPTIONS) {
    return promised(() => {
      checkOptions(options, NAMES.describe);
      const lease = this.#lease;
      [text] = statementOf(lease, text);
      checkText(text, 'text');
      lease.inputOf(text, NO_VALUES);
      return send(
        lease,
        'shared',
        options,
        () => new requests.DescribeRequest(text, options.paramTypes),
        `describe ${text}`
      );
    });
  }

  /** Closes a named statement ('S') or portal ('P') on the server; resolves even if the name does not exist. */
  close(type, name) {
    return promised(() => {
      if (type !== 'S' && type !== 'P') throw new TypeError("type must be 'S' (statement) or 'P' (portal)");
      checkText(name, 'name');
      return send(this.#lease, 'shared', NO_OPTIONS, () => new CloseRequest(type, name));
    });
  }

  /**
   * Writes a query's result to a target, without making rows.
   * @returns {Promise<{cmd: string, rowCount: number, bytes: number}>} resolves when the target has taken everything
   */
  queryTo(target, text, values, options) {
    return promised(() => {
      [text, values, options] = statementOf(this.#lease, text, values, options);
      checkOptions(options, NAMES.queryTo);
      return stream().queryTo(this.#lease, target, text, values, options);
    });
  }

  /**
   * Copies out of the database, pipelined like a query.
   * @returns {Readable} with `rowCount`, `bytes`, `format`; destroying it cancels the COPY
   */
  copyTo(text, options = NO_OPTIONS) {
    return this.#open('CopyTo', text, options, NAMES.copyTo);
  }

  /**
   * Copies into a table. The COPY owns the connection until it is over.
   * @returns {Writable} with `rowCount`, `bytes`; destroying it makes the COPY fail
   */
  copyFrom(text, options = NO_OPTIONS) {
    return this.#open('CopyFrom', text, options, NAMES.copyFrom);
  }

  /**
   * Listens on a channel until the loop over it ends. Notifications are kept until they are read.
   * @returns {Listener} an async iterable of `{ processId, channel, payload }`
   */
  listen(channel, options = NO_OPTIONS) {
    checkOptions(options, NAMES.listen);
    const { Listener, checkChannel } = require('./listen');
    checkChannel(channel);
    return new Listener(this[CHANNELS], channel, options, callerOf(this.listen));
  }

  /** The source of `listen`. */
  get [CHANNELS]() {
    throw new UsageError(
      'listen is a method of a client or a pool, not of a transaction or a session made by with()',
      '25001'
    );
  }

  #open(name, text, options, names) {
    checkOptions(options, names);
    this.#checkOpen();
    if (typeof text === 'string') checkText(text, 'text');
    const opened = new (stream()[name])(this.#lease, text, options);
    if (this.#depth === 0) return opened;
    (this.#streams ??= new Set()).add(opened);
    return opened.once('close', () => this.#streams.delete(opened));
  }
}

/** The session of a transaction's function. */
class TransactionSession extends Session {
  #transaction;

  /** @param {Transaction} transaction whose block it works in */
  constructor(transaction, depth, mode) {
    super(transaction.scope, depth, mode);
    this.#transaction = transaction;
  }

  /**
   * Sends the last query of the transaction, and COMMIT behind it, in one flight. Later calls are rejected.
   * @returns {Promise<RowReader>} of the result, which is committed
   */
  commit(text, values, options) {
    return promised(() => {
      [text, values, options] = statementOf(this[LEASE], text, values, options);
      checkOptions(options, NAMES.commit);
      return this.#transaction.commit(text, values, options);
    });
  }
}

module.exports = { Session };
