'use strict';

const { Readable, addAbortSignal } = require('node:stream');
const { LEASE } = require('../core/internal');
const { clearImmediate, setImmediate } = require('../core/timer');
const {
  AbortError,
  ConnectionError,
  State,
  UsageError,
  backend,
  checkText,
  frontend,
  nameOf,
  protocolError
} = require('../core/protocol');
const { Scope, SimpleRequest, giveUp } = require('../core/pipeline');
const { checkOptions } = require('../core/options');
const { formatLsn, parseLsn, readTime, writeNow } = require('./wal');

const OPTIONS = new Set(['signal', 'statusInterval']);

/** Physical replication gives the log itself, in which positions mean something else. */
const LOGICAL = /^\s*START_REPLICATION\s+SLOT\s+\S+\s+LOGICAL\b/i;

const STATUS_INTERVAL = 10000;

/**
 * For so many intervals a server may say nothing. It is asked at the end of each, and while it decodes a long
 * transaction it answers after 30 s.
 */
const SILENT = 4;

/** How many messages may wait for the reader. */
const WAITING = 1024;

// The first byte of CopyData tells its kind.
const XLOG_DATA = 0x77; // w
const KEEPALIVE = 0x6b; // k
const STATUS_UPDATE = 0x72; // r

/**
 * START_REPLICATION: a simple Query, after which both sides send CopyData. It owns the connection until it is over.
 * https://www.postgresql.org/docs/current/protocol-replication.html
 */
class CopyBothRequest extends SimpleRequest {
  #ended = false; // CopyDone was sent
  #listener;

  constructor(text, listener) {
    super(text);
    this.#listener = listener;
    this.copying = false;
  }

  message(pipeline, type, buf, start, end) {
    switch (type) {
      case backend.CopyBothResponse:
        if (this.copying || this.state !== State.Simple) break;
        this.copying = true;
        return this.#listener === null ? this.send() : this.#listener.started();
      case backend.CopyData:
        if (this.copying) this.#listener?.data(buf, start, end, pipeline.reader.owned);
        return;
      case backend.CopyDone:
        return this.send();
      case backend.CommandComplete:
        // Neither side has sent CopyDone: the server is shutting down, or refuses a second stream on one connection.
        if (this.copying && !this.#ended) {
          this.rejectWith(new UsageError('the server ended the replication; it takes a new connection', '55000'));
        }
        this.#ended = true;
        this.state = State.Done;
        return;
      case backend.ErrorResponse:
        return this.takeError(pipeline, buf, start, end);
    }
    throw protocolError(`unexpected ${nameOf(type)} in replication`);
  }

  send(data) {
    if (!this.copying || this.#ended) return;
    const { pipeline } = this.scope;
    this.#ended = data === undefined;
    if (this.#ended) pipeline.writer.copyDone();
    else pipeline.writer.message(frontend.CopyData, data);
    pipeline.flush();
  }

  giveUp(error, pipeline) {
    const { copying } = this;
    if (!super.giveUp(error, pipeline)) return false;
    this.send();
    return !copying; // CopyDone ends it
  }

  drop() {
    this.#listener = null;
  }

  ready() {
    super.ready();
    this.scope.pipeline.leave(this.scope);
  }

  settle(error = this.error) {
    super.settle(error);
    if (this.state === State.Waiting) this.scope.pipeline.leave(this.scope);
  }
}

/** A stream of XLogData. The program confirms what it has processed. */
class Replication extends Readable {
  #quiet = 0; // intervals in which nothing was read, though it could have been
  #reads = 0;
  #request;
  #room = true;
  #scope;
  #soon; // the Immediate of a status update
  #statusInterval;
  #timer;

  constructor(client, text, { statusInterval, signal }) {
    super({ objectMode: true, highWaterMark: WAITING });
    /** @type {bigint} the highest position received */
    this.received = 0n;
    /** @type {bigint} the position up to which the server is told that everything was processed */
    this.confirmed = 0n;
    this.#statusInterval = statusInterval;
    const {
      [LEASE]: { pipeline, sendsIn }
    } = client;
    this.#scope = new Scope(pipeline, sendsIn, 'the replication');
    this.#request = new CopyBothRequest(text, {
      started: () => this.#started(),
      data: (buf, start, end, owned) => this.#receive(buf, start, end, owned)
    });
    if (signal !== undefined) addAbortSignal(signal, this);
    if (this.destroyed) return; // by the signal
    pipeline.enter(this.#scope);
    pipeline.submit(this.#request, this.#scope).then(
      () => {
        this.#stop();
        this.push(null);
      },
      error => this.destroy(error)
    );
  }

  /** Says that everything up to a position has been processed, so that the server need not send it again. */
  confirm(lsn) {
    const position = parseLsn(typeof lsn === 'bigint' ? formatLsn(lsn) : lsn);
    if (position <= this.confirmed) return;
    this.confirmed = position;
    this.#soon ??= setImmediate(() => this.#status());
  }

  #started() {
    this.#timer = setInterval(setImmediate, this.#statusInterval, () => this.#tick());
    this.emit('start');
  }

