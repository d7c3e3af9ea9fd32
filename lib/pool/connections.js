'use strict';

const { ConnectionError, TimeoutError } = require('../..');
const { channelsOf, giveUpAll, tooLong, waitsForItself, watchLimits } = require('../core/pipeline');
const { isFinal } = require('../core/protocol');
const { Alarm } = require('./alarm');
const { Connection, OWNED, SHARED } = require('./connection');
const { SlowReaders } = require('./slow-readers');
const { Turns } = require('./turns');
const { Waiting } = require('./waiting');

const channel = channelsOf('quickgres:pool');

/** The first and the longest pause between two attempts to connect, in milliseconds. */
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 2000;

/** Milliseconds for which queries wait for a new connection rather than behind others. */
const LATE_ATTEMPT = 1000;

/** Milliseconds of expected time behind which a query is sent rather than on another connection. */
const CHEAP = 0.5;

/** How often a text must have been executed for each request that it goes behind. */
const CAUTION = 4;

const isIdle = each => each.isIdle;
const isNew = each => each.room === undefined;
const isOpen = each => each.isOpen;
const isOpening = each => each.isOpening;
const isOwned = each => each.isOwned;

/** Whether a query rather goes behind the requests of one connection than of another one: reads, or what needs less. */
const isBetter = (one, other) =>
  one.writes > 0 === other.writes > 0 ? one.expected <= other.expected : one.writes === 0;

/** A text that was executed a few times may be expected to need too little, so few go behind others. */
const mayFollow = ({ users }, { known }) => !(users * CAUTION > known?.executions);

const tooLate = tooLong('request', () => ': it waited for a connection');

/** The connections of a pool: which request gets which, and when they are opened, closed and replaced. */
class Connections {
  /** @type {ConnectionError|undefined} the error of new requests after the end */
  refusal;
  #all = [];
  #config;
  #early = new Set(); // uses that were sent with the start of a connection
  #emit;
  #isDestroyed = false;
  #last; // the connection that the last query got
  #limit = CHEAP; // up to what it is expected to need, the next query gets it as well
  #options;
  #outage; // `{ failures, pause, error }`, from a failed attempt until a new connection has answered
  #alarm = new Alarm(now => this.#wake(now));
  #slowReaders;
  #turns = new Turns();
  #waiting = new Waiting();

  /**
   * @param {object|string} config of the clients
   * @param {object} options a Pool's, and `common`, `reached`
   * @param {function(string, Client|Error, Promise)} emit gets 'error', and 'connect' with each new client and the
   *   promise of its connect()
   */
  constructor(config, options, emit) {
    this.#config = config;
    this.#options = options;
    this.#emit = emit;
    this.#slowReaders = new SlowReaders(options.acquire_timeout);
    /** Whether there was a connection; from then on, requests wait during an outage. */
    this.reached = options.reached === true;
  }

