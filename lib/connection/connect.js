'use strict';

const { Buffer } = require('#platform');
const { Attempt, CONNECTING, HANDSHAKE } = require('./attempt');
const { Authenticator } = require('./auth');
const { sendCancel } = require('./cancel');
const { dial } = require('./dial');
const { ConnectionError, PostgresError } = require('../protocol/errors');
const { lookup } = require('../config/passfile');
const { FrameReader } = require('../protocol/reader');
const { Startup } = require('./startup');
const { inOrder, nameOf, targets } = require('./targets');
const { endPoint } = require('./tls');

const VERSION_3_0 = 0x30000;

/** What each sslmode tries, in this order; `try` takes no for an answer. */
const ENCRYPT = { disable: ['no'], allow: ['no', 'must'], prefer: ['try', 'no'] };

/*
 * What was found out about a server that is less than usual, so that the next connection need not find it out
 * again: an old pooler does not negotiate the protocol version, another has no channel binding.
 */
const MAX_LESSONS = 1000;
const lessons = new Map();

/** SQLSTATEs by which a server says that it does not know the protocol version. */
const NO_SUCH_PROTOCOL = ['08P01', '0A000'];

/** Codes of a connection that the server has ended without a word. */
const HUNG_UP = ['08006', 'ECONNRESET', 'EPIPE'];

/**
 * Connects to the first of the configured hosts that gives the session that is wanted.
 *
 * @param {object} config as `resolve()` of config.js gives it
 * @param {object} hooks
 * @param {function(): (Buffer|null)} hooks.flight the requests that wait in the client, encoded; called at
 *   most once, when they can ride with the last message of authentication
 * @param {function(object): void} hooks.ready called in the handling of the first ReadyForQuery, with the
 *   session `{ transport, reader, parameters, where, host, port, backendKey, processId, protocolVersion, transactionStatus,
 *   encrypted, cancel }`; frames after it go to whatever is `reader.handler` then
 * @param {function(object): void} hooks.notice fields of a NoticeResponse
 * @param {AbortSignal} [signal] ends connecting
 * @returns {Promise<void>} resolves after `ready`
 * @throws {PostgresError|ConnectionError|AggregateError} an AggregateError when there was more
 *   than one place to try and none would do
 */
async function connect(config, hooks, signal) {
  let flight;
  const once = { ...hooks, flight: () => flight ??= Buffer.from(hooks.flight?.() ?? '') };
  const { target_session_attrs: attrs } = config;
  const wishes = attrs === 'prefer-standby' ? ['standby', 'any'] : [attrs];
  let failures;
  for (const wanted of wishes) {
    failures = [];
    for (const entry of inOrder(config, config.hosts)) {
      const password = lazyPassword(config, entry);
      for (const target of await places(config, entry, signal, failures)) {
        const { error, final } = await connectTo(config, { target, wanted, password }, once, signal);
        if (error === undefined) return;
        if (final) throw error;
        failures.push({ where: target.where, error });
      }
    }
  }
  if (failures.length === 1) throw failures[0].error;
  throw together(failures);
}

/**
 * @returns {Promise<object[]>} the targets of a host; none when its name has no address, which is a failure
 * @throws {ConnectionError} when connecting was aborted
 */
async function places(config, entry, signal, failures) {
  const attempt = new Attempt(nameOf(entry), { seconds: config.connect_timeout, signal });
  try {
    return await targets(config, entry, attempt);
  } catch (cause) {
    const error = attempt.fail(cause);
    if (signal?.aborted) throw error;
    failures.push({ where: nameOf(entry), error });
    return [];
  } finally {
    attempt.release();
  }
}

/** @returns {AggregateError} all that went wrong; its code is the last one's */
function together(failures) {
  const list = failures.map(({ where, error }) => {
    return error.message.startsWith(where) ? error.message : `${where}: ${error.message}`;
  });
  const errors = failures.map(({ error }) => error);
  const all = new AggregateError(errors, `no connection could be made: ${list.join('; ')}`);
  all.code = errors[errors.length - 1].code;
  return all;
}

/**
 * Makes a function that gets the password for a host, once.
 * @returns {function(): Promise<string|undefined>}
 */
function lazyPassword(config, { host, hostaddr, port }) {
  const { user, database, password, passfile, require_auth: { allowed } } = config;
  const whom = { host: host ?? hostaddr, port, user, database };
  const get = async () => {
    if (allowed.size === 1 && allowed.has('none')) return undefined;
    if (typeof password !== 'function') return password ?? lookup(passfile, whom);
    let given;
    try {
      given = await password(whom);
    } catch (cause) {
      const why = cause?.message ?? cause;
      throw new ConnectionError(`the password function failed: ${why}`, { code: '28000', cause });
    }
    if (given === undefined || given === null) return undefined;
    if (typeof given === 'string' && !given.includes('\0')) return given;
    throw new ConnectionError('the password function gave no string', { code: '28000' });
  };
  let promise;
  return () => promise ??= get();
}

