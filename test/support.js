'use strict';

// What the tests of the query side share: one server for all files, clients that are ended after their test, and
// servers that say what a test wants.

const { once } = require('node:events');
const { startServer, startProxy } = require('pg-test-fixtures');
const { Client } = require('..');
const { SAY, FakeServer } = require('./connecting');

let server; // promise of the shared one
const clients = new Set();
const endings = new Set();

after(async function () {
  if (server !== undefined) await (await server).stop();
});

afterEach(async function () {
  const failed = this.currentTest.state === 'failed';
  const opened = [...clients];
  clients.clear();
  await Promise.all(opened.map(client => {
    if (failed) client.destroy();
    return client.state === 'closed' ? undefined : client.end();
  }));
  for (const ending of endings) {
    endings.delete(ending);
    await ending();
  }
});

/**
 * The server that all test files share: it trusts, and has the table `users` with 1,000 rows. Started when it is
 * asked for first, stopped after all tests.
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
  const client = new Client({ ...(await sharedServer()).config, ...config });
  clients.add(client);
  await client.connect();
  return client;
}

/**
 * A client of the shared server that is connected through a proxy of its own; both are gone after the test.
 * @param {object} [config] of the client
 * @param {object} [options] of the proxy: `delay`, `record`
 * @returns {Promise<{client: Client, proxy: object, wire: object}>} wire: the proxy's connection
 */
async function proxied(config, options) {
  const proxy = await startProxy({ target: await sharedServer(), record: true, ...options });
  endings.add(() => proxy.stop());
  const client = await connected({ host: proxy.host, port: proxy.port, ...config });
  return { client, proxy, wire: proxy.connections[0] };
}

/** What a server says before it takes queries. */
const GREETING = Buffer.concat([SAY.ok, SAY.parameter('server_version', '18.0'), SAY.key, SAY.ready]);

/**
 * A client that is connected to a server of the test's own, which answers as the script says. Both are gone
 * after the test.
 * @param {function(Conversation): Promise} script what happens after the start-up; `conversation.request()` reads
 *   up to and with the next Sync, Flush or Query and gives the types of the messages, `conversation.say(…)` answers
 * @param {object} [config] of the client
 * @returns {Promise<Client>}
 */
async function faked(script, config) {
  const fake = await new FakeServer(async conversation => {
    await conversation.first();
    conversation.say(GREETING);
    conversation.request = async () => {
      let types = '';
      do types += (await conversation.read()).type; while (!/[SHQ]$/.test(types));
      return types;
    };
    await script(conversation).catch(() => {});
  }).listen();
  const client = new Client({ ...fake.config, ...config });
  endings.add(() => fake.stop());
  await client.connect();
  endings.add(() => client.destroy());
  return client;
}

/**
 * The same with one answer: to the first request come these bytes.
 * @param {...(Buffer|string)} answer
 */
const answering = (...answer) => faked(async conversation => {
  await conversation.request();
  conversation.say(...answer);
});

/** Waits for the next event; gives its first argument. */
const next = async (emitter, event) => (await once(emitter, event))[0];

module.exports = { sharedServer, connected, proxied, faked, answering, next, GREETING };
