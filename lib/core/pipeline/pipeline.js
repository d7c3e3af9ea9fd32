'use strict';

const {
  ConnectionError,
  MessageWriter,
  PostgresError,
  State,
  TimeoutError,
  backend,
  decodeFields,
  decodeNotification,
  isOurs,
  nameOf,
  nextState,
  protocolError
} = require('../protocol');
const { late } = require('../late');
const { Memory, RowParser } = require('../rows');
const { cancelHead } = require('./give-up');
const { again, lossErrors } = require('./errors');
const { checkBlock, noteCommand } = require('./block');
const { mayResend } = require('./request');
const { Phase, Scope, Scopes } = require('./scope');
const { beginningOf } = require('./sql');
const { Statements } = require('./statements');
const { channel, trace, traceFronts } = require('./tracing');

const { CommandComplete, ErrorResponse, NoticeResponse, NotificationResponse, ParameterStatus, ReadyForQuery } =
  backend;

const later = late({ learn: () => require('./learn') });

/** With so many bytes, messages leave at once instead of at the end of the tick. */
const FLUSH_BYTES = 65536;

/** The transaction status by its byte in ReadyForQuery: idle, in a transaction, in a failed one. */
const STATUS = Object.fromEntries(['I', 'T', 'E'].map(status => [status.charCodeAt(0), status]));

/** The requests of one connection: which were sent, which is answered next, which may be sent. */
class Pipeline {
  /** Milliseconds for which a request waits behind a cursor without a warning. */
  static patience = 1000;

  #held = 0; // barriers: nothing is sent while there is one
  #isBounded = true; // several requests at once are sent only where that is known to be safe
  #proof; // a request that finds out whether it is
  #results; // see `results`
  #tail = null;
  #unanswered = 0;

  /**
   * @param {object} events `notice(fields, buf, start, end)`, `notification(…)`, `parameter(buf, start, end)`;
   *   `lost(error)`: the connection is unusable, or closed by the server if there is no error; `queued()`: a request
   *   waits; `drained()`
   * @param {object} common what connections have in common that replace each other or belong to one pool: `decoding`,
   *   the default of readers; `types`, see lib/core/rows; `silent`, see connect() of lib/core/connection;
   *   `isPooled`: the server has lost a statement, so that none gets a name any more
   */
  constructor(events, common) {
    this.events = events;
    this.memory = new Memory();
    this.writer = new MessageWriter();
    this.statements = new Statements(256, `_${Math.random().toString(36).slice(2, 8)}`);
    this.scopes = new Scopes(this);
    this.maxBuffered = 1 << 26;
    /**
     * The most requests that were sent and not answered; Infinity for no limit. Without `max_pipeline` it is 1 until the
     * server is known, and behind a pooler that is not known to be safe: an old PgBouncer gives another client the
     * answers of a client that leaves.
     */
    this.maxPipeline = 1;
    /** @type {Request|null} the request that is answered next */
    this.head = null;
    /** @type {Request|null} the first one whose messages are in the writer */
    this.unwritten = null;
    this.pending = 0;
    /** The transaction status of the last ReadyForQuery. */
    this.status = 'I';
    /** @type {object|undefined} see connect() of lib/core/connection */
    this.connection = undefined;
    this.socket = null; // null without a connection
    this.reader = null;
    /** When a sent request was given up, and since when its answer is overdue; 0 if something was read since. */
    this.givenUpAt = this.silentSince = 0;
    this.isCancelling = false;
    /** @type {Promise|undefined} of a CancelRequest that is under way: resolves when its caller has had a turn */
    this.cancelled = undefined;
    /** How often something was read. */
    this.reads = 0;
    this.share(common);
  }

  /** Takes the limits of a resolved config. */
  configure({ statement_cache, max_buffer_bytes, max_pipeline }) {
    this.statements.limit = statement_cache;
    this.maxBuffered = max_buffer_bytes;
    this.#isBounded = max_pipeline === undefined;
    this.maxPipeline = max_pipeline === 0 ? Infinity : (max_pipeline ?? 1);
  }

