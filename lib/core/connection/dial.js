'use strict';

const net = require('node:net');
const { failed, REASON, STEP } = require('./attempt');
const { late } = require('../late');
const { ConnectionError, TimeoutError, frame, kindOf, protocolError } = require('../protocol');
const { Socket } = require('./socket');

const later = late({ tls: () => require('node:tls'), tlsOptions: () => require('./tls').tlsOptions });

const SSL_REQUEST = 80877103;
const YES = 83; // S
const NO = 78; // N

/** Milliseconds in which one of several addresses has to accept; Node.js has a setting for it. */
const QUICK = 250;

/** Deno (2.9) never completes a TLS handshake on a socket with `onread`. */
const isDeno = process.versions?.deno !== undefined;

/**
 * Opens a stream to a server (TCP, a Unix socket or the caller's own), and TLS on it if wanted. The attempt then has
 * the Socket; with TLS, the Socket's stream is another than the attempt's.
 * @param {object} server see `serversOf`
 * @param {string} sslmode of this attempt; with 'prefer' it continues without TLS if the server has none
 */
async function dial(config, server, attempt, sslmode) {
  attempt.doing = STEP.TLS_SETUP;
  // A socket function with the property `encrypts` does TLS itself, according to sslmode.
  const options = sslmode === 'disable' || config.socket?.encrypts ? null : later.tlsOptions(config, server);
  attempt.doing = STEP.CONNECT;
  if (config.socket) await takeStream(config, server, attempt, sslmode);
  else await openStream(config, server, attempt, options === null || !isDeno);
  if (options === null) return;
  const direct = config.sslnegotiation === 'direct';
  if (!direct && !(await requestTls(attempt, sslmode === 'prefer', config.ssl ? 'ssl' : `sslmode=${server.sslmode}`)))
    return;
  attempt.socket.detach();
  if (attempt.unread.length > 0) throw protocolError('unencrypted bytes before TLS, maybe an attack');
  const secure = later.tls.connect({ ...options, socket: attempt.stream });
  attempt.socket = new Socket(attempt.listener);
  attempt.socket.attach(secure);
  // Servers before PostgreSQL 17 and many poolers hang up here.
  attempt.doing = direct ? STEP.DIRECT_TLS : STEP.TLS;
  attempt.encrypted = true;
  try {
    await attempt.wait(resolve => secure.once('secureConnect', resolve));
  } catch (error) {
    if (!(error instanceof TimeoutError)) attempt.reason = REASON.BROKEN;
    throw error;
  }
  if (direct && secure.alpnProtocol !== options.ALPNProtocols[0]) {
    throw protocolError('the server did not agree on the protocol "postgresql" (ALPN)');
  }
}

function openStream({ keepalives, keepalives_idle: idle }, { address }, attempt, inPlace) {
  attempt.socket = new Socket(attempt.listener);
  const onread = inPlace ? attempt.socket.onread : undefined;
  const options = { ...address, noDelay: true, keepAlive: keepalives, keepAliveInitialDelay: idle * 1000, onread };
  attempt.socket.attach((attempt.stream = net.connect(options)));
  const { stream } = attempt;
  const connected = attempt.wait(resolve => stream.once('connect', resolve));
  if (!attempt.quick) return connected;
  const expire = () => stream.destroy(new TimeoutError('the address did not accept', { code: 'ETIMEDOUT' }));
  const timer = setTimeout(expire, net.getDefaultAutoSelectFamilyAttemptTimeout?.() ?? QUICK);
  return connected.finally(() => clearTimeout(timer));
}

/** Takes the caller's Duplex; closes one that comes too late. */
async function takeStream({ socket, sslrootcert, sslcert }, { host, hostaddr, port }, attempt, sslmode) {
  const get = typeof socket === 'function' ? socket : () => socket;
  const given = ask('socket', get, { host: host ?? hostaddr, port, sslmode, sslrootcert, sslcert });
  given.then(
    stream => {
      if (attempt.released) stream?.destroy?.();
    },
    () => {}
  );
  const stream = await attempt.wait(given);
  if (typeof stream?.write !== 'function' || typeof stream.on !== 'function') {
    throw failed(`the socket function gave ${kindOf(stream)}: return a Duplex stream`);
  }
  if (stream.destroyed) throw new ConnectionError('the socket is closed already', { code: '08003' });
  attempt.stream = stream;
  attempt.socket = new Socket(attempt.listener);
  attempt.socket.attach(stream);
  stream.setNoDelay?.(true);
  if (stream.connecting) await attempt.wait(resolve => stream.once('connect', resolve));
}

/** @returns {Promise<*>} the result of a config's function; rejects with an Error, whatever the function throws */
const ask = (name, get, whom) =>
  Promise.resolve(whom)
    .then(get)
    .catch(error => {
      throw error instanceof Error ? error : failed(`the ${name} function threw ${kindOf(error)} instead of an Error`);
    });

/**
 * Sends an SSLRequest. The answer must be one byte: bytes behind it would be read as if they had come through TLS
 * (CVE-2021-23222).
 * @param {boolean} isOptional whether the server may refuse
 * @param {string} option that demands it
 * @returns {Promise<boolean>} whether to do TLS
 */
async function requestTls(attempt, isOptional, option) {
  attempt.doing = STEP.TLS_REQUEST;
  attempt.socket.stream.write(frame(null, SSL_REQUEST));
  await attempt.more();
  const { unread } = attempt;
  const [answer] = unread;
  // The error does not repeat the bytes, since their sender is unknown (CVE-2024-10977).
  if (answer !== YES && answer !== NO)
    throw protocolError(`the server answered SSLRequest with byte ${answer}, neither S nor N`);
  if (unread.length > 1) throw protocolError('unencrypted bytes behind the answer, maybe an attack');
  if (answer === NO && !isOptional) throw failed(`the server does not support TLS, but ${option} requires it`);
  attempt.unread = unread.subarray(1);
  return answer === YES;
}

module.exports = { dial, ask };
