'use strict';

const { Buffer, net, tls } = require('#platform');
const { failed, CONNECTING, HANDSHAKE } = require('./attempt');
const { ConnectionError, protocolError } = require('../protocol/errors');
const { isDeno } = require('#platform');
const { tlsOptions } = require('./tls');
const { Transport } = require('./socket');

const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const YES = 83; // S
const NO = 78; // N
const ERROR = 69; // E

/** Longest pause in ms before a Unix socket whose backlog is full is tried again. */
const MAX_PAUSE = 50;

/**
 * Opens a stream to a server: TCP, a Unix socket or the caller's own; then TLS on it, if wanted.
 *
 * @param {object} config resolved
 * @param {object} target one of `targets()`
 * @param {import('./attempt').Attempt} attempt
 * @param {'no'|'try'|'must'} encrypt `try` goes on without TLS when the server has none
 * @returns {Promise<tls.TLSSocket|null>} the TLS socket, if there is one; the transport is the attempt's
 */
async function dial(config, target, attempt, encrypt) {
  attempt.doing = 'setting up TLS';
  const options = encrypt === 'no' ? null : tlsOptions(config, target);
  const direct = options !== null && config.sslnegotiation === 'direct';
  // TLS on a socket of Node's own making can read into the transport's memory, one that is wrapped cannot.
  if (direct && !config.socket) return startTls(config, target, attempt, options);
  await openStream(config, target, attempt, options === null || !isDeno);
  if (options === null) return null;
  const stream = direct ? attempt.transport.detach() : await requestTls(attempt, encrypt);
  return stream && startTls(config, target, attempt, options, stream);
}

/** Connects without TLS, or takes the caller's stream; `onread`: whether to read into the transport's memory. */
async function openStream(config, target, attempt, onread) {
  attempt.doing = CONNECTING;
  if (config.socket) {
    const stream = await ownStream(config, target, attempt);
    attempt.own(new Transport()).attach(stream);
    if (stream.connecting) await attempt.wait(resolve => stream.once('connect', resolve));
    return;
  }
  for (let pause = 1; ; pause = Math.min(2 * pause, MAX_PAUSE)) {
    const transport = attempt.own(new Transport());
    const socket = net.connect({ ...target.address, onread: onread ? transport.onread : undefined });
    transport.attach(socket);
    const busy = await attempt.wait(resolve => {
      socket.once('connect', () => resolve(false));
      transport.onclose = error => error?.code === 'EAGAIN' ? resolve(true) : attempt.fail(error);
    });
    if (!busy) {
      attempt.own(transport);
      return keepAlive(config, socket);
    }
    let timer;
    try {
      await attempt.wait(resolve => { timer = setTimeout(resolve, pause); });
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The caller's Duplex; one that comes too late is closed again. */
function ownStream({ socket }, { host, hostaddr, port, sslmode }, attempt) {
  return attempt.wait(resolve => {
    const give = stream => {
      if (typeof stream?.write !== 'function' || typeof stream.on !== 'function') {
        attempt.fail(failed('the socket function gave no Duplex stream'));
      } else if (stream.destroyed) {
        attempt.fail(new ConnectionError('the socket is closed already', { code: '08003' }));
      }
      if (attempt.error) stream?.destroy?.();
      else resolve(attempt.stream = stream);
    };
    if (typeof socket !== 'function') give(socket);
    else new Promise(made => made(socket({ host: host ?? hostaddr, port, sslmode }))).then(give).catch(error => attempt.fail(error));
  });
}

/**
 * Sends an SSLRequest. The answer is one byte and nothing else: bytes behind it would be read as if they had
 * come through TLS (CVE-2021-23222).
 * @returns {Promise<import('stream').Duplex|null>} the stream to do TLS on; null to go on without
 */
function requestTls(attempt, encrypt) {
  const { transport } = attempt;
  attempt.doing = 'asking for TLS';
  return attempt.wait(resolve => {
    const refuse = what => attempt.fail(protocolError(what));
    transport.onchunk = (chunk, length) => {
      // No word of an error is passed on: nobody knows yet who sent it (CVE-2024-10977).
      if (chunk[0] === ERROR) refuse('the server answers with an error instead of yes or no');
      else if (length > 1) refuse('unencrypted bytes behind the answer, maybe an attack');
      else if (chunk[0] === YES) resolve(attempt.stream = transport.detach());
      else if (chunk[0] !== NO) refuse(`the server answers 0x${chunk.toString('hex', 0, 1)}`);
      else if (encrypt === 'must') attempt.fail(failed('the server does not support TLS'));
      else resolve(null);
      transport.onchunk = () => refuse('more bytes than the answer');
    };
    transport.write(SSL_REQUEST);
  });
}

/** Starts TLS, on a stream or on a new connection. */
async function startTls(config, target, attempt, options, stream) {
  const transport = attempt.own(new Transport());
  attempt.stream = stream ?? null;
  if (!stream) attempt.doing = CONNECTING;
  const to = stream ? { socket: stream } : { ...target.address, onread: transport.onread };
  const socket = tls.connect({ ...options, ...to });
  transport.attach(socket);
  if (!stream) {
    await attempt.wait(resolve => socket.once('connect', resolve));
    keepAlive(config, socket);
  }
  // Servers before PostgreSQL 17 and many poolers hang up here.
  attempt.doing = config.sslnegotiation === 'direct' ? 'direct TLS handshake' : HANDSHAKE;
  await attempt.wait(resolve => socket.once('secureConnect', resolve));
  if (options.ALPNProtocols !== undefined && socket.alpnProtocol !== options.ALPNProtocols[0]) {
    throw attempt.fail(protocolError('the server did not agree on the protocol "postgresql" (ALPN)'));
  }
  return socket;
}

/** Of libpq's keepalive options Node knows the first two. */
function keepAlive({ keepalives, keepalives_idle: idle }, socket) {
  socket.setKeepAlive(keepalives, idle * 1000);
}

module.exports = { dial };