  /** Of a network that went dark, the system tells only after hours. */
  #tick() {
    if (this.#timer === undefined) return;
    const {
      pipeline: { events, reads }
    } = this.#scope;
    this.#quiet = this.#room && reads === this.#reads ? this.#quiet + 1 : 0;
    this.#reads = reads;
    if (this.#quiet < SILENT) this.#status(this.#quiet > 0);
    else events.lost(new ConnectionError(`the server was silent for ${SILENT * this.#statusInterval} ms`));
  }

  /** Sends a Standby status update: positions received, flushed and applied, the time, and whether to reply. */
  #status(reply = false) {
    this.#soon = clearImmediate(this.#soon);
    const status = Buffer.alloc(34);
    status[0] = STATUS_UPDATE;
    status.writeBigUInt64BE(this.received > this.confirmed ? this.received : this.confirmed, 1);
    status.writeBigUInt64BE(this.confirmed, 9);
    status.writeBigUInt64BE(this.confirmed, 17);
    writeNow(status, 25);
    status[33] = Number(reply);
    this.#request.send(status);
  }

  #receive(buf, start, end, owned) {
    const bytes = owned ? buf.subarray(start, end) : Buffer.from(buf.subarray(start, end));
    for (let off = 0, next; off < bytes.length; off = next) {
      next = off + 1 + bytes.readUInt32BE(off + 1);
      const type = bytes[off + 5];
      if (type === XLOG_DATA && next - off >= 30) {
        const lsn = bytes.readBigUInt64BE(off + 6); // 0n if the plugin gave none
        const walEnd = bytes.readBigUInt64BE(off + 14);
        if (lsn > this.received) this.received = lsn;
        this.#room = this.push({ lsn, walEnd, time: readTime(bytes, off + 22), data: bytes.subarray(off + 30, next) });
      } else if (type === KEEPALIVE && next - off === 23) {
        this.#keepalive(bytes.readBigUInt64BE(off + 6), bytes[off + 22] === 1);
      } else throw protocolError(`a replication message of type ${type} and ${next - off} bytes`);
    }
    if (!this.#room) this.#scope.pipeline.socket?.pause(this);
  }

  /** Takes a keepalive: the server has sent everything up to `lsn`. */
  #keepalive(lsn, reply) {
    // If everything received was processed, the server may also forget the changes in between, which are not published.
    if (this.confirmed >= this.received && lsn > this.confirmed) this.confirmed = lsn;
    if (lsn > this.received && this.confirmed >= lsn) this.received = lsn;
    if (reply) this.#status();
  }

  _read() {
    this.#room = true;
    this.#scope.pipeline.socket?.resume(this);
  }

  /** Ends the replication in good order, behind the last confirmation. */
  end() {
    const finish = () => {
      this.#status();
      this.#stop();
      this.#request.send();
    };
    if (this.#request.copying) finish();
    else this.once('start', finish);
  }

  #stop() {
    this.#timer = clearInterval(this.#timer);
    clearImmediate(this.#soon);
  }

  _destroy(error, callback) {
    if (this.#soon !== undefined) this.#status();
    this.#stop();
    giveUp(this.#request, error || new AbortError('the stream was destroyed'));
    this.#scope.pipeline.socket?.resume(this);
    callback(error);
  }
}

function checkInterval(time) {
  if (typeof time === 'number' && time > 0 && time <= 0x7fffffff) return;
  throw new TypeError(`statusInterval must be a number of milliseconds above 0, not ${String(time)}`);
}

/** Starts replication: see index.d.ts. */
function replicate(client, text, options = {}) {
  checkOptions(options, OPTIONS);
  const { statusInterval = STATUS_INTERVAL, signal } = options;
  if (!(client?.[LEASE] instanceof Scope)) throw new TypeError('replicate takes a Client');
  checkInterval(statusInterval);
  checkText(text, 'text');
  if (!LOGICAL.test(text)) throw new TypeError('replicate takes START_REPLICATION SLOT … LOGICAL …');
  return new Replication(client, text, { statusInterval, signal });
}

module.exports = { checkInterval, replicate };