  #count(is) {
    return this.#all.filter(is).length;
  }

  get stats() {
    const now = performance.now();
    const used = this.#all.filter(each => each.isOpen && each.users > 0).sort((a, b) => a.since - b.since);
    return {
      size: this.#options.size,
      connected: this.#count(isOpen),
      idle: this.#count(isIdle),
      owned: this.#count(isOwned),
      pending: this.#all.reduce((sum, { client }) => sum + client.pending, 0),
      waiting: this.#waiting.size,
      holders: used.slice(0, 3).map(each => each.holderAt(now)) // that have used one for longest
    };
  }

  /** See POLICY of options.js. */
  get policy() {
    return this.#options.policy;
  }

  /** Whether the running code is the function of a transaction on one of them. */
  get isInside() {
    return this.#all.some(({ pipeline }) => waitsForItself(pipeline.scopes.root));
  }

  /** During an outage there is one attempt at a time. */
  get #mayOpen() {
    return (
      this.#all.length < this.#options.size && (!this.#outage || (!this.#outage.pause && !this.#all.some(isOpening)))
    );
  }

  /** How many are being opened with which no query was sent. */
  get #opening() {
    return this.#count(each => each.isOpening && each.users === 1);
  }

  /** Whether another connection will soon be open to queries. */
  #isGrowing(now) {
    return this.#mayOpen || this.#all.some(each => isNew(each) && now - each.since < LATE_ATTEMPT);
  }

  /** How many more connections owners may have. */
  get #free() {
    return Math.max(1, this.#options.size - this.policy.reserved) - this.#count(each => each.isOwned || each.isHeld);
  }

  /** The connection for a request, if there is one. */
  #find(use, now) {
    const isOwner = use.kind === 'owner';
    const connection = isOwner ? this.#forOwner() : this.#forQuery(use, now);
    if (!connection) return undefined;
    if (isOwner) connection.state = OWNED;
    connection.addUser(use, now);
    if (use.known) this.#turns.count(this.#isUsed);
    return connection;
  }

  #isUsed = () => this.#all.some(each => each.users > 0 && each.isShared);

  #forOwner() {
    return this.#free > 0 ? this.#all.find(each => each.isIdle && !each.isHeld) : undefined;
  }

  /**
   * The connection for a query. What follows it goes there as well until it is expected to need CHEAP more, so that
   * one write carries it.
   */
  #forQuery(use, now) {
    const last = this.#last;
    if (last?.users > 0 && last.expected <= this.#limit && last.writes === 0 && this.#waiting.owner.size === 0)
      if (!use.isInside && last.mayTake(now) && mayFollow(last, use)) return last;
    const connection = this.#scan(use, now);
    this.#last = connection;
    this.#limit = connection?.expected > CHEAP ? connection.expected + CHEAP : CHEAP;
    return connection;
  }

  /**
   * The connection for a query, by these rules in their order:
   *
   * 0. a read of the pool's start: on a connection that has just been opened, as many as wait for each of them;
   * 1. behind reads that are answered at once, unless it is asked inside a transaction, for which they may wait;
   * 2. on an unused one;
   * 3. if one is or may be opened: there, unless the reads in front of it are answered before that is open;
   * 4. behind those that need least, reads before writes, but not where owners wait for the end of all queries.
   */
  #scan(use, now) {
    const { size } = this.#waiting.owner;
    if (use.known?.isRead && !use.isInside && size === 0) {
      const hasRoom = each => each.users < each.room && each.writes === 0 && each.isShared && !each.isHeld;
      const first = this.#all.find(hasRoom);
      if (first) return first;
    }
    let left = size > 0 && !this.#isGrowing(now) ? Math.min(size, this.#free) : 0; // to owners
    let best, unused;
    for (const each of this.#all) {
      if (!each.mayTake(now)) continue;
      if (each.users === 0) unused ??= each;
      else if (left > 0) left--;
      else if (!best || !isBetter(best, each)) best = each;
    }
    if (best && !mayFollow(best, use)) best = undefined;
    if (best && best.writes === 0 && best.expected <= CHEAP && !use.isInside) return best;
    if (unused || !best) return unused;
    if (!this.#isGrowing(now)) return best.expected <= best.patience ? best : undefined;
    if (best.writes > 0 || best.expected > CHEAP + 2 * best.roundTrip || use.isInside) return undefined;
    if (!this.#all.some(isOpening)) this.#open();
    return best;
  }

  /** @returns {Connection|undefined} like `wait`, if there is no wait */
  take(use) {
    return this.#waiting[use.kind].size === 0 ? this.#find(use, use.since) : undefined;
  }

  /**
   * @param {object} limits of the request, which began at `since`
   * @returns {Promise<Connection>} to be released; rejects with an error of connecting, a TimeoutError or an AbortError
   */
  async wait(use, { signal, onwait, statement_timeout: time }, since) {
    if (this.#isDestroyed) throw this.refusal;
    const promise = this.#waiting.add(use);
    onwait?.(use.reject);
    this.#alarm.setTo(use.since + this.#options.acquire_timeout);
    this.#serve();
    this.#relieve(use.since);
    if (channel.hasSubscribers) this.#trace(promise, use);
    if (signal === undefined && time === undefined) return promise;
    const limits = { signal, statement_timeout: time, waited: performance.now() - since };
    return promise.finally(watchLimits(limits, use.reject, tooLate, () => false));
  }

  /** Publishes a wait, as plain data. */
  #trace(promise, { kind, since }) {
    const wait = { why: kind, waiting: this.#waiting.size, waited: undefined };
    const over = () => {
      wait.waited = performance.now() - since;
    };
    // Its result, a connection, is no plain data.
    channel.tracePromise(() => promise.then(() => {}).finally(over), wait).catch(() => {});
  }

  #acquireError() {
    const { acquire_timeout, size } = this.#options;
    const { connected, owned, holders } = this.stats;
    const cause =
      connected > 0
        ? undefined
        : (this.#outage?.error ??
          new ConnectionError('the server has not answered the attempt to connect', { code: '08001' }));
    const oldest = holders.map(
      ({ owned, time, text = 'nothing was sent' }) =>
        `${owned ? 'owned' : 'shared'} for ${Math.round(time)} ms: ${text}`
    );
    const why = cause
      ? 'the last attempt to connect has failed' // its cause says why
      : `size ${size}, open ${connected}, owned ${owned}. Longest in use: ${oldest.join('; ')}. ` +
        'Inside a transaction or a loop over a cursor, use tx';
    return new TimeoutError(`no connection for ${acquire_timeout} ms (acquire_timeout): ${why}`, {
      code: cause ? '08001' : '53300',
      cause,
      sent: false
    });
  }

  /** Gives connections to waiting requests, and opens more for the rest. */
  #serve(now = performance.now()) {
    if (this.#waiting.size === 0) return;
    this.#waiting.serve(use => this.#find(use, now));
    for (const each of this.#all) if (each.isUnattended) this.#restore(each);
    while (this.#waiting.size > this.#opening && this.#mayOpen) this.#open();
  }

  /**
   * The first requests of a pool go with the start of its connections, as those of a client do. After a failed attempt
   * they wait for an open one.
   * @returns {Promise} resolves when they were submitted
   */
  async #sendEarly(connection) {
    const { pipeline } = connection;
    const { owner, query } = this.#waiting;
    const isWarm = this.#outage || this.#all.some(isOpen);
    if (isWarm || owner.size > 0 || pipeline.pending > 0 || !connection.isOpening) return;
    const room = Math.min(pipeline.maxPipeline, Math.ceil(query.size / this.#opening));
    const submitted = [];
    this.#waiting.serve(use => {
      const isFirst = connection.users === 1 || this.#options.size === 1;
      const mayFollow = isFirst || (use.known?.isRead && !use.isInside && connection.writes === 0);
      if (connection.users > room || !mayFollow) return undefined;
      connection.addUser(use);
      this.#early.add(use);
      submitted.push(
        new Promise(resolve => {
          use.submitted = resolve;
        })
      );
      return connection;
    });
    await Promise.all(submitted);
  }

  /**
   * A request that was given up may be under way, and an owner may have left any state.
   * @param {boolean} [reset] whether settings of the session may have changed
   */
  release(connection, use, reset) {
    const now = performance.now();
    const { hasAnswered } = connection;
    this.#early.delete(use);
    connection.removeUser(use, now);
    if (!hasAnswered && connection.hasAnswered) this.#resume();
    if (connection.isOpening) return void this.#look(connection); // it will be restored
    if (reset || !connection.isRestored) return void this.#restore(connection, reset);
    connection.state = SHARED;
    this.#released(connection, now);
  }

  async #restore(connection, reset) {
    this.#look(connection);
    await connection.restore(reset);
    const waiting = this.#all.length < this.#options.size ? 0 : this.#waiting.query.size;
    connection.room ??= connection.users + Math.ceil(waiting / this.#count(isNew));
    this.#released(connection);
  }

  #released(connection, now = performance.now()) {
    this.#limit = CHEAP;
    if (connection.users === 0 && this.policy.exitsOnIdle) connection.client.unref();
    if (connection.users === 0 || now >= connection.expires) this.#look(connection, now);
    this.#serve(now);
  }

  #open() {
    const connection = new Connection(this.#config, this.#options, this.#turns);
    const { client } = connection;
    connection.pipeline.share(this.common, () => this.#sendEarly(connection));
    this.#all.push(connection);
    client.closed.then(error => this.#closed(connection, error));
    const opening = client.connect();
    opening.then(
      () => {
        this.reached = this.policy.isPatient;
        connection.opened();
        this.#restore(connection);
      },
      () => {}
    );
    this.#look(connection);
    this.#emit('connect', client, opening);
  }

  /** Replaces a connection at once if it has answered, else after a pause. The first one ever is not tried again. */
  #closed(connection, error) {
    this.#all.splice(this.#all.indexOf(connection), 1);
    const { hasAnswered, isOpening: wasOpening } = connection;
    if (wasOpening || (!hasAnswered && error)) this.#pause(error);
    // The next one may be to another database; but what was sent with its start may have been told of types.
    if (this.#all.every(isOpening) && this.#early.size === 0) this.common.forgetTypes();
    const isOver =
      error &&
      wasOpening &&
      !this.#all.some(isOpen) &&
      // after 57P03, the server is starting, a later attempt succeeds
      (this.reached ? isFinal(error) : error.code !== '57P03' && !this.#all.some(isOpening));
    if (isOver) {
      const NoConnection = error instanceof TimeoutError ? TimeoutError : ConnectionError;
      const reason = isFinal(error)
        ? error
        : new NoConnection(`no connection: ${error.message}`, {
            code: error.code,
            cause: error.cause ?? error,
            sent: false
          });
      this.#waiting.reject(() => reason);
      for (const use of this.#early) use.error = reason;
      if (!this.reached) this.#resume();
    }
    this.#serve();
    if (error) this.#emit('error', error);
  }

  #pause(error) {
    const outage = (this.#outage ??= { failures: 0 });
    outage.error = error;
    outage.pause ??= setTimeout(
      () => {
        outage.pause = undefined;
        this.#serve();
      },
      Math.min(FIRST_PAUSE * 2 ** outage.failures++, LONGEST_PAUSE) * (0.5 + Math.random() / 2)
    );
  }

  /** Ends the pauses between attempts. */
  #resume() {
    clearTimeout(this.#outage?.pause);
    this.#outage = undefined;
  }

  /** Measures slow readers while requests wait for the connections that they hold, and then cuts them off. */
  #relieve(now) {
    const { owner, query } = this.#waiting;
    if (this.#waiting.size === 0 || !this.#all.some(each => each.isShared)) return;
    this.#alarm.setTo(now + this.#slowReaders.pause);
    const readers = this.#all.map(({ reader }) => reader).filter(Boolean);
    const owners = Math.min(owner.size, Math.max(0, this.#free + readers.length));
    const soon = this.#all.length - this.#count(isOwned) - readers.length; // those that are used otherwise
    const wanted = owners + Math.max(query.size - soon, -this.#free);
    this.#slowReaders.cutOff(readers, this.#all.length < this.#options.size ? 0 : wanted, now);
  }

  /** Does what is due. */
  #wake(now) {
    for (const each of this.#all) this.#look(each, now);
    const { acquire_timeout } = this.#options;
    const isLate = ({ since }) => now >= since + acquire_timeout;
    this.#waiting.reject(use => isLate(use) && this.#acquireError());
    const early = [...this.#early].filter(use => use.early.isOpening);
    for (const use of early.filter(isLate))
      giveUpAll(use.early.pipeline.scopes.root, Object.assign(this.#acquireError(), { sent: true }));
    this.#serve(now);
    this.#relieve(now);
    const since = Math.min(this.#waiting.since, ...early.filter(use => !isLate(use)).map(use => use.since));
    this.#alarm.setTo(since + acquire_timeout);
  }

  /** Closes a connection that has been silent or unused for too long, or is too old; sets the alarm to when it will. */
  #look(each, now = performance.now()) {
    const {
      idle_timeout,
      policy: { least, silence }
    } = this.#options;
    const silent = each.silentSince + silence;
    const isSpare = each.isIdle && (least === 0 || this.#count(isOpen) > least);
    const unused = isSpare ? each.since + idle_timeout : Infinity;
    const old = each.isShared ? each.expires : Infinity;
    const isDropping = each.users === 0 && each.pipeline.pending > 0; // an answer, and may become silent
    const again = each.isOpening ? each.since + LATE_ATTEMPT : isDropping ? now + silence : 0;
    if (now >= silent) {
      this.doubt();
      each.client.destroy(new ConnectionError(`the server was silent for ${silence} ms`));
    } else if (now >= unused || now >= old) each.client.end();
    else this.#alarm.setTo(Math.min(silent, unused, old, again > now ? again : Infinity));
  }

  /** Closes unused connections, as the network may be dead: the next requests would find out. */
  doubt() {
    for (const { client } of this.#all.filter(isIdle)) client.destroy();
  }

  /** Replaces each connection after its current requests. */
  renew() {
    for (const each of this.#all) {
      each.expires = 0;
      this.#look(each);
    }
    this.#serve();
  }

  /** Closes all connections after their current requests, without waiting for those that are being opened. */
  async close() {
    for (const { client } of this.#all.filter(isOpening)) client.destroy();
    await Promise.all(
      this.#all.map(({ client }) => {
        client.ref();
        return client.end();
      })
    );
    this.#resume();
    this.#alarm.stop();
  }

  /**
   * Closes all connections now. Waiting requests have the error of new ones.
   * @param {Error|undefined} error of requests on them
   */
  destroy(error) {
    this.#isDestroyed = true;
    this.#waiting.reject(() => this.refusal);
    for (const { client } of [...this.#all]) client.destroy(error);
    this.close();
  }
}

module.exports = { Connections };
