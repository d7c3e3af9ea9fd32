'use strict';

const { Attempt, REASON, STEP } = require('./attempt');
const { isToken, lookupPassword } = require('../config');
const { ask, dial } = require('./dial');
const { late } = require('../late');
const { ConnectionError, FrameReader, PostgresError, TimeoutError, isText, kindOf } = require('../protocol');
const { start } = require('./startup');
const { inOrder, serversOf } = require('./servers');

const later = late({
  cancel: () => require('./cancel-request'),
  oauth: () => require('./oauth'),
  tls: () => require('./tls')
});

/**
 * Seconds that a pool tries a host without connect_timeout: one of several, and the only one, which may have to start.
 */
const ONE_OF_SEVERAL = 2;
const ONLY_ONE = 30;

/** Milliseconds for which a pool's connections try a host last that has been silent. */
const LAST = 60000;

/** Codes of a connection that the server closed without a message. */
const HUNG_UP = ['08006', 'ECONNRESET', 'EPIPE'];

/**
 * Connects to the first configured host whose session is the wanted one.
 * @param {object} hooks `earlyRequests()` gives a promise of the encoded waiting requests or null, at most once; if all
 *   attempts fail, `mayHaveRun` tells whether the server may have carried them out; `ready(connection)` is called at
 *   the first ReadyForQuery with `{ config, socket, reader, parameters, host, port, backendKey, processId, cancel }`,
 *   sets `reader.handler` and calls `socket.handOver`; `notice(fields)`; `silent`: of a pool, when its connections gave
 *   hosts up that were silent, by their place in the config
 * @returns {Promise<void>} resolves after `ready`
 * @throws {PostgresError|ConnectionError|AggregateError} an AggregateError if several servers were tried
 */
async function connect(config, hooks, signal) {
  const { hosts, connect_timeout: limit, target_session_attrs: attrs } = config;
  const { silent } = hooks;
  const seconds = limit || (silent && (hosts.length > 1 ? ONE_OF_SEVERAL : ONLY_ONE));
  let failures = [];
  let only; // the host whose server has a token that it did not accept

  /** @returns {Promise<boolean>} whether one of these servers was connected to */
  const tryServers = async (servers, quick, wanted, secrets, index) => {
    const slow = []; // that have not accepted quickly: the way to them may be long
    for (const server of servers) {
      const error =
        server.error ?? (await connectTo(config, { server, seconds, quick, wanted, secrets }, hooks, signal));
      if (error === null) {
        silent?.delete(index);
        return true;
      }
      if (quick && error.code === 'ETIMEDOUT') {
        slow.push(server);
        continue;
      }
      failures.push(error);
      if (error instanceof TimeoutError) silent?.set(index, performance.now());
    }
    return slow.length > 0 && tryServers(slow, false, wanted, secrets, index);
  };

  for (const wanted of attrs === 'prefer-standby' ? ['standby', 'any'] : [attrs]) {
    failures = [];
    for (const entry of silentLast(inOrder(config, hosts), hosts, silent)) {
      if ((only ?? entry) !== entry) continue;
      const secrets = secretsFor(config, entry);
      const servers = await serversOf(config, entry, seconds, signal);
      if (await tryServers(servers, servers.length > 1, wanted, secrets, hosts.indexOf(entry))) return;
      if (secrets.sent && secrets.sent === config.oauth_token && !secrets.isAccepted) only = entry;
    }
  }
  if (failures.length === 1) throw failures[0];
  const list = failures.map(({ message }) => message).join('; ');
  const all = new AggregateError(failures, `no connection could be made: ${list}`);
  throw Object.assign(all, { code: failures.at(-1).code });
}

/** Moves the hosts to the end that were silent lately. */
function silentLast(list, hosts, silent) {
  if (!silent?.size) return list;
  const isSilent = entry => performance.now() - (silent.get(hosts.indexOf(entry)) ?? -Infinity) < LAST;
  return list.toSorted((a, b) => isSilent(a) - isSilent(b));
}

/**
 * @returns {object} the secrets for a host: `password()` returns a function that gives it, which reads the password
 *   file, or a promise of one; `token(discover)`; functions of the config are called once. Authentication adds the
 *   token that was `sent`, whether the server has it `isAccepted`, and its `refusal`
 */
function secretsFor(config, { host, hostaddr, port }) {
  const { user, database, passfile, oauth_token: token, require_auth: auth } = config;
  const password = auth.single === 'none' || auth.single === 'oauth' ? '' : config.password;
  const whom = { host: host ?? hostaddr, port, user, database };
  let calledPassword, calledToken;
  return {
    password() {
      if (typeof password !== 'function') return () => password ?? lookupPassword(passfile, whom);
      calledPassword ??= callFor(
        'password',
        password,
        whom,
        isText,
        'string without NUL characters and halves of surrogate pairs'
      );
      return calledPassword.then(found => () => found ?? '');
    },
    async token(discover) {
      if (typeof token !== 'function') return token;
      return (calledToken ??= callFor('oauth_token', token, { ...whom, discover }, isToken, 'bearer token'));
    }
  };
}

