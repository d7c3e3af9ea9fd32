'use strict';

const { process } = require('#platform');
const {
  ConnectionError, MessageWriter, PostgresError, UsageError, backend, decodeFields, decodeNotification,
  decodeParameterStatus, decodeReadyForQuery, nameOf, nextState, protocolError
} = require('../protocol');
const { waitsForItself } = require('./inside');
const { CloseRequest } = require('./request');
const { Scope } = require('./scope');
const { Statements } = require('./statements');
const { isTraced, trace } = require('./tracing');

const { ErrorResponse, NoticeResponse, NotificationResponse, ParameterStatus, ReadyForQuery } = backend;

/** From this many bytes on, what was written leaves at once instead of at the end of the tick. */
const FLUSH_BYTES = 65536;

/** So many requests that a loss rejects have an error of their own, which shows their caller. */
const OWN_ERRORS = 1000;

/**
 * The requests of one connection: who may send, what was sent, whose answer comes next.
 */
class Pipeline {
  #draining = [];
  #flushing = false;
  #flush = () => this.flush();
  #held = 0; // barriers: while there is one, nothing is sent
  #waiting = []; // transactions that wait for the end of a block which a query has begun

  /**
   * @param {object} events `notice(fields, buf, start, end)`, `notification(…)`, `parameter(name, value)`;
   *   `lost(error)`: the connection cannot be used any more; `queued()`: a request waits to be sent
   * @param {boolean|object} [decode] how columns are decoded where a query says nothing
   */
  constructor(events, decode) {
    this.events = events;
    this.decode = decode;
    this.writer = new MessageWriter();
    this.statements = new Statements(0, `_${Math.random().toString(36).slice(2, 8)}`);
    this.root = new Scope(this, null, 'the connection');
    /** The innermost scope that was entered. */
    this.owner = this.root;
    /** Sent requests; the head's answer comes next. */
    this.head = null;
    this.tail = null;
    /** Requests that are not over. */
    this.pending = 0;
    /** 'I' idle, 'T' in a transaction block, 'E' in a failed one; as of the last ReadyForQuery. */
    this.status = 'I';
    /** @type {object|undefined} of the last connection, see connect() of lib/connection; its config as `config` */
    this.session = undefined;
    /** @type {Socket|null} null while there is no connection */
    this.socket = null;
    this.reader = null;
    /** @type {Set<function>} called when the server says that it has cancelled something */
    this.cancelling = new Set();
  }

  /** Requests can be sent from now on. */
  open(session) {
    this.session = session;
    this.socket = session.socket;
    this.reader = session.reader;
    this.status = session.transactionStatus;
    this.pump();
  }

  /**
   * The messages of the requests that wait, for the start-up to send before the connection is ready.
   * @returns {Buffer|null}
   */
  earlyRequests() {
    const { root } = this;
    while (root.first !== null && !(root.first instanceof Scope) && this.#held === 0) this.#sendWaiting(root.shift());
    return this.writer.length === 0 ? null : this.writer.take();
  }

  /**
   * Sends a request now or when its turn comes.
   * @param {Request} request
   * @param {Scope} scope
   * @returns {Promise} of its outcome
   * @throws {TypeError|RangeError} for input that cannot be sent
   * @throws {Error} when the scope is over
   */
  submit(request, scope) {
    // Only what has a text is something that somebody has asked for.
    if (isTraced() && request.text !== undefined) return trace(request, this, () => this.#submit(request, scope));
    return this.#submit(request, scope);
  }

  #submit(request, scope) {
    const promise = request.open(scope);
    if (scope === this.owner && scope.first === null && this.#held === 0 && this.socket !== null &&
        this.#waiting.length === 0 && (scope.refused === null || request.controls)) {
      this.send(request);
    } else {
      if (!request.controls) this.#check(scope);
      request.snapshot();
      scope.push(request);
      this.events.queued();
      if (this.#waiting.length > 0) this.pump();
    }
    this.pending++;
    return promise;
  }

  #check(scope) {
    if (scope.refused !== null) throw scope.refused;
    this.checkInside(scope);
  }

  /** @throws {UsageError} inside the function of a transaction that a request in this scope would wait for */
  checkInside(scope) {
    if (scope !== this.owner && waitsForItself(scope)) {
      throw new UsageError('inside the function of transaction(), ask the object that it is given ("tx"): ' +
        'the client would wait for the transaction, and the transaction for the client', '25001');
    }
  }

  /**
   * Queues a scope to become the owner of the connection when its turn comes.
   * @param {Scope} scope
   * @throws {Error} when its parent is over
   */
  enter(scope) {
    this.#check(scope.parent);
    scope.parent.push(scope);
    this.events.queued();
    this.pump();
  }

  /** A scope is over, whether it was entered or not: its parent goes on. */
  leave(scope, error = new UsageError(`${scope.name} is over`, '25P01')) {
    if (scope.left) return;
    this.#close(scope, error);
    if (this.owner !== scope) return;
    while (this.owner.left) this.owner = this.owner.parent;
    this.pump();
  }

  /** Ends a scope, and rejects what waits in it. */
  #close(scope, error) {
    scope.left = true;
    scope.refused ??= error;
    while (scope.first !== null) {
      const entry = scope.shift();
      if (entry instanceof Scope) this.#lose(entry, error);
      else this.#settle(entry, error);
    }
  }