  /** More could be sent than the limit allows: finds out whether the server takes it, outside of a block. */
  prove() {
    const proof = this.#proof;
    if (proof === undefined || !(this.scopes.active.block || this.scopes.inBlock === false)) return;
    this.#proof = undefined;
    this.putFirst(proof);
    this.pump();
  }

  /** The server takes several requests at once. */
  proven() {
    if (this.#isBounded) this.maxPipeline = Infinity;
  }

  /** @returns {RowParser} of the RowDescription in buf[start … end), with the names of the config */
  rowParserOf(buf, start, end) {
    const parser = RowParser.of(buf.subarray(start, end));
    return this.common.decoding.isCamel ? parser.camel : parser;
  }

  /**
   * Puts a request of the library's own in front of those that wait.
   * @param {Scope} [scope] whose requests these are, by default those that wait for the connection
   */
  putFirst(request, scope = this.scopes.root) {
    request.open(this.scopes.root).catch(() => {});
    scope.unshift(request);
  }

  /** Asks for what all requests have to know of types, in front of them. */
  askFirst(wants) {
    const question = later.learn.questionBefore(this, wants);
    if (question !== undefined) this.putFirst(question);
  }

  /**
   * Asks for what a request has to know, right in front of it.
   * @returns {boolean} whether the request waits for the answer: only one Sync may be under way
   */
  #askBefore(request, wants) {
    request.hasAsked = true;
    const question = later.learn.questionBefore(this, wants);
    if (question === undefined) return false;
    if (this.maxPipeline < Infinity && !this.scopes.isInBlock) {
      request.snapshot();
      request.scope.unshift(request);
      this.putFirst(question, this.scopes.active);
      this.pump();
      return true;
    }
    question.open(this.scopes.root);
    this.send(question);
    return false;
  }

  share(common) {
    this.common = this.statements.common = common;
  }

  /**
   * Allows requests to be sent.
   * @param {Request} [proof] finds out whether several at once are safe; without it they are
   */
  open(connection, proof) {
    this.connection = connection;
    this.#proof = proof;
    if (proof === undefined) this.proven();
    this.socket = connection.socket;
    this.reader = connection.reader;
    this.reader.handler = this;
    this.socket.handOver(this);
    this.pump();
  }

  chunk(buf, length) {
    this.reads++;
    this.givenUpAt = this.silentSince = 0;
    try {
      this.reader.push(buf, length);
      this.#results?.flushLater();
    } catch (error) {
      // Any other error of the code is about bytes that no server sends.
      this.events.lost(
        isOurs(error) ? error : protocolError(`an answer that cannot be read (${error.message})`, error)
      );
    }
  }

  closed(error) {
    this.events.lost(error);
  }