/** @returns {Promise<string|undefined>} what a function of the config gives */
async function callFor(name, get, whom, isFit, expected) {
  const refuse = (what, cause) => new ConnectionError(`the ${name} function ${what}`, { code: '28000', cause });
  const given = await ask(name, get, whom).catch(cause => {
    throw refuse(`failed: ${cause.message}`, cause);
  });
  if (given === undefined || given === null) return undefined;
  if (typeof given === 'string' && isFit(given)) return given;
  throw refuse(`gave ${kindOf(given)}: return a ${expected}`);
}

/**
 * Connects to one server, in as many ways as the configuration and its answers allow. Nothing that was learned about a
 * server is remembered.
 * @returns {Promise<Error|null>} null when it is connected, an error if another place may succeed
 */
async function connectTo(config, { server, seconds, quick, wanted, secrets }, hooks, signal) {
  const begun = seconds > 0 ? performance.now() : 0; // loading `performance` takes milliseconds
  const sslmode = server.sslmode === 'allow' ? 'disable' : server.sslmode;
  let plan = { wanted, sslmode, early: true, seconds, begun, signal, quick };
  for (;;) {
    const attempt = new Attempt(server.where, plan);
    try {
      await open(config, server, plan, secrets, attempt, hooks);
      return null;
    } catch (failure) {
      const error = attempt.fail(withoutToken(failure, secrets));
      // Requests that may have been executed are not repeated.
      const mayRepeat = !attempt.requestsSent || (error instanceof PostgresError && attempt.doing !== STEP.WAIT);
      // The server's error comes in place of ReadyForQuery.
      hooks.mayHaveRun = attempt.requestsSent && !(error instanceof PostgresError);
      if (signal?.aborted || !mayRepeat) throw error;
      plan = otherPlan(server, plan, attempt.reason, error);
      if (plan !== null) continue;
      // As in libpq, another place may succeed; also if a server hangs up or times out.
      const mayMoveOn =
        error instanceof PostgresError
          ? error.code === '57P03'
          : error.code === '08001' || HUNG_UP.includes(error.code) || attempt.doing === STEP.CONNECT;
      if (mayMoveOn) return error;
      throw error;
    }
  }
}

/** @returns {object|null} how to try the same server again after an attempt */
function otherPlan({ sslmode }, plan, reason, { code }) {
  if (reason === REASON.UNBOUND) return { ...plan, early: false };
  if (sslmode === 'allow' && plan.sslmode === 'disable' && code === '28000') return { ...plan, sslmode: 'require' };
  return plan.sslmode === 'prefer' && reason !== undefined ? { ...plan, sslmode: 'disable' } : null;
}

/** @returns {Error} the same, unless the server repeats the token in it */
function withoutToken(error, { sent }) {
  return sent && error instanceof PostgresError && JSON.stringify([error, error.message]).includes(sent)
    ? new ConnectionError('the server repeats the token', error)
    : error;
}

async function open(config, server, plan, secrets, attempt, hooks) {
  const discover = () => later.oauth.discover(open, config, server, plan, attempt);
  const token = () => attempt.wait(secrets.token(discover));
  let given = secrets.password();
  const dialed = dial(config, server, attempt, plan.sslmode);
  const asksToken = config.require_auth.single === 'oauth';
  // The password or token may take a while, and the other steps do not need it.
  if (typeof given === 'function' && !asksToken) await dialed;
  else [given] = await Promise.all([given.then ? attempt.wait(given) : given, dialed, asksToken && token()]);
  const { socket, stream, encrypted } = attempt;
  const byCaller = stream.encrypted === true; // the caller's own stream may be encrypted
  let binding;
  const login = {
    config,
    secrets,
    token,
    password: given,
    encrypted: encrypted || byCaller,
    local: server.local || stream.local === true,
    /** Read by SCRAM alone: Node.js needs 0.1 ms for the certificate. */
    binding() {
      if (!encrypted || config.channel_binding === 'disable') return null;
      return (binding ??= later.tls.endPoint(socket.stream));
    }
  };
  const session = await start(config, plan, attempt, login, hooks);
  attempt.checkAborted();
  attempt.release();
  const isEncrypted = encrypted || (byCaller && config.socket.encrypts === true);
  const protection = !isEncrypted ? 'disable' : plan.sslmode === 'prefer' ? 'require' : plan.sslmode;
  hooks.ready({
    ...session,
    config,
    socket,
    reader: new FrameReader(),
    host: server.host ?? server.hostaddr,
    port: server.port,
    cancel: signal => later.cancel.sendCancel(config, server, protection, session.backendKey, signal)
  });
  socket.deliver(attempt.unread);
}

module.exports = { connect };