  /** A scope is over that was not to be. */
  #lose(scope, error) {
    if (!scope.left) this.#close(scope, error);
    scope.lost(error);
  }

  /** Sends what may be sent. */
  pump() {
    if (this.socket === null) return;
    for (let entry = this.#next(); entry !== null; entry = this.#next()) {
      if (!(entry instanceof Scope)) this.#sendWaiting(entry);
      else if (!entry.left) {
        this.owner = entry;
        entry.entered();
      }
    }
  }

  /** Takes the next entry that may go out of its queue; null when there is none. */
  #next() {
    if (this.#held > 0) return null;
    for (;;) {
      const { owner, status, head } = this;
      if (owner === this.root && this.#waiting.length > 0 && status === 'I') {
        return head === null ? this.#waiting.shift() : null;
      }
      const entry = owner.first;
      if (entry === null) return null;
      const scope = entry instanceof Scope && !entry.left;
      if (scope && entry.alone && head !== null) return null;
      owner.shift();
      if (!scope || !entry.block || owner !== this.root || status === 'I') return entry;
      this.#waiting.push(entry);
    }
  }

  /** Sends a request that had to wait. */
  #sendWaiting(request) {
    if (!request.pending) { // it was given up
      this.pending--;
      return;
    }
    try {
      this.send(request);
    } catch (error) {
      this.#settle(request, error);
    }
  }

  /**
   * Writes the messages of a request.
   * @throws {TypeError|RangeError} where that is not possible; then nothing was written
   */
  send(request) {
    const { statements, writer } = this;
    if (statements.closing.length > 0 && request.afterSync) this.#closeStatements();
    const mark = writer.length;
    try {
      request.encode(writer, statements);
    } catch (error) {
      writer.length = mark;
      // A stack has ten lines: without this one's own ones it reaches the caller.
      if (error instanceof TypeError || error instanceof RangeError) Error.captureStackTrace?.(error, this.send);
      throw error;
    }
    if (request.statement !== statements.run) statements.run = undefined;
    if (request.barrier) this.#held++;
    if (this.tail === null) this.head = request;
    else this.tail.next = request;
    this.tail = request;
    if (writer.length >= FLUSH_BYTES) this.flush();
    else this.scheduleFlush();
  }

  /** Asks the server to cancel what it is doing; resolves when it has taken the request. */
  cancel() {
    return this.socket === null ? Promise.reject(new ConnectionError('not connected', { code: '08003' }))
      : this.session.cancel();
  }

  /** Closes the statements on the server that nobody uses any more. */
  #closeStatements() {
    const request = new CloseRequest('S', this.statements.closing);
    this.statements.closing = [];
    request.open(this.root).catch(() => {});
    this.pending++;
    this.send(request);
  }

  #settle(request, error) {
    this.pending--;
    request.settle(error);
  }

  /** Whether the answer that comes next is taken in parts, see FrameReader. */
  takesParts(type) { return this.head !== null && this.head.takesParts(type); }
  part(type, buf, start, end, left) { this.head.part(this, type, buf, start, end, left); }

  /** FrameReader's handler. */
  message(type, buf, start, end, count) {
    switch (type) {
      case NoticeResponse:
        return this.events.notice(decodeFields(buf, start, end), buf, start, end);
      case NotificationResponse:
        return this.events.notification(decodeNotification(buf, start, end), buf, start, end);
      case ParameterStatus: {
        const [name, value] = decodeParameterStatus(buf, start, end);
        return this.events.parameter(name, value);
      }
      case ReadyForQuery:
        return this.#ready(decodeReadyForQuery(buf, start, end), start, end);
      case ErrorResponse:
        if (this.cancelling.size > 0 && decodeFields(buf, start, end).code === '57014') {
          for (const cancelled of this.cancelling) cancelled();
        }
    }
    if (this.head !== null) this.head.message(this, type, buf, start, end, count);
    // The server is about to close the connection, and says why.
    else if (type === ErrorResponse) this.events.lost(new PostgresError(decodeFields(buf, start, end)));
    else throw protocolError(`${nameOf(type)} that nobody asked for`);
  }

  #ready(status, start, end) {
    const request = this.head;
    if (request === null) throw protocolError('ReadyForQuery that nobody asked for');
    request.state = nextState(request.state, ReadyForQuery, start, end);
    this.status = status;
    const { scope } = request;
    if (scope.block && status === 'I' && !request.controls && request.error === undefined) {
      request.error = new UsageError('this ended the transaction block: in transaction(), return from the function ' +
        'to commit, throw to roll back', '25P01');
      this.#leaveBlock(scope, request.error);
    }
    if (request.error !== undefined && this.#mayRepeat(request)) this.#repeat(request);
    else this.finishHead();
  }

  /** A transaction block was ended by a query in it: so are the savepoints in it. */
  #leaveBlock(scope, error) {
    if (scope.parent.block) this.#leaveBlock(scope.parent, error);
    this.leave(scope, error);
  }

  /**
   * Whether a request whose statement was stale is sent again at once: it must not come later than anything that
   * it could affect, or that could affect it.
   */
  #mayRepeat(request) {
    if (this.status !== 'I' || !request.pending || request.scope !== this.owner || !request.canRepeat(this)) return false;
    if (request.next === null) return true;
    if (this.#held > 0) return false;
    for (let each = request; each !== null; each = each.next) if (!each.reads) return false;
    return true;
  }

  #repeat(request) {
    this.#shift();
    request.reset();
    try {
      this.send(request);
    } catch (error) {
      this.#settle(request, error);
    }
  }

  /** Takes the head out: it has been answered. */
  #shift() {
    const request = this.head;
    this.head = request.next;
    if (this.head === null) this.tail = null;
    request.next = null;
    this.statements.disturbing -= request.disturbs;
    if (request.barrier) this.#held--;
    return request;
  }

  /** The answer to the head is complete: settles it and goes on. */
  finishHead() {
    const request = this.#shift();
    this.pending--;
    request.ready(this);
    const { head } = this;
    if (head !== null && head.cancelAtHead !== undefined) head.cancelAtHead();
    if (this.owner.first !== null || this.#waiting.length > 0) this.pump();
  }

  /**
   * From now on nothing is sent behind a request that was sent and is not answered.
   * @returns {boolean} false where something has been sent behind it, so that it cannot be cancelled
   */
  setBarrier(request) {
    if (request.barrier) return true;
    if (this.#held > 0 || this.tail !== request) return false;
    request.barrier = true;
    this.#held++;
    return true;
  }

  /** Nothing is sent until `release` was called as often as this. */
  hold() { this.#held++; }

  release() {
    this.#held--;
    this.pump();
  }

  /** Bytes written that the system has not taken. */
  get bufferedBytes() { return this.writer.length + (this.socket === null ? 0 : this.socket.bufferedBytes); }

  /** Everything written in this tick leaves in one write at its end. */
  scheduleFlush() {
    if (this.#flushing || this.socket === null) return;
    this.#flushing = true;
    process.nextTick(this.#flush);
  }

  /** Writes out what is buffered. */
  flush() {
    this.#flushing = false;
    if (this.socket === null || this.writer.length === 0) return;
    if (this.socket.write(this.writer.take())) this.writer.reuse();
  }

  /** Calls back when the system has taken all that was written; not at all if the connection is lost. */
  whenDrained(callback) { this.#draining.push(callback); }

  /** The socket has taken all that was written. */
  drained() { for (const callback of this.#draining.splice(0)) callback(); }

  /**
   * The connection is gone, or there will be none: rejects everything. What comes later rejects, too, until the
   * pipeline is reset.
   * @param {string} message
   * @param {Error} [cause]
   * @param {string} [code]
   */
  abandon(message, cause, code) {
    let errors = 0;
    const make = (sent, more) => new ConnectionError(`${message}; this request ${more}`, { code, cause, sent });
    const unsent = make(false, 'had not been sent');
    const sent = make(true, 'had been sent, the server may have carried it out');
    const { head, owner } = this;
    const waiting = this.#waiting;
    this.socket = null;
    this.head = this.tail = null;
    this.#waiting = [];
    for (let request = head; request !== null; request = request.next) {
      this.#settle(request, ++errors > OWN_ERRORS ? sent : make(true, 'had been sent, the server may have carried it out'));
      request.discard();
    }
    for (const scope of waiting) this.#lose(scope, unsent);
    for (let scope = owner; scope !== null; scope = scope.parent) this.#lose(scope, unsent);
  }
}

module.exports = { Pipeline };
