'use strict';

const { Buffer, setImmediate, clearImmediate } = require('#platform');
const { Duplex, addAbortSignal } = require('#platform').stream;
const { canceller, checkSignal } = require('../query/abort');
const { AbortError, UsageError, protocolError } = require('../protocol/errors');
const { Scope } = require('../query/scope');
const { Request, describeType } = require('../query/request');
const { int32 } = require('../rows/row-parser');
const { parseLsn, readTime, writeNow } = require('./wal');
const { checkText } = require('../protocol/writer');

/** How often the server is told what was received and confirmed, if there is nothing new, in milliseconds. */
const STATUS_INTERVAL = 10000;

/** Messages that may wait to be read. */
const WAITING = 1024;

/** A piece of the write-ahead log, or of what an output plugin makes of it. */
class XLogData {
  constructor(buf, start, end) {
    this._buf = buf;
    this._start = start;
    /** @type {Buffer} what the plugin gave: of pgoutput, one message */
    this.data = buf.subarray(start + 30, end);
  }

  /** @type {bigint} the position; 0n where the plugin gave none */
  get lsn() { return this._buf.readBigUInt64BE(this._start + 6); }
  /** @type {bigint} the end of the server's log when it was sent */
  get walEnd() { return this._buf.readBigUInt64BE(this._start + 14); }
  /** @type {Date} when it was sent */
  get time() { return readTime(this._buf, this._start + 22); }
}

/**
 * START_REPLICATION: a command of the simple query protocol, after which both sides send CopyData. It owns the
 * connection until it is over.
 * https://www.postgresql.org/docs/current/protocol-replication.html
 */
class CopyBothRequest extends Request {
  /**
   * @param {Pipeline} pipeline
   * @param {Scope} scope of its own
   * @param {string} text
   * @param {CopyBoth} stream
   */
  constructor(pipeline, scope, text, stream) {
    super();
    checkText(text, 'text');
    this.pipeline = pipeline;
    this.scope = scope;
    this.text = text;
    this.stream = stream;
    /** Whether data is coming. */
    this.copying = false;
    this._ended = false;
  }

  encode(writer) { writer.query(this.text); }

  message(pipeline, type, buf, start, end) {
    switch (type) {
      case 87: // W CopyBothResponse
        if (this.copying || this.done) break;
        this.copying = true;
        if (this.stream !== undefined) this.stream._started();
        else this.end();
        return;
      case 100: // d CopyData
        if (this.copying && this.stream !== undefined) this.stream._receive(buf, start, end, pipeline.reader.owned);
        return;
      case 99: // c CopyDone
        return this.end();
      case 67: case 73: // C CommandComplete, I EmptyQueryResponse
        // Neither side has sent CopyDone: the server goes down, or streams no second time on one connection.
        if (this.copying && !this._ended) {
          this.error = new UsageError('the server ended the replication; it takes a new connection', '55000');
        }
        this.done = this._ended = true;
        return;
      case 71: // G CopyInResponse
        pipeline.writer.copyFail('copyBoth takes START_REPLICATION');
        return pipeline.scheduleFlush();
      case 84: case 68: case 72: // T D RowDescription, DataRow: the next timeline; H CopyOutResponse
        return;
      case 69: // E ErrorResponse
        return super.message(pipeline, type, buf, start, end);
    }
    throw protocolError(`unexpected message of type ${describeType(type)} in replication`);
  }

  /** Sends data. */
  data(data) {
    if (!this.copying || this._ended) return;
    this.pipeline.writer.message(100, data);
    this.pipeline.scheduleFlush();
  }

  /** Ends the data of this side. */
  end() {
    if (!this.copying || this._ended) return;
    this._ended = true;
    this.pipeline.writer.copyDone();
    this.pipeline.scheduleFlush();
  }

  abort(error, pipeline) {
    const { copying } = this;
    if (!super.abort(error, pipeline)) return false;
    this.end();
    return !copying; // CopyDone ends it
  }

  discard() { this.stream = undefined; }

  ready(pipeline) {
    if (this.error === undefined && !this.copying) {
      this.error = new UsageError('copyBoth takes START_REPLICATION', '42601');
    }
    super.ready(pipeline);
    pipeline.leave(this.scope);
  }

  reject(error) {
    super.reject(error);
    if (!this.sent) this.pipeline.leave(this.scope);
  }
}

/**
 * A replication stream. It gives XLogData, in object mode; it takes the positions up to which the program has
 * processed what it got, by `confirm` or by being written to.
 */
