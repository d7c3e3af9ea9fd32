'use strict';

// A recorded session of a bit of everything, and what gives its bytes to a client again, in pieces.

const assert = require('node:assert/strict');
const { Duplex, PassThrough } = require('node:stream');
const { startProxy } = require('pg-test-fixtures');
const { Client } = require('../..');
const { Pipeline } = require('../../lib/core/pipeline/pipeline');
const { decodeParameterStatus } = require('../../lib/core/protocol');
const { FrameReader } = require('../../lib/core/protocol/reader');
const { Steps } = require('../../lib/core/steps');
const { sharedServer } = require('.');

/** Asks for a bit of everything that can be pipelined; gives the promises. */
function ask(session) {
  const { STRING, BINARY } = Client;
  const packets = {
    list: [],
    write(packet) {
      this.list.push(packet.toString('hex'));
    }
  };
  const stream = new PassThrough({ highWaterMark: 1 << 30 });
  return [
    session.query("SET application_name = 'splits'"), // ParameterStatus
    session.query('LISTEN splits'),
    session.query('SELECT $1::int AS a, $2::text AS b, NULL AS n', [7, 'ä']),
    session.query('SELECT $1::int AS a, $2::text AS b, NULL AS n', [null, '']),
    session.query('SELECT $1::int AS a, $2::text AS b, NULL AS n', ['8', Buffer.from('€')], BINARY),
    session.query('SELECT i, repeat($$x$$, i) FROM generate_series(1, 20) i', [], STRING, false),
    session.query('SELECT i, repeat($$x$$, i) FROM generate_series(1, 20) i', [], BINARY, false, stream),
    session.query('SELECT FROM generate_series(1, 3)'),
    session.query(''),
    session.query("SELECT pg_notify('splits', 'payload €')"),
    session.query('SELEC'),
    session.query('SELECT 1 / $1::int', [0]),
    session.query('SELECT no'),
    session.query('SELECT no'),
    session.query("DO $$ BEGIN RAISE NOTICE 'look' USING HINT = 'closer'; END $$"),
    session.query('SELECT a FROM (VALUES (1), (2)) _ (a)', [], STRING, true, packets).then(() => packets.list),
    session.query('SELECT 1 AS one', [], STRING, true, stream),
    session.query("COPY (VALUES (1, 'x'), (2, NULL), (3, '')) TO STDOUT"),
    session.query('COPY (SELECT i FROM generate_series(1, 5) i) TO STDOUT (FORMAT binary)'),
    session.query('CREATE TEMP TABLE splits (a int PRIMARY KEY)'),
    session.query('INSERT INTO splits VALUES (1), (2)'),
    session.query('INSERT INTO splits VALUES (2)'),
    session.query('UPDATE splits SET a = a + 10 RETURNING *'),
    session.simpleQuery(`SELECT 1 AS a, NULL AS b; ; COPY splits TO STDOUT;
      DO $$ BEGIN RAISE WARNING 'w'; END $$`),
    session.simpleQuery('SELECT 1; SELECT 1/0; SELECT 2'),
    session.batch([['SELECT 1 AS x'], ['SELECT $1::text AS y', ['z']], ['SELECT 1 AS x']]),
    session.batch([['SELECT 1 AS x'], ['SELECT 1/0'], ['SELECT 3']]),
    session.close('S', 'nothing'),
    session.sync(),
    session
      .query('SELECT $1::int AS a, $2::text AS b, NULL AS n', [9, 'last'])
      .then(reader => [reader, stream.read().toString('hex')])
  ];
}

/** Rows of a size that passes through without being gathered. */
async function askLong(session) {
  const stream = new PassThrough({ highWaterMark: 1 << 30 });
  const text = "SELECT repeat('0123456789', 20000) AS long, i FROM generate_series(1, 2) i";
  await session.query(text, [], Client.STRING, true, stream);
  const chunks = []; // read() gives all of them up to Node.js 24, and one in Node.js 26
  for (let chunk; (chunk = stream.read()) !== null;) chunks.push(chunk);
  return [Buffer.concat(chunks).toString('latin1')];
}

/** The same, and much more of it. */
const askMuch = session => [
  ...ask(session),
  askLong(session),
  session.query('SELECT i, repeat($$é$$, i % 300), NULLIF(i % 3, 0) FROM generate_series(1, 600) i'),
  session.query('SELECT repeat($$y$$, 70000) AS long, 1 AS short'),
  session.query('COPY (SELECT i, repeat($$z$$, i % 50) FROM generate_series(1, 1000) i) TO STDOUT')
];

