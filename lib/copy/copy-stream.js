'use strict';

const { Buffer, setImmediate } = require('#platform');
const { Readable, Writable, addAbortSignal } = require('#platform').stream;
const { canceller, checkSignal } = require('../query/abort');
const { CopyInRequest, reasonOf } = require('./copy-in');
const { AbortError, UsageError } = require('../protocol/errors');
const { StreamReceiver } = require('../stream/pass-through');
const { Payload } = require('../stream/values');
const { Scope } = require('../query/scope');
const { QueryRequest } = require('../query/query');
const { callerOf, showCaller } = require('../query/request');
const { RowReader } = require('../rows/result');
const { isPlainResponse } = require('../stream/target');
const { isCopyIn, isCopyOut } = require('../query/statements');

/** How many bytes of a COPY FROM STDIN may wait for the system to take them. */
const WAITING = 262144;

/** From so many on, data is not copied to be sent with what comes before it, but lent. */
const LENT = 8192;

/** How many are sent at a time. */
const PIECE = 65536;

/** After so many bytes others have their turn: where the system takes all at once, nothing would be read meanwhile. */
const TURN = 1 << 20;

/** Has a transaction know of a stream that is open in it. */
function enlist(session, stream) {
  const { _streams: streams } = session;
  if (streams === undefined) return;
  streams.add(stream);
  stream.once('close', () => streams.delete(stream));
}

/** Takes CopyData to a Readable. */
class CopyReceiver extends StreamReceiver {
  /** @param {CopyTo} stream */
  constructor(stream) {
    const sink = {
      write: (piece, ontaken) => stream._give(piece, ontaken),
      wait: callback => stream._onread(callback),
      get queued() { return stream.readableLength; },
      get returns() { return stream._lends; }
    };
    super(sink, new Payload(Buffer.alloc(0)));
    this.stream = stream;
    this.response = new RowReader();
  }

  start(rowParser, format, pipeline) {
    super.start(rowParser, format, pipeline);
    if (rowParser !== null) this.error = new UsageError('copyTo takes COPY … TO STDOUT', '42601');
  }

  receive(type, buf, start, end) {
    super.receive(type, buf, start, end);
    if (type !== 72) return;
    this.response.receive(type, buf, start, end);
    const { format, columnCount, columnFormats } = this.response;
    Object.assign(this.stream, { format, columnCount, columnFormats });
  }
}

/** What COPY … TO STDOUT gives, as a stream of bytes, in which rows may be split anywhere. */
class CopyTo extends Readable {
  /**
   * @param {Session} session
   * @param {string} text
   * @param {object} options `{ signal, highWaterMark }`
   * @throws {TypeError}
   */
  constructor(session, text, { signal, highWaterMark = PIECE } = {}) {
    if (!isCopyOut(text)) throw new TypeError('copyTo takes COPY … TO STDOUT');
    checkSignal(signal);
    super({ highWaterMark });
    /** @type {number|undefined} rows copied; set before the event 'end' */
    this.rowCount = undefined;
    /** @type {number|undefined} 0 text and CSV, 1 binary; set with the first bytes */
    this.format = undefined;
    this._waiting = undefined;
    this._pipedTo = undefined; // the HTTP response that is the only reader
    this._lent = []; // pieces whose memory comes back when the response has taken them
    const receiver = this._receiver = new CopyReceiver(this);
    const request = this._request = new QueryRequest(text, [], 0, false, undefined, receiver);
    request.caller = callerOf(CopyTo);
    request.fenced = true; // so that it can be cancelled
    this._abort = canceller(request, session._pipeline, () => session._cancel());
    if (signal !== undefined) addAbortSignal(signal, this); // before it is sent: it may have aborted
    session._submit(request).catch(() => {});
    enlist(session, this);
    request.promise.then(() => {
      this.rowCount = receiver.rowCount;
      this.push(null);
    }, error => this.destroy(error));
  }

  /** Bytes so far. */
  get bytes() { return this._receiver.bytes; }

  /** Nobody can be waited for who would read the rest. */
  giveUp(error) { if (!this._request.settled) this.destroy(error); }

  _give(piece, ontaken) {
    if (this._lent.length > 0) this._takeBack(this.bytes - piece.length);
    if (ontaken !== undefined) this._lent.push({ end: this.bytes, ontaken });
    return this.push(piece);
  }

  /** Of what has been pushed, the response has written all that is not in the stream any more. */
  _takeBack(pushed) {
    if (this._pipedTo.writableLength > 0) return;
    const taken = pushed - this.readableLength;
    while (this._lent.length > 0 && this._lent[0].end <= taken) this._lent.shift().ontaken();
  }

  /**
   * As any Readable's. Piped to an HTTP/1 response, and read by nobody else, the stream gets its memory back when
   * the response has written it: else it would be left to the garbage collector, which lets 32 MB pile up.
   */
  pipe(target, options) {
    if (this._pipedTo === undefined && this.listenerCount('data') === 0 && isPlainResponse(target)) {
      this._pipedTo = target;
      const ondrain = () => this._takeBack(this.bytes);
      const onunpipe = source => {
        if (source !== this) return;
        target.removeListener('drain', ondrain).removeListener('unpipe', onunpipe);
        this._pipedTo = undefined;
        this._lent = [];
      };
      target.on('drain', ondrain).on('unpipe', onunpipe);
    }
    return super.pipe(target, options);
  }

