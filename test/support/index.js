'use strict';

// What the tests of the query side share: one server for all files, clients that are ended after their test,
// and servers that say what a test wants.

const { startServer, startProxy } = require('pg-test-fixtures');
const { LEASE } = require('../../lib/core/internal');
const { Client } = require('../..');
const { SAY, FakeServer, message } = require('./connecting');
const { afterTest, endAfterTest } = require('./hooks');
const { until } = require('./kit');

let server; // promise of the shared one

/**
 * The server that all test files of a process share: it trusts, and has the table `users` with 1,000 rows. Started
 * when it is asked for first; the fixtures stop it when the process has ended.
 * @returns {Promise<import('pg-test-fixtures').Server>}
 */
function sharedServer() {
  if (server === undefined) server = startServer({ sample: 1000 });
  return server;
}

/**
 * A client of the shared server, which is ended after the test (so not for `before`).
 * @param {object} [config] beside the server's, or in place of it
 * @returns {Promise<Client>} connected
 */
async function connected(config) {
  const client = endAfterTest(new Client({ ...(await sharedServer()).config, ...config }));
  client[LEASE].pipeline.statements.tag = ''; // without what is random, bytes can be compared
  await client.connect();
  return client;
}

/**
 * A client of the shared server that is connected through a proxy of its own and sends nothing of its own; both are
 * gone after the test.
 * @param {object} [config] of the client
 * @param {object} [options] of the proxy: `delay`, `record`
 * @returns {Promise<{client: Client, proxy: object, wire: object}>} wire: the proxy's connection
 */
async function proxied(config, options) {
  const proxy = await startProxy({ target: await sharedServer(), record: true, ...options });
  afterTest(() => proxy.stop());
  const client = await connected({ host: proxy.host, port: proxy.port, ...config });
  return { client, proxy, wire: proxy.connections[0] };
}

const CANCEL_REQUEST = 80877102;

/** What a server says before it takes queries. */
const GREETING = Buffer.concat([SAY.ok, SAY.parameter('server_version', '18.0'), SAY.key, SAY.ready]);

/**
 * A client that is connected to a server of the test's own, which answers as the script says. Both are gone
 * after the test.
 * @param {function(Conversation): Promise} script what happens after the start-up; `conversation.request()`
 *   reads up to and with the next Sync, Flush or Query and gives the types of the messages,
 *   `conversation.say(…)` answers
 * @param {object} [config] of the client
 * @returns {Promise<Client>}
 */
async function faked(script, config) {
  const fake = await new FakeServer(async conversation => {
    const first = await conversation.first();
    if (first.readInt32BE(0) === CANCEL_REQUEST) return void conversation.socket.end();
    conversation.say(GREETING);
    conversation.request = async () => {
      let types = '';
      do types += (await conversation.read()).type;
      while (!/[SHQ]$/.test(types));
      return types;
    };
    await script(conversation).catch(() => {});
  }).listen();
  const client = new Client({ ...fake.config, ...config });
  afterTest(() => fake.stop());
  await client.connect();
  afterTest(() => client.destroy());
  return client;
}

/**
 * The same with one answer: to the first request come these bytes.
 * @param {...(Buffer|string)} answer
 */
const answering = (...answer) =>
  faked(async conversation => {
    await conversation.request();
    conversation.say(...answer);
  });

/** @returns {Buffer} of hexadecimal digits, spaced as one likes; text in quotes stands for its bytes */
const hex = digits =>
  Buffer.from(
    digits.replace(/'([^']*)'/g, (quoted, text) => Buffer.from(text).toString('hex')).replace(/\s/g, ''),
    'hex'
  );

const int16 = value => Buffer.from([value >> 8, value & 255]);

/** @returns {Buffer} a RowDescription of columns of type text with these names */
const rowDescription = (...names) =>
  message(
    'T',
    int16(names.length),
    ...names.flatMap(name => [name, hex('00  00000000 0000 00000019 ffff ffffffff 0000')])
  );

/** @returns {Buffer} a DataRow of strings, bytes and null */
const dataRow = (...values) =>
  message(
    'D',
    int16(values.length),
    ...values.flatMap(value => (value === null ? [-1] : [Buffer.byteLength(value), value]))
  );

const commandComplete = tag => message('C', `${tag}\0`);

/** Messages of a server that answers queries. */
const ANSWER = {
  parseComplete: message('1'),
  bindComplete: message('2'),
  noParameters: message('t', int16(0)),
  noData: message('n'),
  ready: message('Z', 'I'),
  error: (code, text) => message('E', `SERROR\0VERROR\0C${code}\0M${text}\0\0`)
};
/** The answer to Parse and Describe of a statement with these columns, and to Bind. */
ANSWER.described = (...names) =>
  Buffer.concat([
    ANSWER.parseComplete,
    ANSWER.noParameters,
    names.length === 0 ? ANSWER.noData : rowDescription(...names),
    ANSWER.bindComplete
  ]);

let keys = 0;

/**
 * A query that runs until it is told to end.
 * @returns {Promise<{call: string, release: function(): Promise, hold: function(): Promise}>} call: of a function that waits, for a SELECT;
 *   hold: lets it wait again
 */
async function held() {
  const holder = await connected();
  const key = ++keys;
  const hold = () => holder.query('SELECT pg_advisory_lock(30, $1)', [key]);
  await hold();
  return {
    call: `pg_advisory_xact_lock_shared(30, ${key})`,
    hold,
    release: () => holder.query('SELECT pg_advisory_unlock(30, $1)', [key])
  };
}

/** What the server process of a client is doing. */
async function activity(client) {
  const [row] = await (await sharedServer()).sql(`SELECT state FROM pg_stat_activity WHERE pid = ${client.processId}`);
  return row.state;
}

/** Waits until the server runs a query of a client. */
const running = client => until(async () => (await activity(client)) === 'active', 'a query to run');

module.exports = {
  sharedServer,
  activity,
  connected,
  held,
  proxied,
  running,
  faked,
  answering,
  GREETING,
  message,
  hex,
  int16,
  rowDescription,
  dataRow,
  commandComplete,
  ANSWER
};
