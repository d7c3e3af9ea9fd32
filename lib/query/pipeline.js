'use strict';

const { guard, stayInside } = require('./deadlock');
const { isTraced, trace } = require('./tracing');
const { ConnectionError, PostgresError, UsageError, protocolError } = require('../protocol/errors');
const { Flow, FLUSH_BYTES } = require('./flow');
const { decodeFields, decodeNotification, decodeParameterStatus } = require('../protocol/messages');
const { Memory } = require('../rows');
const { Scope } = require('./scope');
const { CloseRequest, Request, describeType } = require('./request');

/**
 * The order of requests on one connection: who may send, what has been sent, whose answer comes next.
 */
class Pipeline extends Flow {
  /**
   * @param {Statements} statements
   * @param {object} events `notice(buf, start, end, fields)`, `notification(…)`, `parameter(name, value)`,
   *   `lost(error)`: the connection cannot be used any more
   */
  constructor(statements, events) {
    super();
    this.statements = statements;
    this.events = events;
    this.root = new Scope(null, 'the connection');
    /** The innermost scope that was entered. */
    this.owner = this.root;
    /** Sent requests, the head's answer comes next. */
    this.head = null;
    this.tail = null;
    /** @type {Request|null} nothing is sent before it is over */
    this.fence = null;
    /** Requests to be sent once more, unless something that was sent behind them is carried out. */
    this._again = [];
    /** Transactions that wait for the end of a block which a query has begun. */
    this._waiting = [];
    /** Requests that are not over. */
    this.pending = 0;
    /** 'I' idle, 'T' in a transaction block, 'E' in a failed one; as of the last ReadyForQuery. */
    this.status = 'I';
    /** @type {{config: object, where: string, host: string, port: number|undefined, processId: number}|undefined}
     *   what the connection was made with, and to where */
    this.made = undefined;
    this.reader = null;
    this.memory = new Memory();
    /** @type {Error|null} that the connection was lost with */
    this.lost = null;
    /** @type {Set<function>} called when the server says that it has cancelled something */
    this.cancelling = new Set();
  }

  /** Receivers of results get the pipeline as the memory for small ones. */
  keep(...place) { return this.memory.keep(...place); }

  /** Requests can be sent from now on. */
  open({ transport, reader, transactionStatus }) {
    this.transport = transport;
    this.reader = reader;
    this.status = transactionStatus;
    this.pump();
  }

  /**
   * What the waiting requests would write, for a flight that leaves before the connection is ready.
   * @returns {Buffer|null}
   */
  firstFlight() {
    const { root } = this;
    while (root.first instanceof Request && !root.first.streams && this.fence === null) this._send(root.shift());
    return this.writer.length === 0 ? null : this.writer.take();
  }

  /**
   * Sends a request now or when its turn comes.
   * @param {Request} request
   * @param {Scope} scope
   * @returns {Promise} the request's
   */
  submit(request, scope) {
    // Only what has a text is something that somebody has asked for.
    if (isTraced() && request.text !== undefined) return trace(request, this, () => this._submit(request, scope));
    return this._submit(request, scope);
  }

  _submit(request, scope) {
    this.pending++;
    if (scope.left) {
      this._settle(request, this._over(scope));
      return request.promise;
    }
    if (scope === this.owner && scope.first === null && this.fence === null && this.transport !== null &&
        this._again.length === 0 && this._waiting.length === 0) {
      this._send(request);
      return request.promise;
    }
    try {
      request.snapshot();
    } catch (error) {
      this._settle(request, error);
      return request.promise;
    }
    scope.push(request);
    if (this._waiting.length > 0) this.pump();
    return guard(request.promise, scope, error => request.reject(error));
  }

  /** Closes a statement on the server that is not used any more, when the connection is nobody's. */
  close(statement) {
    this.submit(new CloseRequest('S', statement.name), this.root).catch(() => {});
  }