  /** What the results that go to targets share, see Backlog of lib/core/stream. */
  results(make) {
    return (this.#results ??= make());
  }

  drained() {
    this.events.drained();
  }

  /** @returns {Buffer|null} the messages of waiting requests, to be sent with the startup packet */
  earlyRequests() {
    const { root } = this.scopes;
    // A pooler that needs a limit may drop what comes before its ReadyForQuery.
    if (!this.#isBounded && this.maxPipeline < Infinity) return null;
    const maySend = entry =>
      entry !== null &&
      !(entry instanceof Scope) &&
      (entry.settings === undefined || this.scopes.inBlock !== undefined);
    // One, since this may be a pooler; the library's own question is not counted.
    const most = this.maxPipeline + (root.first?.internal ? 1 : 0);
    while (maySend(root.first) && this.#held === 0 && this.#unanswered < most) this.#sendWaiting(root.shift());
    if (this.writer.length === 0) return null;
    const bytes = Buffer.from(this.writer.take());
    this.writer.reuse();
    return bytes;
  }

  /** Sends a request now, or when its turn comes. */
  submit(request, scope) {
    // Only requests of a caller have a text.
    if (channel.hasSubscribers && !request.traced && request.text !== undefined) return trace(request, this, scope);
    const { scopes } = this;
    const promise = request.open(scope);
    try {
      if (
        scope === scopes.active &&
        scope.first === null &&
        scope.refused === null &&
        this.#held === 0 &&
        this.#unanswered < this.maxPipeline &&
        this.socket !== null &&
        (request.settings === undefined || scopes.inBlock !== undefined)
      )
        this.send(request);
      else {
        scopes.check(scope, request);
        request.snapshot();
        this.#queue(request, scope);
      }
    } catch (error) {
      request.resolve = null; // giving it up later would reject a promise that no caller has
      throw error;
    }
    if (!request.internal) this.pending++;
    return promise;
  }

  #queue(entry, scope) {
    scope.push(entry);
    this.events.queued();
    this.pump();
    const { active } = this.scopes;
    if (active.loop !== undefined && active !== scope && active !== entry) this.#expectLoop(active, entry);
  }

  /** Names a cursor and what has waited behind it for a second: the loop over the cursor may wait for that. */
  #expectLoop(owner, { name, text = name }) {
    const { loop } = owner;
    if (text === undefined) return; // a Sync, such as a pool sends behind a loop that is over
    owner.loop = undefined; // it is named once
    const timer = setTimeout(() => {
      if (owner.phase !== Phase.OPEN) return;
      globalThis.process?.emitWarning?.(
        `"${beginningOf(text)}" has waited a second for the cursor "${beginningOf(loop)}": ` +
          'if the loop waits for it, use tx.cursor and tx.query in a transaction, or a pool',
        'QuickgresWarning'
      );
    }, Pipeline.patience);
    timer.unref?.();
  }

  get #maySend() {
    return this.#held === 0 && this.#unanswered < this.maxPipeline;
  }

  /** Whether a barrier or a CancelRequest stops sending. */
  get held() {
    return this.#held > 0;
  }

  /** @returns {{text: string|undefined}|null} the request that is being answered, else what the last one was */
  get last() {
    return this.head ?? this.#tail;
  }

  /** Whether a request of the caller or a transaction is not over; one of the library's own can only be the first. */
  get isBusy() {
    const first = this.head ?? this.scopes.root.first;
    return first !== null && !(first.internal && first.next === null);
  }

  /** Queues a scope, to be entered when its turn comes; throws like `submit`. */
  enter(scope) {
    this.scopes.check(scope.parent);
    this.#queue(scope, scope.parent);
  }

  /**
   * Ends the connection: calls back when everything sent is answered.
   * @param {function(): Error} refused makes the errors of later requests
   */
  endAll(refused, entered) {
    const { root } = this.scopes;
    this.enter(new Scope(this, root, 'end()', { whenIdle: true, entered }));
    root.refuse(refused);
  }

  /** Ends a scope: leaves it as soon as everything in it was sent. */
  end(scope) {
    scope.advance(Phase.ENDING);
    this.pump();
  }

  /** Leaves a scope at once, see Scopes.leave. */
  leave(scope, error) {
    if (this.scopes.leave(scope, error)) this.pump();
  }

  pump() {
    while (this.socket !== null && this.#maySend) {
      const entry = this.scopes.next();
      if (entry === null) return;
      if (entry instanceof Scope) entry.entered();
      else this.#sendWaiting(entry);
    }
    if (this.#proof !== undefined && this.#unanswered >= this.maxPipeline) this.prove();
  }

  /** Sends a request that had to wait, unless it was given up. */
  #sendWaiting(request) {
    if (!request.pending) return void (request.internal || this.pending--);
    try {
      this.send(request);
    } catch (error) {
      this.reject(request, error);
    }
  }

