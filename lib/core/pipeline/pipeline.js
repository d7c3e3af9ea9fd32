'use strict';

const {
  ConnectionError,
  MessageWriter,
  PostgresError,
  TimeoutError,
  backend,
  decodeFields,
  decodeNotification,
  isOurs,
  nameOf,
  protocolError
} = require('../protocol');
const { late } = require('../late');
const { Memory, RowParser } = require('../rows');
const { setImmediate } = require('../timer');
const { cancelHead } = require('./give-up');
const { UNREAD, again, isTermination, lossErrors } = require('./errors');
const { checkBlock, noteCommand } = require('./block');
const { mayResend } = require('./flight');
const { Phase, Scope, Scopes } = require('./scope');
const { beginningOf } = require('./sql');
const { Statements } = require('./statements');
const { channel, trace, traceControls } = require('./tracing');

const { CommandComplete, ErrorResponse, NoticeResponse, NotificationResponse, ParameterStatus, ReadyForQuery } =
  backend;

const later = late({ inside: () => require('./types-query'), learn: () => require('./learn') });

/** With so many bytes, messages leave at once instead of at the end of the tick. */
const FLUSH_BYTES = 65536;

/** The transaction status by its byte in ReadyForQuery: idle, in a transaction, in a failed one. */
const STATUS = Object.fromEntries(['I', 'T', 'E'].map(status => [status.charCodeAt(0), status]));

/** The flights of one connection: which were sent, and which is answered next. Scopes tell which may be sent. */
class Pipeline {
  /** Milliseconds for which a request waits behind a cursor without a warning. */
  static loopLimit = 1000;

  #isBounded = true; // several requests at once are sent only where that is known to be safe
  #proof; // a request that finds out whether it is
  #submitEarly; // see `share`
  #isAnswering = false; // a part of the answer to the head has come
  #results; // see `results`
  #tail = null; // the last flight of the line; when that is empty, its text

  /**
   * @param {object} events `notice(fields, buf, start, end)`, `notification(…)`, `parameter(buf, start, end)`;
   *   `lost(error)`: the connection is unusable, or closed by the server if there is no error; `queued()`: a request
   *   waits; `cancel()` sends a CancelRequest; `drained()`
   * @param {object} common what connections have in common that replace each other or belong to one pool: `decoding`,
   *   the default of readers; `types`, see lib/core/rows; `silent`, see connect() of lib/core/connection;
   *   `isPooled`: the server has lost a statement, so that none gets a name any more
   */
  constructor(events, common) {
    this.events = events;
    this.memory = new Memory();
    this.writer = new MessageWriter();
    this.statements = new Statements(256, `_${((Math.random() * 2 ** 30) | 0).toString(36)}`);
    this.scopes = new Scopes(this);
    this.maxBuffered = 1 << 26;
    /**
     * The most requests that were sent and not answered; Infinity for no limit. Without `max_pipeline` it is 1 until
     * the server is known, and behind a pooler that is not known to be safe: an old PgBouncer gives another client the
     * answers of a client that leaves.
     */
    this.maxPipeline = 1;
    /** How many holds there are, of flights and CancelRequests: nothing is sent while there is one. */
    this.holds = 0;
    /** Whether something can be written: the connection is there, or takes early requests. */
    this.isOpen = false;
    this.unanswered = 0;
    /** @type {Flight|null} the one that is answered next, the first of the line */
    this.head = null;
    /** @type {Flight|null} the first one whose messages are in the writer, if anything is */
    this.unwritten = null;
    /** How many command tags of the head may be those of ends of its transaction's block. */
    this.endings = 0;
    this.pending = 0;
    /** How many promises are about to reject. What resolves meanwhile takes as many turns, which keeps the order. */
    this.rejecting = 0;
    /** The transaction status of the last ReadyForQuery. */
    this.status = 'I';
    /** @type {object|undefined} see connect() of lib/core/connection */
    this.connection = undefined;
    this.socket = null; // null without a connection
    this.reader = null;
    /** When a sent request was given up, and since when its answer is overdue; 0 if something was read since. */
    this.givenUpAt = this.silentSince = 0;
    /** Whether a CancelRequest for the head is under way, see give-up.js. */
    this.cancelsHead = false;
    /** @type {Promise|undefined} of the last CancelRequest under way: resolves when its caller has had a turn */
    this.cancelling = undefined;
    /** @type {Flight|undefined} the last one that cancel() may still reach */
    this.lastCancelled = undefined;
    /** @type {TypesRequest|undefined} the last question for types */
    this.question = undefined;
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
    if (proof === undefined || !(this.scopes.active.block || this.scopes.rootInBlock === false)) return;
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
   * Puts a flight of the library's own in front of those that wait.
   * @param {Scope} [scope] whose flights these are, by default those that wait for the connection
   */
  putFirst(flight, scope = this.scopes.root) {
    flight.open(this.scopes.root).catch(() => {});
    scope.unshift(flight);
  }

  /** Asks for what all requests have to know of types, in front of them. */
  askFirst(wants) {
    const question = later.learn.questionBefore(this, wants);
    if (question !== undefined) this.putFirst(question);
  }

  /** Asks what the types of a flight's results are. @returns {boolean} whether the flight waits for the answer */
  learn(flight, receivers) {
    return later.learn.learn(flight, receivers);
  }

  /** Writes a question inside a flight. @param {number[]} oids of types @returns {TypesQuery} */
  askInside(oids) {
    const question = new later.inside.TypesQuery(oids);
    question.write(this.writer);
    this.flush();
    return question;
  }

  /**
   * Asks for what a flight has to know, right in front of it.
   * @returns {boolean} whether the flight waits for the answer: only one Sync may be under way
   */
  #askBefore(flight) {
    const question = later.learn.questionBefore(this, flight.takeWants());
    if (question === undefined) return false;
    if (this.maxPipeline < Infinity && !this.scopes.isInBlock) {
      flight.snapshot();
      flight.scope.unshift(flight);
      this.putFirst(question, this.scopes.active);
      this.pump();
      return true;
    }
    question.open(this.scopes.root).catch(() => {});
    this.#sendWaiting(question);
    return false;
  }