  /**
   * Queues a scope to become the owner of the connection when its turn comes.
   * @param {Scope} scope
   */
  enter(scope) {
    const { parent } = scope;
    stayInside();
    if (parent.left) return this._lose(scope, this._over(parent));
    parent.push(scope);
    this.pump();
  }

  /** What is rejected with that comes after a scope's end. */
  _over(scope) { return this.lost || new UsageError(`${scope.name} is over`, '25P01'); }

  /** A scope is over, whether it was entered or not: its parent goes on. */
  leave(scope) {
    if (scope.left) return;
    this._end(scope, this._over(scope));
    if (this.owner !== scope) return;
    while (this.owner.left) this.owner = this.owner.parent;
    this.pump();
  }

  /** Ends a scope, and rejects what waits in it. */
  _end(scope, error) {
    if (!scope.left) scope.end();
    while (scope.first !== null) {
      const entry = scope.shift();
      if (entry instanceof Request) this._settle(entry, error);
      else this._lose(entry, error);
    }
  }

  /** A scope is over that was not to be. */
  _lose(scope, error) {
    this._end(scope, error);
    if (scope.onlost !== undefined) scope.onlost(error);
  }

  /** Sends what may be sent. */
  pump() {
    if (this.transport === null) return;
    for (let entry = this._next(); entry !== null; entry = this._next()) {
      if (entry instanceof Scope) this._enter(entry);
      else this._send(entry);
    }
  }

  /** Takes the next entry that may go out of its queue; null when there is none. */
  _next() {
    if (this.fence !== null) return null;
    for (;;) {
      const { owner, status, head } = this;
      if (owner === this.root) {
        if (this._again.length > 0) return null;
        if (this._waiting.length > 0 && status === 'I') return head === null ? this._waiting.shift() : null;
      }
      const entry = owner.first;
      if (entry === null) return null;
      const scope = entry instanceof Scope && !entry.left;
      if (scope && entry.alone && head !== null) return null;
      owner.shift();
      if (!scope || !entry.idle || status === 'I') return entry;
      this._waiting.push(entry);
    }
  }

  _enter(scope) {
    if (scope.left) return;
    this.owner = scope;
    if (scope.onenter !== undefined) scope.onenter();
  }

  _send(request) {
    if (request.settled) { // cancelled while it waited
      this.pending--;
      return;
    }
    const { writer } = this;
    const mark = writer.length;
    try {
      request.encode(writer, this.statements);
    } catch (error) {
      writer.length = mark;
      request.unsend(this.statements);
      // A stack has ten lines: without this one's own ones it reaches the caller.
      if (error instanceof TypeError || error instanceof RangeError) Error.captureStackTrace?.(error, this._send);
      this._settle(request, error);
      return;
    }
    request.sent = true;
    if (request.fenced) this.fence = request;
    if (this.tail === null) this.head = request;
    else this.tail.next = request;
    this.tail = request;
    if (this.transport === null) return;
    if (writer.length >= FLUSH_BYTES) this.flush();
    else this.scheduleFlush();
  }

  _settle(request, error) {
    this.pending--;
    request.reject(error);
  }

  /** Whether the answer that comes next is taken in parts, see FrameReader. */
  takesParts(type) { return this.head !== null && this.head.takesParts(type); }
  part(type, buf, start, end, left) { this.head.part(this, type, buf, start, end, left); }

  /** FrameReader's handler. */
  message(type, buf, start, end, count) {
    switch (type) {
      case 78: // N NoticeResponse
        return this.events.notice(decodeFields(buf, start, end), buf, start, end);
      case 65: // A NotificationResponse
        return this.events.notification(decodeNotification(buf, start, end), buf, start, end);
      case 83: { // S ParameterStatus
        const [name, value] = decodeParameterStatus(buf, start, end);
        return this.events.parameter(name, value);
      }
      case 90: // Z ReadyForQuery
        if (end - start !== 6) throw protocolError('ReadyForQuery of a wrong length');
        return this._ready(buf[start + 5]);
      case 69: // E ErrorResponse
        if (this.cancelling.size > 0 && decodeFields(buf, start, end).code === '57014') {
          for (const cancelled of this.cancelling) cancelled();
        }
    }
    if (this.head !== null) this.head.message(this, type, buf, start, end, count);
    else if (type === 69) this._fatal(buf, start, end);
    else throw protocolError(`message of type ${describeType(type)} that nobody asked for`);
  }