  /** Whether pieces come back. */
  get _lends() {
    return this._pipedTo !== undefined && this.listenerCount('data') === 1 && this.listenerCount('readable') === 0;
  }

  /** Calls back when more is wanted. */
  _onread(callback) { this._waiting = callback; }

  _read() {
    const callback = this._waiting;
    this._waiting = undefined;
    if (callback !== undefined) callback();
  }

  _destroy(error, callback) {
    this._abort(error || new AbortError('the stream was destroyed'));
    callback(error);
  }
}

/** Tells of its failure at once. */
class CopyFromRequest extends CopyInRequest {
  fail(error, pipeline) {
    super.fail(error, pipeline);
    this.onfail(showCaller(error, this.caller));
  }

  reject(error) {
    super.reject(error);
    this.onfail(error);
  }
}

/** What COPY … FROM STDIN takes, as a stream of bytes, in which rows may be split anywhere. */
class CopyFrom extends Writable {
  /**
   * @param {Session} session
   * @param {string} text
   * @param {object} options `{ signal, highWaterMark }`
   * @throws {TypeError}
   */
  constructor(session, text, { signal, highWaterMark = WAITING } = {}) {
    if (typeof text !== 'string' || !isCopyIn(text)) throw new TypeError('copyFrom takes COPY … FROM STDIN');
    checkSignal(signal);
    super({ highWaterMark });
    /** @type {number|undefined} rows copied; set before the event 'finish' */
    this.rowCount = undefined;
    /** Bytes so far. */
    this.bytes = 0;
    this._turned = 0; // bytes when others had their turn last
    this._pipeline = session._pipeline;
    const scope = new Scope(session._scope, 'a COPY FROM STDIN');
    const request = this._request = new CopyFromRequest(this._pipeline, scope, text, [], new RowReader());
    request.caller = callerOf(CopyFrom);
    request.onfail = error => this.destroy(error);
    this._abort = canceller(request, this._pipeline, () => session._cancel());
    if (signal !== undefined) addAbortSignal(signal, this); // before it is sent: it may have aborted
    this._pipeline.enter(scope);
    this._pipeline.submit(request, scope).catch(() => {});
    enlist(session, this);
    request.promise.then(() => {
      if (request.done && request.error === undefined) {
        this.destroy(new UsageError('copyFrom takes COPY … FROM STDIN', '42601'));
      }
    }, () => {});
  }

  /** Nobody can be waited for who would write the rest. */
  giveUp(error) { if (!this.writableEnded) this.destroy(error); }

  /** Calls back when the server takes data; not at all if it does not. */
  _start(callback) {
    if (this._request.copying) callback();
    else this._request.promise.then(callback, () => {});
  }

  _write(chunk, encoding, callback) { this._writev([{ chunk }], callback); }

  _writev(entries, callback) {
    const pieces = [];
    for (const { chunk } of entries) {
      if (chunk.length <= PIECE) pieces.push(chunk);
      else for (let off = 0; off < chunk.length; off += PIECE) pieces.push(chunk.subarray(off, off + PIECE));
    }
    this._start(() => this._send(pieces, 0, callback));
  }

  /** Sends what there is from an index on. */
  _send(pieces, index, callback) {
    const { _pipeline: pipeline, _request: request } = this;
    const { canWriteInPlace: tellsTaken } = pipeline.transport;
    for (; index < pieces.length; index++) {
      if (this.bytes - this._turned >= TURN) {
        this._turned = this.bytes;
        return void setImmediate(() => this._send(pieces, index, callback));
      }
      const piece = pieces[index];
      if (piece.length >= LENT && tellsTaken && request.copying) {
        let end = index;
        for (let size = 0; size < WAITING && end < pieces.length && pieces[end].length >= LENT; end++) {
          size += pieces[end].length;
          this.bytes += pieces[end].length;
        }
        return request.lend(pieces.slice(index, end), () => this._send(pieces, end, callback));
      }
      if (pipeline.bufferedBytes > WAITING && pipeline.needsDrain) {
        return pipeline.whenDrained(() => this._send(pieces, index, callback));
      }
      request.data(piece);
      this.bytes += piece.length;
    }
    callback();
  }

  _final(callback) {
    this._start(() => {
      const { _request: request } = this;
      const ended = request.end(new RowReader());
      request.finish.caller = request.caller;
      ended.then(({ rowCount }) => {
        this.rowCount = rowCount;
        callback();
      }, callback);
    });
  }

  _destroy(error, callback) {
    const { _request: request } = this;
    const reason = error || new AbortError('the stream was destroyed');
    // CopyFail ends a COPY that takes data; else it takes more.
    if (request.copying) request.end(new RowReader(), reasonOf(reason)).catch(() => {});
    else this._abort(reason);
    callback(error);
  }
}

module.exports = { CopyTo, CopyFrom };