/** All that is to be seen of what a promise came to. */
function plain(value) {
  if (value instanceof Error) return { name: value.name, message: value.message, ...value };
  if (Buffer.isBuffer(value)) return value.toString('hex');
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== 'object' || typeof value.pipe === 'function') return String(value);
  const { cmd, oid, rowCount, rows, rowParser, binary, format, columnFormats } = value;
  return {
    cmd,
    oid,
    rowCount,
    binary,
    format,
    columnFormats,
    columns: rowParser && rowParser.columns,
    rows: rows.map(row => (Buffer.isBuffer(row) ? plain(row) : plain(row.toArray())))
  };
}

const outcomes = async promises =>
  (await Promise.allSettled(promises)).map(({ value, reason }) => plain(reason || value));

/** Records what the server says: all bytes of the connection, what came of them, and events. */
async function record(asking) {
  const proxy = await startProxy({ target: await sharedServer(), record: true });
  const client = new Client({
    ...(await sharedServer()).config,
    host: proxy.host,
    port: proxy.port,
    fetch_types: false
  });
  const events = [];
  client.lease.pipeline.statements.tag = '';
  client.on('notice', fields => events.push(fields));
  client.on('notification', notification => events.push(notification));
  client.on('parameter', (...parameter) => events.push(parameter));
  const connecting = client.connect();
  const results = await outcomes(asking(client));
  await connecting;
  const bytes = Buffer.from(proxy.connections[0].recorded.toClient);
  const parameters = { ...client.serverParameters };
  await client.end();
  await proxy.stop();
  const greeting = bytes.indexOf(Buffer.from('5a0000000549', 'hex')) + 6; // with the first ReadyForQuery
  return { bytes, greeting, results, events, parameters };
}

/**
 * Gives the bytes behind the greeting to a pipeline that has sent the same requests, in pieces, each of them
 * in memory that is overwritten after it, as the transport's is.
 */
async function replay(asking, { bytes, greeting, results, events }, cuts) {
  const seen = [];
  const pipeline = new Pipeline(
    {
      queued() {},
      notice: fields => seen.push(fields),
      notification: notification => seen.push(notification),
      parameter: (...message) => seen.push(decodeParameterStatus(...message)),
      lost: error => {
        throw error;
      }
    },
    { isPooled: false, decoding: { decode: true, plain: false } }
  );
  pipeline.statements.limit = 256;
  pipeline.statements.tag = '';
  const memory = Buffer.alloc(65536);
  const socket = {
    handOver() {},
    flush(writer) {
      writer.take();
    },
    flushSoon() {},
    pause() {},
    resume() {},
    bufferedBytes: 0
  };
  const reader = new FrameReader(pipeline);
  const session = new Steps(pipeline.scopes.root);
  pipeline.open({ socket, reader });
  const promises = asking(session);
  let last = greeting;
  for (const cut of [...cuts, bytes.length]) {
    for (let end; last < cut; last = end) {
      // as much as the memory takes at a time
      end = Math.min(cut, last + memory.length);
      bytes.copy(memory, 0, last, end);
      reader.push(memory, end - last);
      memory.fill(0xee, 0, end - last);
    }
  }
  assert.deepEqual(await outcomes(promises), results);
  assert.deepEqual(seen, events);
}

/** A client that is connected to nothing but the recorded bytes, in pieces. */
async function connect({ bytes, results, events, parameters }, cuts) {
  const duplex = new Duplex({
    read() {},
    write(chunk, encoding, done) {
      done();
    }
  });
  const client = new Client({
    user: 'someone',
    host: 'nowhere',
    sslmode: 'disable',
    socket: () => duplex,
    fetch_types: false
  });
  client.lease.pipeline.statements.tag = '';
  const seen = [];
  client.on('notice', fields => seen.push(fields));
  client.on('notification', notification => seen.push(notification));
  client.on('parameter', (...parameter) => seen.push(parameter));
  const connecting = client.connect();
  const promises = ask(client);
  let last = 0;
  for (const cut of [...cuts, bytes.length]) duplex.push(bytes.subarray(last, (last = cut)));
  await connecting;
  assert.deepEqual(await outcomes(promises), results);
  assert.deepEqual(seen, events);
  assert.deepEqual({ ...client.serverParameters }, parameters);
  client.destroy();
}

module.exports = { ask, askMuch, record, replay, connect };