class CopyBoth extends Duplex {
  /**
   * @param {Session} session
   * @param {string} text
   * @param {object} options `{ statusInterval, signal }`
   * @throws {TypeError}
   */
  constructor(session, text, { statusInterval = STATUS_INTERVAL, signal } = {}) {
    if (!(statusInterval > 0 && statusInterval <= 0x7fffffff)) {
      throw new TypeError(`statusInterval must be a number of milliseconds above 0, not ${statusInterval}`);
    }
    checkSignal(signal);
    super({ objectMode: true, readableHighWaterMark: WAITING });
    /** @type {bigint} highest position that has come */
    this.received = 0n;
    /** @type {bigint} position up to which everything has been processed, as the server is told */
    this.confirmed = 0n;
    this._statusInterval = statusInterval;
    this._timer = undefined;
    this._soon = undefined;
    const pipeline = this._pipeline = session._pipeline;
    const scope = new Scope(session._scope, 'replication');
    const request = this._request = new CopyBothRequest(pipeline, scope, text, this);
    this._abort = canceller(request, pipeline, () => session._cancel());
    if (signal !== undefined) addAbortSignal(signal, this); // before it is sent: it may have aborted
    pipeline.enter(scope);
    pipeline.submit(request, scope).catch(() => {});
    request.promise.then(() => {
      this._stop();
      this.push(null);
      if (!this.writableEnded) this.end();
    }, error => this.destroy(error));
  }

  /**
   * Says that everything up to a position has been processed: the server need not send it again. Of pgoutput, it
   * is the `endLsn` of a Commit.
   * @param {bigint|string} lsn
   * @throws {TypeError}
   */
  confirm(lsn) {
    const position = typeof lsn === 'bigint' ? lsn : parseLsn(lsn);
    if (position <= this.confirmed) return;
    this.confirmed = position;
    if (this._soon === undefined) this._soon = setImmediate(() => this._status());
  }

  _started() {
    this._timer = setInterval(() => this._status(), this._statusInterval);
    this.emit('start');
  }

  /** Standby status update: received, flushed and applied positions, the time, no reply wanted. */
  _status() {
    clearImmediate(this._soon);
    this._soon = undefined;
    const status = Buffer.alloc(34);
    status[0] = 114; // r
    status.writeBigUInt64BE(this.received > this.confirmed ? this.received : this.confirmed, 1);
    status.writeBigUInt64BE(this.confirmed, 9);
    status.writeBigUInt64BE(this.confirmed, 17);
    writeNow(status, 25);
    this._request.data(status);
  }

  /** Takes CopyData messages in buf[start … end). */
  _receive(buf, start, end, owned) {
    if (!owned) {
      buf = Buffer.from(buf.subarray(start, end));
      end -= start;
      start = 0;
    }
    let room = true;
    while (start < end) {
      const next = start + 1 + int32(buf, start + 1);
      const type = next - start > 5 ? buf[start + 5] : 0;
      if (type === 119 && next - start >= 30) room = this._data(new XLogData(buf, start, next));
      else if (type === 107 && next - start === 23) this._keepalive(buf.readBigUInt64BE(start + 6), buf[start + 22] === 1);
      else throw protocolError(`replication message of type ${describeType(type)} and ${next - start} bytes`);
      start = next;
    }
    if (!room) this._pipeline.pause(this);
  }

  _data(message) {
    const { lsn } = message;
    if (lsn > this.received) this.received = lsn;
    return this.push(message);
  }

  /** The server has nothing to send up to a position. */
  _keepalive(lsn, reply) {
    // Where all that came was processed, so is what did not concern us: the server can let go of its log.
    if (this.confirmed >= this.received && lsn > this.confirmed) this.confirmed = lsn;
    if (lsn > this.received && this.confirmed >= lsn) this.received = lsn;
    if (reply) this._status();
  }

  _read() { this._pipeline.resume(this); }

  _write(lsn, encoding, callback) {
    try {
      this.confirm(lsn);
      callback();
    } catch (error) {
      callback(error);
    }
  }

  _final(callback) {
    const finish = () => {
      this._status();
      this._stop();
      this._request.end();
    };
    if (this._request.copying) finish();
    else this.once('start', finish);
    callback();
  }

  _stop() {
    clearInterval(this._timer);
    clearImmediate(this._soon);
  }

  _destroy(error, callback) {
    if (this._soon !== undefined) this._status();
    this._stop();
    this._abort(error || new AbortError('the stream was destroyed'));
    this._pipeline.resume(this);
    callback(error);
  }
}

module.exports = { CopyBoth, XLogData };