  send(request) {
    const { statements, writer } = this;
    const { wants, scope, settings } = request;
    if (wants !== undefined && !request.hasAsked && this.#askBefore(request, wants)) return;
    const before = writer.length;
    // A Parse under other settings may fail for their reasons.
    if (statements.settings !== settings && !request.internal) {
      statements.settings = settings;
      statements.lastParsed = undefined;
    }
    const begins = scope.begin !== undefined;
    const fronts = begins || settings !== undefined ? scope.frontsOf(request) : undefined;
    try {
      if (fronts !== undefined) this.#encodeFronts(fronts, begins);
      request.encode(writer, statements);
    } catch (error) {
      writer.length = before;
      fronts?.forEach(front => front.forgetParse(statements));
      request.forgetParse(statements);
      // A stack has ten lines: without the library's own ones it reaches the caller.
      if (error instanceof TypeError || error instanceof RangeError) Error.captureStackTrace?.(error, this.send);
      throw error;
    }
    if (request.statement !== statements.lastParsed && !request.internal) statements.lastParsed = undefined;
    // The last one that may change prepared statements, and the last one that may begin or end a block.
    if (request.disturbs) statements.disturbing = request;
    if (request.controlsBlock) statements.control = request;
    if (fronts !== undefined) request.fronts = fronts;
    if (begins) {
      request.awaitsBegin = true; // until its fronts are answered, which calls release(), or it is over
      for (let each = scope; each !== null; each = each.parent) each.begin = undefined;
      this.#held++;
      if (channel.hasSubscribers) traceFronts(request, this);
    }
    if (request.barrier) this.#held++;
    this.#unanswered++;
    if (this.#isBounded && this.common.isPooled) this.maxPipeline = 1; // also if another connection has found that out
    if (before === 0) this.unwritten = request;
    if (this.head === null) this.head = request;
    else this.#tail.next = request;
    this.#tail = request;
    this.flush();
    if (request.behind !== undefined) this.send(request.behind);
  }

  /**
   * Flush makes the server answer BEGIN although the request takes long. Behind settings, a query may rely on the Parse
   * before them.
   */
  #encodeFronts(fronts, begins) {
    const { statements, writer } = this;
    const { lastParsed } = statements;
    for (const front of fronts) front.encode(writer, statements);
    statements.lastParsed = begins ? undefined : lastParsed;
    if (begins) writer.flush();
  }

  /** Gives a message to the first unanswered front of the head. */
  #frontMessage(request, ...message) {
    const [front] = request.fronts;
    front.message(this, ...message);
    if (front.state === State.Failed) {
      front.publish?.(front.error);
      for (const each of request.fronts) each.forgetParse(this.statements);
      request.fronts = undefined;
      request.skip(front.error, this);
      // The server ignores a Query message, which has no Sync of its own.
      if (request.simple || request.asking !== undefined) request.endAsking(this);
    } else if (front.state === State.Done) {
      front.publish?.();
      request.fronts.shift();
      if (request.fronts.length > 0) return;
      request.fronts = undefined;
      if (!request.awaitsBegin) return;
      request.awaitsBegin = false; // in its block, others may be sent behind it
      this.release();
    }
  }

  reject(request, error) {
    if (!request.internal) this.pending--;
    request.settle(error);
  }

  flush() {
    if (this.writer.length >= FLUSH_BYTES) this.socket?.flush(this.writer);
    else this.socket?.flushSoon(this.writer);
  }

  get bufferedBytes() {
    return this.writer.length + (this.socket?.bufferedBytes ?? 0);
  }

  /** Asks the server to cancel what it is doing; resolves when it has taken the request. */
  async cancel() {
    const { refused } = this.scopes.root;
    if (this.socket === null && refused !== null) throw again(refused());
    if (this.socket === null) throw new ConnectionError('not connected: await connect() first', { code: '08003' });
    const cancelling = this.connection.cancel();
    const cancelled = cancelling.then(
      () => {
        // It may still reach them.
        for (let request = this.head; request !== null; request = request.next) request.isCancelled = true;
        return new Promise(setImmediate);
      },
      () => {}
    );
    this.cancelled = cancelled;
    cancelled.then(() => {
      if (this.cancelled === cancelled) this.cancelled = undefined;
    });
    await cancelling;
  }