  /** An ErrorResponse that answers nothing: the server is about to close the connection, and says why. */
  _fatal(buf, start, end) {
    this.events.lost(new PostgresError(decodeFields(buf, start, end)));
  }

  _ready(status) {
    const request = this.head;
    if (request === null) throw protocolError('ReadyForQuery that nobody asked for');
    if (!request.done) throw protocolError('ReadyForQuery before the end of the answer');
    if (status !== 73 && status !== 84 && status !== 69) throw protocolError('ReadyForQuery with an unknown status');
    this.status = status === 73 ? 'I' : status === 84 ? 'T' : 'E';
    if (request.error !== undefined && request.retry(this)) {
      this._shift();
      request.sent = false;
      this._again.push(request);
      if (this.fence === request) this.fence = null;
      this._advance();
    } else this.finishHead();
  }

  _shift() {
    const request = this.head;
    this.head = request.next;
    if (this.head === null) this.tail = null;
    request.next = null;
    return request;
  }

  /** The answer to the head is complete: settles it and goes on. */
  finishHead() {
    const request = this._shift();
    if (this._again.length > 0 && !request.passive) this._keepOrder(request);
    this._finish(request);
    if (this.fence === request && !request.cancelling) this.fence = null;
    this._advance();
  }

  /** The head has been answered: what comes next. */
  _advance() {
    const { head } = this;
    if (head !== null) {
      if (head.onhead !== undefined) head.onhead();
    } else if (this._again.length > 0) this._repeat();
    if (this.owner.first !== null || this._waiting.length > 0) this.pump();
  }

  /** Everything has been answered: what is to be sent once more comes before all that waits, in its order. */
  _repeat() {
    const requests = this._again;
    this._again = [];
    for (const request of requests.reverse()) {
      if (!request.settled) request.again(this).unshift(request);
      else this._settle(request, request.error);
    }
  }

  /**
   * A request that was made later has been carried out: what was to be sent once more would come too late, unless
   * both only read.
   */
  _keepOrder(request) {
    const reads = request.onlyReads();
    for (const stale of this._again.splice(0)) {
      if (reads && stale.onlyReads()) this._again.push(stale);
      else this._finish(stale);
    }
  }

  /** Settles a request whose answer is complete. */
  _finish(request) {
    this.pending--;
    request.ready(this);
  }

  /**
   * From now on nothing is sent behind a request.
   * @returns {boolean} false where something has been sent behind it, so that it cannot be cancelled exactly
   */
  fenceLate(request) {
    if (this.fence === null && this.tail === request) this.fence = request;
    return this.fence === request;
  }

  /** The fence of a request is not needed any more. */
  unfence(request) {
    if (this.fence !== request || this.head === request) return;
    this.fence = null;
    this.pump();
  }

  /**
   * The connection is gone: rejects everything.
   * @param {Error} cause
   * @param {string} message
   */
  abandon(message, cause, code) {
    const unsent = new ConnectionError(`${message}; this request had not been sent`, { code, cause, sent: false });
    const sent = new ConnectionError(`${message}; this request had been sent, the server may have carried it out`,
      { code, cause, sent: true });
    const { head, owner, _again: again, _waiting: waiting } = this;
    this.stop();
    this.lost = unsent;
    this.head = this.tail = this.fence = null;
    this._again = [];
    this._waiting = [];
    for (let request = head; request !== null; request = request.next) {
      this._settle(request, sent);
      request.discard(this);
    }
    for (const request of again) this._settle(request, unsent);
    for (const scope of waiting) this._lose(scope, unsent);
    for (let scope = owner; scope !== null; scope = scope.parent) this._lose(scope, unsent);
  }
}

module.exports = { Pipeline };