/**
 * Connects to one target, in as many ways as the configuration allows and its answers suggest.
 * @returns {Promise<{error: Error|undefined, final: boolean}>} final: no other place is to be tried
 */
async function connectTo(config, { target, wanted, password }, hooks, signal) {
  const ways = ENCRYPT[target.sslmode] ?? ['must'];
  let way = 0;
  // Where a socket of the caller's leads is his to know.
  const known = config.socket ? undefined : lessons.get(target.where);
  let { version, early } = known ?? { version: config.max_protocol_version, early: true };
  version = Math.max(Math.min(version, config.max_protocol_version), config.min_protocol_version);
  const begun = performance.now();
  const learn = () => {
    if (config.socket) return;
    if (lessons.size >= MAX_LESSONS) lessons.clear();
    lessons.set(target.where, { version, early });
  };
  for (;;) {
    const attempt = new Attempt(target.where, { seconds: config.connect_timeout, begun, signal });
    // What became of the attempt, for choosing the next one.
    const state = { auth: null, startup: null };
    try {
      const plan = { target, wanted, password, encrypt: ways[way], version, early };
      await open(config, plan, attempt, state, hooks);
      return {};
    } catch (failure) {
      const error = attempt.fail(failure);
      const { auth, startup } = state;
      if (signal?.aborted || attempt.expired) return { error, final: signal?.aborted || startup?.flown };
      // Requests that may have been carried out are not sent again.
      const mayRepeat = !startup?.flown || (error instanceof PostgresError && !auth.done);
      if (mayRepeat && auth?.unbound && early) {
        early = false;
        learn();
      } else if (mayRepeat && refusedVersion(error, startup) && config.min_protocol_version === VERSION_3_0) {
        version = VERSION_3_0;
        learn();
      } else if (mayRepeat && ways.length > way + 1 && otherWay(ways[way], error, attempt, state)) {
        way++;
      } else {
        return { error, final: !mayRepeat || startup?.flown || !mayMoveOn(error, attempt) };
      }
    }
  }
}

/** Whether a server that was asked for protocol 3.2 does not know that there are minor versions. */
function refusedVersion(error, startup) {
  if (!startup || startup.requested === VERSION_3_0) return false;
  if (error instanceof PostgresError) return startup.first && NO_SUCH_PROTOCOL.includes(error.code);
  return !startup.answered && HUNG_UP.includes(error.code);
}

/** Whether to try once more with TLS (sslmode allow) or without (prefer). */
function otherWay(way, error, attempt, { auth }) {
  if (way === 'no') return error.code === '28000';
  if (auth === null) return attempt.doing === HANDSHAKE;
  // A password that was given away under TLS does not go again without.
  return auth.encrypted && !auth.answered && error instanceof PostgresError && error.code === '28000';
}

/** Whether another place may do better: libpq's rules, and servers that close the connection or time out. */
function mayMoveOn(error, attempt) {
  if (error instanceof PostgresError) return error.code === '57P03';
  return error.code === '08001' || HUNG_UP.includes(error.code) || attempt.doing === CONNECTING;
}

/** Makes one connection. */
async function open(config, plan, attempt, state, hooks) {
  const { target, wanted, password, encrypt, version, early } = plan;
  // It may take a while, and the other steps need not wait for it.
  const secret = password();
  secret.catch(error => attempt.fail(error));
  const socket = await dial(config, target, attempt, encrypt);
  const given = await attempt.wait(resolve => secret.then(resolve, () => {}));
  const over = attempt.stream;
  const auth = state.auth = new Authenticator(config, {
    password: given,
    encrypted: socket !== null || over?.encrypted === true,
    local: target.local || over?.local === true,
    binding: socket === null || config.channel_binding === 'disable' ? null : endPoint(socket)
  });
  const startup = state.startup = new Startup({
    config, wanted, attempt, auth, early, version,
    flight: hooks.flight,
    notice: fields => hooks.notice?.(fields)
  });
  const reader = new FrameReader(startup);
  await startup.run(reader, () => {
    attempt.release();
    const { backendKey } = startup;
    hooks.ready({
      transport: attempt.transport,
      reader,
      parameters: startup.parameters,
      where: target.where,
      host: target.address?.path ?? target.host ?? target.hostaddr,
      port: target.address?.path === undefined ? target.port : undefined,
      backendKey,
      processId: backendKey?.readInt32BE(0),
      protocolVersion: startup.version,
      transactionStatus: 'I',
      encrypted: socket !== null,
      cancel: signal => sendCancel(config, target, socket !== null, backendKey, signal)
    });
  });
}

module.exports = { connect };