  message(type, buf, start, end, count) {
    const { events } = this;
    if (type === ReadyForQuery) this.#ready(STATUS[buf[start + 5]], start, end);
    else if (type === NoticeResponse) events.notice(decodeFields(buf, start, end), buf, start, end);
    else if (type === NotificationResponse) events.notification(decodeNotification(buf, start, end), buf, start, end);
    else if (type === ParameterStatus) events.parameter(buf, start, end);
    else if (this.head !== null) {
      const { head } = this;
      if (type === CommandComplete && head.scope.block) noteCommand(head, buf, start, end);
      if (head.fronts === undefined) head.message(this, type, buf, start, end, count);
      else this.#frontMessage(head, type, buf, start, end, count);
    } else if (type === ErrorResponse) events.lost(new PostgresError(decodeFields(buf, start, end)));
    else throw protocolError(`${nameOf(type)} without a request`);
  }

  /** The head's answer is complete: settles or repeats it, and continues. */
  #ready(status, start, end) {
    const request = this.head;
    if (request === null) throw protocolError('ReadyForQuery without a request');
    if (status === undefined || end - start !== 6) throw protocolError('ReadyForQuery of a wrong kind');
    request.state = request.state === State.Done ? State.Over : nextState(request.state, ReadyForQuery, start, end);
    const before = this.status;
    this.status = status;
    if (status !== 'I' || request.scope.block) checkBlock(this, request, before);
    const repeats = request.error !== undefined && status === 'I' && mayResend(request, this.scopes.active);
    this.head = request.next;
    request.next = null;
    if (this.head === null) {
      this.unwritten = null;
      const { text } = request.queries?.at(-1) ?? request;
      this.#tail = { text }; // an idle connection keeps no result
    }
    this.#unanswered--;
    const { statements } = this;
    if (statements.disturbing === request) statements.disturbing = undefined;
    if (statements.control === request) statements.control = undefined;
    if (request.barrier) this.#held--;
    if (request.awaitsBegin) this.#held--; // BEGIN has failed
    if (repeats) {
      request.reset();
      this.#sendWaiting(request);
    } else {
      if (!request.internal) this.pending--;
      request.ready();
    }
    if (this.head?.givenUp) cancelHead(this);
    const { active } = this.scopes;
    if (active.first !== null || active.phase === Phase.ENDING) this.pump();
  }

  /** Lets nothing more be sent behind a request that was sent, until it is over. */
  holdBehind(request) {
    if (request.barrier) return;
    request.barrier = true;
    this.#held++;
  }

  /** Stops sending until `release` was called as often. */
  hold() {
    this.#held++;
  }

  release() {
    this.#held--;
    this.pump();
  }

  /**
   * Rejects all requests, now and later: the connection is lost or could not be made.
   * @param {Error} [cause] a TypeError of connect() is the error of the requests as well
   */
  lose(message, cause, code) {
    const failed = this.connection === undefined ? cause : undefined; // the error of connect()
    const LossError = failed instanceof TimeoutError ? TimeoutError : ConnectionError;
    const errors = sent =>
      failed instanceof TypeError ? () => cause : lossErrors(message, code, cause, sent, LossError);
    const unsent = errors(false);
    let lost = errors(true);
    this.socket = null;
    for (let request = this.head; request !== null; request = request.next) {
      if (request === this.unwritten && this.writer.length > 0) lost = unsent;
      const error = lost();
      for (const front of request.fronts ?? []) front.publish?.(error);
      this.reject(request, error);
      request.drop();
    }
    this.head = null;
    const since = new Date();
    this.scopes.root.refused = () =>
      new ConnectionError(`not connected since ${since.toISOString()}: ${message}; connect() connects again`, {
        code: '08003',
        cause,
        sent: false
      });
    this.scopes.lose(unsent);
  }
}

module.exports = { Pipeline };
