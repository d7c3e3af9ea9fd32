'use strict';

const { CloseRequest, again, checkCount, submit } = require('./query');
const { UsageError, kindOf } = require('./protocol');
const { RowReader } = require('./rows');

const copy = () => require('./copy');
const stream = () => require('./stream');

/** Above this many bytes that the system has not taken, copyData asks to wait. */
const COPY_BUFFER = 1 << 20;

/**
 * What a session does step by step, as Quickgres has it: startQuery, getResults, sync; and the COPY FROM STDIN that
 * `query` begins, with copyData, copyDone and copyFail. One of each may be open.
 */
class Steps {
  #copy = null;
  #draining = false; // 'drain' is to come
  #inBlock;
  #portal = null;
  #scope;
  #session;

  /**
   * @param {Scope} scope
   * @param {Session} session
   * @param {boolean} inBlock whether the session is of a transaction
   */
  constructor(scope, session, inBlock) {
    this.#scope = scope;
    this.#session = session;
    this.#inBlock = inBlock;
  }

  start(open) {
    if (this.inQuery) throw new UsageError('a query is open already: sync() before the next startQuery', '34000');
    this.#portal = open();
  }

  get inQuery() { return this.#portal?.open === true; }

  fetch(maxCount, target) {
    checkCount(maxCount, 'maxCount', 0);
    if (this.#portal === null) throw this.#closed('no query is open: startQuery begins one', '34000');
    const receiver = target === undefined ? undefined : stream().receiverFor(target);
    const promise = this.#portal.fetch(maxCount, receiver);
    return target === undefined ? promise : stream().untilTaken(receiver, promise);
  }

  sync(reader) {
    if (this.inQuery) return this.#closePortal().then(() => reader);
    const request = new CloseRequest('P', []);
    request.result = reader;
    return this.#scope.pipeline.submit(request, this.#scope);
  }

  async #closePortal() {
    const { pipeline } = this.#scope;
    await this.#portal.close();
    if (pipeline.socket === null) throw again(pipeline.scopes.root.refused()); // lost before it was closed
  }

  /** Begins a COPY FROM STDIN; resolves when the server takes data. */
  copyIn(text, values, receiver, options) {
    const request = new (copy().CopyInRequest)(text, values, receiver, begun => {
      this.#copy = begun;
      if (this.#scope.refused !== null) this.abandon(this.#scope.refused); // nobody can end it any more
    });
    return submit(request, this.#scope, options);
  }

  #closed(message, code) { return again(this.#scope.refused?.() ?? new UsageError(message, code)); }

  #taken() {
    if (this.#copy === null) throw this.#closed("no COPY is open: query('COPY … FROM STDIN') begins one", '55000');
    return this.#copy;
  }

  copyData(data) {
    const request = this.#taken();
    if (typeof data === 'string') data = Buffer.from(data);
    if (!(data instanceof Uint8Array)) throw new TypeError(`copyData takes a Buffer, Uint8Array or string, not ${kindOf(data)}`);
    request.data(data);
    const { pipeline } = this.#scope;
    if (pipeline.bufferedBytes < COPY_BUFFER) return true;
    if (!this.#inBlock || this.#draining || pipeline.socket === null) return false; // a client always emits 'drain'
    this.#draining = true;
    pipeline.socket.whenDrained(() => {
      this.#draining = false;
      process.nextTick(() => this.#session.emit('drain')); // what a listener throws is not thrown in our code
    });
    return false;
  }

  copyDone(reader) {
    if (!(reader instanceof RowReader)) throw new TypeError(`copyDone takes a RowReader, not ${kindOf(reader)}`);
    return this.#endCopy(reader);
  }

  copyFail(reason) {
    const isText = typeof reason === 'string' || reason instanceof Uint8Array; // of any other object Buffer.from takes the length
    if (!isText) throw new TypeError(`copyFail takes a string or a Buffer, not ${kindOf(reason)}`);
    return this.#endCopy(new RowReader(), Buffer.from(reason).toString());
  }

  #endCopy(reader, reason) {
    const request = this.#taken();
    this.#copy = null;
    return request.end(reader, reason);
  }

  /** Ends what is open, since the session is refused. */
  abandon(refused) {
    if (this.#copy !== null) this.copyFail(refused().message).catch(() => {});
    if (this.inQuery) this.#portal.close().catch(() => {});
  }
}

module.exports = { Steps };