  /** @param {function(): Promise} [submitEarly] a pool's: resolves when it has submitted what goes with the start */
  share(common, submitEarly) {
    this.common = this.statements.common = common;
    this.#submitEarly = submitEarly;
  }

  /**
   * Allows requests to be sent.
   * @param {Flight} [proof] finds out whether several at once are safe; without it they are
   */
  open(connection, proof) {
    this.connection = connection;
    this.#proof = proof;
    if (proof === undefined) this.proven();
    this.socket = connection.socket;
    this.reader = connection.reader;
    this.reader.handler = this;
    this.socket.handOver(this);
    this.isOpen = true;
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

  /** @returns {Promise<Buffer|null>} the messages of waiting requests, to be sent with the startup packet */
  async earlyRequests() {
    const { root } = this.scopes;
    // A pooler that needs a limit may drop what comes before its ReadyForQuery.
    if (!this.#isBounded && this.maxPipeline < Infinity) return null;
    await this.#submitEarly?.();
    this.isOpen = true; // for one request, since this may be a pooler
    while (root.first !== null && !(root.first instanceof Scope) && this.mayStart(root.first, root))
      this.#sendWaiting(root.shift());
    this.isOpen = false;
    if (this.writer.length === 0) return null;
    const bytes = Buffer.from(this.writer.take());
    this.writer.reuse();
    return bytes;
  }

  /**
   * Whether a flight may be sent, or a scope be entered: its scope is active, it is next there, nothing is held, the
   * connection takes more, and it is known whether a block is open if that matters to it.
   * @param {Flight|Scope} entry waiting or new
   */
  mayStart(entry, scope) {
    const { scopes } = this;
    return (
      scope === scopes.active &&
      (scope.first === null ? scope.refused === null : scope.first === entry) &&
      this.holds === 0 &&
      this.unanswered < this.maxPipeline &&
      this.isOpen &&
      ((entry.settings === undefined && !entry.block) || scope !== scopes.root || scopes.rootInBlock !== undefined) &&
      (!entry.whenIdle || this.head === null)
    );
  }

  /** Sends a flight now, or when it is the next one. */
  submit(flight, scope) {
    // Only requests of a caller have a text.
    if (channel.hasSubscribers && flight.call === undefined && flight.text !== undefined && !flight.internal)
      return trace(flight, this, scope);
    const promise = flight.open(scope);
    try {
      if (this.mayStart(flight, scope)) this.send(flight);
      else {
        this.scopes.check(scope, flight);
        flight.snapshot();
        this.#queue(flight, scope);
      }
    } catch (error) {
      flight.unsubmit();
      throw error;
    }
    if (!flight.internal) this.pending++;
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
    }, Pipeline.loopLimit);
    timer.unref?.();
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

  /** Queues a scope, to be entered when it is the next one; throws like `submit`. */
  enter(scope) {
    this.scopes.check(scope.parent);
    this.#queue(scope, scope.parent);
  }

  /**
   * Ends the connection: calls back when everything sent is answered.
   * @param {function(): Error} refused makes the errors of later requests
   */
  endAll(refused, onenter) {
    const { root } = this.scopes;
    this.enter(new Scope(this, root, 'end()', { whenIdle: true, onenter }));
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
    for (;;) {
      const entry = this.scopes.next();
      if (entry === null) break;
      if (entry instanceof Scope) entry.onenter();
      else this.#sendWaiting(entry);
    }
    if (this.#proof !== undefined && this.unanswered >= this.maxPipeline) this.prove();
  }

  /** Sends a request that had to wait, unless it was given up. */
  #sendWaiting(request) {
    if (!request.pending) return void (request.internal || this.pending--);
    try {
      this.send(request);
      if (request.undo !== undefined) this.send(request.undo); // of a question in a block
    } catch (error) {
      this.reject(request, error);
    }
  }

  send(flight) {
    const { statements, writer } = this;
    const { scope, settings } = flight;
    if (flight.wants !== undefined && this.#askBefore(flight)) return;
    const { disturbing } = statements;
    const start = writer.length;
    // A Parse under other settings may fail for their reasons.
    if (statements.settings !== settings && !flight.internal) {
      statements.settings = settings;
      statements.lastParsed = undefined;
    }
    const begins = scope.begin !== undefined;
    if (begins) statements.lastParsed = undefined;
    try {
      if (begins || settings !== undefined) flight.putInFront(scope.commandsBefore(flight), begins);
      if (flight.commands === undefined) flight.write(writer, statements, flight);
      else flight.writeFrom(0, writer, statements);
      if (!flight.simple && flight.partial === undefined) writer.sync();
    } catch (error) {
      writer.length = start;
      statements.disturbing = disturbing;
      for (const each of flight.commands ?? [flight]) each.forgetParse(statements);
      // A stack has ten lines: without the library's own ones it reaches the caller.
      if (error instanceof TypeError || error instanceof RangeError) Error.captureStackTrace?.(error, this.send);
      throw error;
    }
    // Nothing relies on a Parse of a batch, which has no statement of its own.
    if (flight.statement !== statements.lastParsed && !flight.internal) statements.lastParsed = undefined;
    if (flight.effect !== undefined && flight.controlsBlock) statements.control = flight;
    if (flight.hold > 0) this.holds++;
    this.unanswered++;
    if (this.#isBounded && this.common.isPooled) this.maxPipeline = 1; // also if another connection has found that out
    if (start === 0) this.unwritten = flight;
    if (this.head === null) this.head = flight;
    else this.#tail.next = flight;
    this.#tail = flight;
    flight.call?.sent();
    if (begins) {
      for (let each = scope; each !== null; each = each.parent) each.begin = undefined;
    }
    if (flight.commands !== undefined && channel.hasSubscribers) traceControls(flight, this);
    this.flush();
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
    if (this.socket === null)
      throw again(
        this.scopes.root.refused?.() ?? new ConnectionError('not connected: await connect() first', { code: '08003' })
      );
    const sent = this.events.cancel();
    const cancelling = sent.then(
      () => {
        if (this.head !== null) this.lastCancelled = this.#tail; // it may still reach them
        return new Promise(setImmediate);
      },
      () => {}
    );
    this.cancelling = cancelling;
    cancelling.then(() => {
      if (this.cancelling === cancelling) this.cancelling = undefined;
    });
    await sent;
  }

  message(type, buf, start, end, count) {
    const { events } = this;
    if (type === ReadyForQuery) this.#ready(STATUS[buf[start + 5]], start, end);
    else if (type === NoticeResponse) events.notice(decodeFields(buf, start, end), buf, start, end);
    else if (type === NotificationResponse) events.notification(decodeNotification(buf, start, end), buf, start, end);
    else if (type === ParameterStatus) events.parameter(buf, start, end);
    else if (this.head !== null) {
      const { head } = this;
      if (type === CommandComplete && head.scope.block) noteCommand(this, buf, start, end);
      if (head.commands === undefined) head.message(this, type, buf, start, end, count);
      else head.take(this, type, buf, start, end, count);
      this.#isAnswering = true;
    } else if (type === ErrorResponse) events.lost(new PostgresError(decodeFields(buf, start, end)));
    else throw protocolError(`${nameOf(type)} without a request`);
  }

  /** The head's answer is complete: settles or repeats it, and continues. */
  #ready(status, start, end) {
    const flight = this.head;
    if (flight === null) throw protocolError('ReadyForQuery without a request');
    if (status === undefined || end - start !== 6) throw protocolError('ReadyForQuery of a wrong kind');
    flight.complete(ReadyForQuery, start, end);
    flight.call?.answered(); // the answer to no command at all
    const before = this.status;
    this.status = status;
    this.#isAnswering = false;
    if (status !== 'I' || flight.scope.block) checkBlock(this, flight, before);
    this.endings = 0;
    const repeats = flight.error !== undefined && status === 'I' && mayResend(flight, this.scopes.active);
    this.head = flight.next;
    flight.next = null;
    if (this.head === null) {
      this.unwritten = null;
      const { text } = flight.queries?.at(-1) ?? flight;
      this.#tail = { text }; // an idle connection keeps no result
    }
    this.unanswered--;
    const { statements } = this;
    if (statements.disturbing === flight) statements.disturbing = undefined;
    if (statements.control === flight) statements.control = undefined;
    if (this.lastCancelled === flight) this.lastCancelled = undefined;
    if (!repeats) {
      if (!flight.internal) this.pending--;
      flight.ready(); // what it asks for comes before what it has held
    }
    if (flight.hold > 0) this.holds--;
    if (repeats) {
      flight.reset();
      this.#sendWaiting(flight);
    }
    if (this.head?.givenUp) cancelHead(this);
    const { active } = this.scopes;
    if (active.first !== null || active.phase === Phase.ENDING) this.pump();
  }

  /** Stops sending until `unhold` was called as often. */
  hold() {
    this.holds++;
  }

  unhold() {
    this.holds--;
    this.pump();
  }

  /**
   * Rejects all requests, now and later: the connection is lost or could not be made.
   * @param {Error} [cause] a TypeError of connect() is the error of the requests as well
   * @param {boolean} [isUnread] whether the server has carried out none of them, although some may have been sent
   */
  lose(cause, message, code, isUnread = false) {
    const failed = this.connection === undefined ? cause : undefined; // the error of connect()
    const LossError = failed instanceof TimeoutError ? TimeoutError : ConnectionError;
    const errors = (sent, what) =>
      failed instanceof TypeError ? () => cause : lossErrors(message, code, cause, sent, LossError, what);
    const [sent, unread, unsent] = [errors(true), errors(false, UNREAD), errors(false)];
    this.socket = null;
    this.isOpen = false;
    const isEnded = isTermination(cause);
    // What the server has ended between two messages, it has read up to the first flight at most. Of a Query message,
    // the first answer comes only when it has run.
    const mayHaveRun = flight =>
      !isUnread && (!isEnded || (flight === this.head && (this.#isAnswering || flight.simple)));
    let isWritten = true;
    for (let flight = this.head; flight !== null; flight = flight.next) {
      isWritten &&= flight !== this.unwritten || this.writer.length === 0;
      const error = (!isWritten ? unsent : mayHaveRun(flight) ? sent : unread)();
      for (const each of flight.commands?.slice(flight.at, -1) ?? []) each.call?.over(error);
      this.reject(flight, error);
      flight.drop();
    }
    this.head = null;
    const since = new Date();
    // In the place of what end() may have refused with. V8 would keep a function that is assigned to a property, and
    // with it the client, until it collects all garbage.
    Object.assign(this.scopes.root, {
      refused: () =>
        new ConnectionError(`not connected since ${since.toISOString()}: ${message}; connect() connects again`, {
          code: '08003',
          cause,
          sent: false
        })
    });
    this.scopes.lose(unsent);
  }
}

module.exports = { Pipeline };
