'use strict';

const { Buffer } = require('#platform');
const { createHash } = require('#platform').crypto;
const { canceller, makeAbortable } = require('../query/abort');
const { loadDecoders } = require('../rows/decode');
const { ConnectionError, UsageError } = require('../protocol/errors');
const { Recorder, TOO_LARGE } = require('./cached-answer');
const { StreamReceiver, receiverFor } = require('../stream/pass-through');
const { finish, finishFailed, payloadOf, queryToSink } = require('../stream/query-to');
const { QueryRequest } = require('../query/query');
const { ResponseCache } = require('./response-cache');
const { BLOCK, contains, effectOf } = require('../query/settings');
const { withoutComments } = require('../query/statements');
const { MessageWriter, checkText, checkValues } = require('../protocol/writer');

/** So many waiting requests are looked at; behind more, the cache is not used. */
const MOST_WAITING = 256;
/** A writer that has grown beyond is not kept, in bytes. */
const LARGE = 1 << 20;

/** FOR UPDATE and its like wait for others. */
const LOCKING = /\bfor\s+(?:no\s+key\s+update|update|(?:key\s+)?share)\b/i;

const NO_NAMES = Buffer.alloc(0);
let writer = new MessageWriter();

/** What is known of each connection, by its pipeline. */
const connections = new WeakMap();
/** Numbers of the caller's own sockets and functions that give them. */
const sockets = new WeakMap();
let numbers = 0;

/** What a connection was made to and with, as text. */
function placeOf({ config: { user, database, parameters, socket }, where }) {
  const { application_name: ignored, ...others } = parameters;
  if (socket !== undefined && !sockets.has(socket)) sockets.set(socket, ++numbers);
  return JSON.stringify([where, user, database, others, socket && sockets.get(socket)]);
}

/**
 * Where answers come from: the server, the database, the user and the settings. A setting that the server
 * does not report has the value that the connection began with, unless something was sent that may have
 * changed it: from then on, the connection shares no answers with others, nor with its own past.
 * @param {Client} client that is connected
 * @returns {{hash: string, after: Request|null}} hash of all that
 */
function originOf(client) {
  const { _pipeline: pipeline, serverParameters: parameters } = client;
  let known = connections.get(pipeline);
  if (known === undefined) {
    known = { place: placeOf(pipeline.made), epoch: 0, text: '', hash: '', after: null };
    connections.set(pipeline, known);
  }
  const { effects } = pipeline.statements;
  if (effects !== null) {
    const reported = new Set(Object.keys(parameters).map(name => name.toLowerCase()));
    for (const effect of effects) if (effect !== BLOCK && !reported.has(effect)) known.epoch = ++numbers;
    pipeline.statements.effects = null;
    known.after = pipeline.tail;
  }
  let text = `${known.epoch}`;
  for (const name in parameters) if (name !== 'application_name') text += `\0${name}\0${parameters[name]}`;
  if (text !== known.text) {
    known.text = text;
    known.hash = createHash('sha256').update(known.place).update(text).digest('base64url');
  }
  return known;
}

/**
 * The origin of the answer to a query that is sent now.
 * @param {Session} session
 * @returns {string|undefined} undefined where it is not known, or inside a transaction block
 */
function originNow(session) {
  const { _pipeline: pipeline, state } = session;
  const { root } = pipeline;
  if (session._scope !== root || state !== 'open') return undefined;
  if (pipeline.owner !== root || pipeline.status !== 'I') return undefined;
  if (pipeline._again.length > 0 || pipeline._waiting.length > 0) return undefined;
  let count = 0;
  for (let entry = root.first; entry !== null; entry = entry.next) {
    if (!(entry instanceof QueryRequest) || effectOf(entry.text) !== undefined) return undefined;
    if (++count > MOST_WAITING) return undefined;
  }
  // What is there called by one name is another table on each connection.
  const { search_path: path = pipeline.made.config.parameters.search_path } = session.serverParameters;
  if (/pg_temp/i.test(path)) return undefined;
  const known = originOf(session);
  // What may have changed them has been answered when the last request sent then has left the queue.
  if (known.after !== null && known.after.next === null && pipeline.tail !== known.after) known.after = null;
  return known.after === null ? known.hash : undefined;
}

/** Whether a text only reads, as far as one can see. */
function isRead(text) {
  if (effectOf(text) !== undefined || contains(text, LOCKING)) return false;
  const statement = /^\s*(?:--|\/\*)/.test(text) ? withoutComments(text) : text;
  if (/^[\s(]*(?:select|table|values)\b/i.test(statement)) return true;
  return /^[\s(]*with\b/i.test(statement) && !/\b(?:insert|update|delete|merge)\b/i.test(statement);
}

/** The key of an answer: everything that it depends on, and how it is to be kept. */
function makeKey(origin, text, values, { format = 0, paramTypes = [] }, { tags, maxAge, stale }) {
  checkValues(values);
  writer.length = 0;
  writer.bind(NO_NAMES, values, format);
  const bind = writer.buffer.latin1Slice(5, writer.length);
  if (writer.buffer.length > LARGE) writer = new MessageWriter();
  const how = JSON.stringify([maxAge, stale, paramTypes, tags]);
  return `${origin}${how}${text}\0${bind}`;
}

/**
 * The key of an answer, for `cache.invalidate`.
 * @param {ResponseCache} cache
 * @param {Client} client
 * @param {string} text
 * @param {Array|Row} [values=[]]
 * @param {object} [options] as of the query
 * @returns {string|undefined} undefined while the client is not connected
 * @throws {TypeError|RangeError} as the query would
 */
function keyOf(cache, client, text, values = [], options = {}) {
  checkText(text, 'text');
  if (client._pipeline.made === undefined) return undefined;
  return makeKey(originOf(client).hash, text, values, options, cache.settings(options));
}

/** Runs the query for all who wait for its answer; it goes on when they do not wait any more. */
function fetch(session, origin, text, values, { format = 0, cache = true, paramTypes }, limit) {
  const { _pipeline: pipeline } = session;
  let large = false;
  const recorder = new Recorder(limit, () => {
    large = true;
    abort(new UsageError('the answer is too long to be kept', '54000'));
  });
  const request = new QueryRequest(text, values, format, cache, paramTypes, recorder);
  const abort = canceller(request, pipeline, () => session._cancel());
  const isSame = () => session._pipeline === pipeline && originOf(session).hash === origin;
  return pipeline.submit(request, session._scope).then(() => recorder.answer(isSame), error => {
    if (large) return TOO_LARGE;
    throw error;
  });
}

/** Whether an error is of one who waits for another connection's query: he can still ask by himself. */
function isOthers(error) {
  return error instanceof ConnectionError || error.code === '57014';
}

/**
 * Finds the answer to a query.
 * @returns {Answer|Promise<Answer|undefined>|undefined} undefined where the query is to be run by itself
 * @throws {TypeError|RangeError} for options, text or values that are wrong
 */
function find(session, text, values, options) {
  const { response_cache: cache } = options;
  if (!(cache instanceof ResponseCache)) throw new TypeError('response_cache must be a ResponseCache');
  const settings = cache.settings(options);
  checkText(text, 'text');
  const origin = isRead(text) ? originNow(session) : undefined;
  if (origin === undefined) return undefined;
  const key = makeKey(origin, text, values, options, settings);
  const limit = Math.min(cache.max_answer_bytes, cache.max_bytes);
  const ask = () => fetch(session, origin, text, values, options, limit);
  const found = cache.take(key, settings, ask, session);
  if (found.promise === undefined) return found.large ? undefined : found;
  return found.promise.then(answer => answer.large ? undefined : answer, error => {
    if (found.who !== session && isOthers(error)) return undefined;
    throw error;
  });
}

/** One who waits, until his signal aborts or his time is over; the query he waits for goes on. */
class Waiter {
  constructor(options) {
    this.settled = new Promise((resolve, reject) => { this._reject = reject; });
    this.settled.catch(() => {});
    makeAbortable(this, undefined, options);
  }

  abort(error) {
    this._reject(error);
    return false;
  }

  /** @returns {Promise} of the same; rejects when it is given up */
  until(promise) { return Promise.race([this.settled, promise]); }

  over() { if (this.onsettled !== undefined) this.onsettled(); }
}

/** An answer, or the promise of one, as long as he who asks waits for it. */
function awaited(found, options) {
  if (options.signal === undefined && options.statement_timeout === undefined) return Promise.resolve(found);
  const waiter = new Waiter(options);
  return waiter.until(found).finally(() => waiter.over());
}

/** What is left of the options for a query that is run by itself. */
const without = options => ({ ...options, response_cache: undefined });

/**
 * `query` with the option `response_cache`.
 * @param {Client|Session} session
 * @param {object} options see Session.query
 * @returns {Promise<RowReader>}
 * @throws {TypeError|RangeError}
 */
function cachedQuery(session, text, values, options) {
  const { stream, decode } = options;
  const receiver = receiverFor(stream);
  if (receiver instanceof StreamReceiver) throw new TypeError('a stream gets a cached answer with queryTo');
  const found = find(session, text, values, options);
  if (found === undefined) return session.query(text, values, without(options));
  const promise = awaited(found, options).then(answer => {
    if (answer === undefined) return session.query(text, values, without(options));
    answer.replay(receiver, stream === undefined);
    if (receiver.error !== undefined) throw receiver.error;
    return receiver.target || receiver;
  });
  return decode ? loadDecoders(receiver, decode, promise) : promise;
}

/** Writes an answer to a sink that is watched. */
async function write(sink, answer, payload, waiter, options, state) {
  let last;
  // Where others than the system read the memory, they might write to it.
  const own = piece => sink.returns ? piece : Buffer.from(piece);
  for (const piece of answer.pieces(payload)) {
    if (last !== undefined) {
      state.bytes += last.length;
      if (sink.write(own(last)) === false) await waiter.until(new Promise(resolve => sink.wait(resolve)));
    }
    last = piece;
  }
  if (last !== undefined) {
    state.bytes += last.length;
    last = own(last);
  }
  return finish(sink, options, last, answer.rowCount);
}

/** Waits for the answer and passes it on. */
async function pass(session, sink, text, values, options, found, waiter, payload) {
  const state = { bytes: 0, payload, inRow: false, take() {} };
  let plain = false;
  try {
    const answer = await waiter.until(found);
    if (answer === undefined) plain = true;
    else if (sink.gone) throw sink.error;
    else {
      sink.watch(error => waiter.abort(error));
      if (sink.onanswer !== undefined && sink.onanswer(answer)) await finish(sink, options, undefined, answer.rowCount);
      else await write(sink, answer, payload, waiter, options, state);
      return { cmd: answer.cmd, rowCount: answer.rowCount, bytes: state.bytes };
    }
  } catch (error) {
    await finishFailed(sink, state, options, error).catch(() => {});
    throw error;
  } finally {
    waiter.over();
    if (!plain) sink.release();
  }
  return queryToSink(session, sink, text, values, without(options));
}

/**
 * `queryTo` and `respond` with the option `response_cache`.
 * @param {Session} session
 * @param {Sink} sink may have `onanswer(answer)`, which returns true where the answer need not be written
 * @param {object} options see Session.queryTo
 * @returns {Promise<{cmd: string, rowCount: number, bytes: number}>}
 * @throws {TypeError|RangeError}
 */
function cachedToSink(session, sink, text, values, options) {
  let found, waiter, payload;
  try {
    payload = payloadOf(options);
    waiter = new Waiter(options);
    found = find(session, text, values, options);
  } catch (error) {
    if (waiter !== undefined) waiter.over();
    sink.release();
    throw error;
  }
  if (found !== undefined) return pass(session, sink, text, values, options, found, waiter, payload);
  waiter.over();
  return queryToSink(session, sink, text, values, without(options));
}

module.exports = { cachedQuery, cachedToSink, keyOf };
