'use strict';

// What live results cost, beside polling and beside server-sent events:
//
//     node live.js [seconds] [readers]        Markdown tables; 10 seconds a line and 1,000 readers by default
//
// The HTTP server, its readers and the database are processes of their own, on one machine. Each reader has a connection of
// HTTP/1.1, and shows 100 rows, one of which changes ten times a second, at random times. Latency is the time from the commit to the rows in the
// page, for 20 readers that parse what they get; the others only read.

const { once } = require('node:events');
const { fork } = require('node:child_process');
const http = require('node:http');
const { Writable } = require('node:stream');
const { setTimeout: sleep } = require('node:timers/promises');
const { Client } = require('..');
const { LEASE } = require('../lib/core/internal');
const { respond } = require('../lib/http');
const { Live } = require('../lib/live');
const { Answer } = require('../lib/live/answer');
const { State } = require('../lib/live/state');
const { send } = require('../lib/core/pipeline');
const { Pool } = require('../lib/pool');

const WRITES = 10; // a second
const ROWS = 100;
const PARSING = 20;
const TEXT = 'SELECT id, name, note, version FROM items WHERE list = $1 ORDER BY id';
const TYPE = 'application/x-postgresql-live';

const at = (list, share) => list.sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))];

/** How the HTTP server answers, by name. */
const HANDLERS = {
  async live(config) {
    const live = new Live(new Pool(config));
    live.follow(new Pool(config, { size: 1 }).listen('changes'));
    return (request, response) =>
      live.respond(request, response, TEXT, [Number(request.url.slice(1))], { tags: [`list${request.url.slice(1)}`] });
  },
  /** As live, but every result depends on the table. */
  async table(config) {
    const live = new Live(new Pool(config));
    live.follow(new Pool(config, { size: 1 }).listen('tables'));
    return (request, response) =>
      live.respond(request, response, TEXT, [Number(request.url.slice(1))], { tags: ['items'] });
  },
  async polling(config) {
    const pool = new Pool(config);
    return (request, response) =>
      respond(pool, request, response, TEXT, [Number(request.url.slice(1))], { as: 'json' });
  },
  /** subscribe() of postgres, a query after a change but at most each 100 ms, JSON once for all readers of a list. */
  async events(config) {
    const { host, port, user, password, database } = config;
    const sql = require('postgres')({ host, port, user, password, database, max: 10, publications: 'items' });
    const lists = new Map();
    const ask = async (id, list) => {
      list.time = performance.now();
      list.timer = undefined;
      const text = `data: ${JSON.stringify(await sql.unsafe(TEXT, [id], { prepare: true }))}\n\n`;
      for (const response of list.readers) response.write(text);
    };
    await sql.subscribe('*:items', ({ list: id }) => {
      const list = lists.get(id);
      if (list) list.timer ??= setTimeout(ask, Math.max(0, list.time + 100 - performance.now()), id, list);
    });
    return async (request, response) => {
      const id = Number(request.url.slice(1));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const list = lists.get(id) ?? { readers: new Set(), time: 0 };
      lists.set(id, list);
      list.readers.add(response);
      response.write(`data: ${JSON.stringify(await sql.unsafe(TEXT, [id], { prepare: true }))}\n\n`);
    };
  }
};

/** The process of the HTTP server: measures itself when it is told to. */
async function serve(name, config) {
  const handler = await HANDLERS[name](config);
  const server = http.createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  let before;
  process.on('message', asked => {
    if (asked === 'memory') {
      global.gc();
      const { heapUsed, external, rss } = process.memoryUsage();
      return process.send({ memory: heapUsed + external, rss });
    }
    const { user, system } = process.cpuUsage();
    const spent = (user + system) / 1e6 - (before ?? 0);
    before = (user + system) / 1e6;
    process.send({ spent });
  });
  process.send({ port: server.address().port });
}

/** The process of the readers: each on the list of its number, or all on the first one. */
async function read(name, port, count, lists, writes, config) {
  const { live } = await import('../client-parser/live.js');
  const committed = new Map(); // when, by version
  const times = [];
  const seen = (rows, reader) => {
    const version = Math.max(...rows.map(row => row.version));
    // The rows may come before the answer to the writer.
    if (version > (reader.version ?? version))
      times.push(Math.max(0, performance.now() - (committed.get(version) ?? Infinity)));
    reader.version = version;
  };
  let bytes = 0;
  const url = i => `http://127.0.0.1:${port}/${i % lists}`;
  const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });
  const poll = i =>
    http.get(url(i), { agent }, response => {
      let text = '';
      response
        .on('data', chunk => {
          bytes += chunk.length;
          if (i < PARSING) text += chunk;
        })
        .on('end', () => {
          if (i < PARSING) seen(JSON.parse(text), readers[i]);
        });
    });
  const readers = Array.from({ length: count }, () => ({}));
  for (let i = 0; i < count; i++) {
    if (name === 'polling') setTimeout(() => setInterval(poll, 1000, i), Math.random() * 1000);
    else if (name !== 'events' && i < PARSING) {
      (async () => {
        for await (const rows of live(url(i))) seen(rows, readers[i]);
      })();
    } else {
      const headers = name === 'events' ? {} : { accept: TYPE };
      http.get(url(i), { agent: false, headers }, response => {
        let text = '';
        response.on('data', chunk => {
          bytes += chunk.length;
          if (name !== 'events' || i >= PARSING) return;
          const parts = (text + chunk).split('\n\n');
          text = parts.pop();
          for (const part of parts) seen(JSON.parse(part.slice(6)), readers[i]);
        });
      });
      if (i % 50 === 0) await sleep(10);
    }
  }
  const writer = new Client(config);
  await writer.connect();
  const {
    rows: [found]
  } = await writer.query('SELECT max(version) AS version FROM items');
  let version = Number(found.version);
  let writing;
  process.on('message', asked => {
    if (asked === 'begin') {
      times.length = bytes = 0;
      const write = async () => {
        const mine = ++version;
        writing = setTimeout(write, (Math.random() * 2000) / writes);
        await writer.query('UPDATE items SET version = $1 WHERE list = $2 AND id = $3', [
          mine,
          mine % Math.min(lists, PARSING),
          mine % ROWS
        ]);
        committed.set(mine, performance.now());
      };
      write();
    } else {
      clearTimeout(writing);
      const { user, system } = process.cpuUsage();
      process.send({ times, bytes, own: (user + system) / 1e6 });
    }
  });
  process.send({ ready: true });
}

async function measure(name, config, seconds, count, lists, writes) {
  const start = (...args) =>
    fork(__filename, ['child', ...args.map(each => JSON.stringify(each))], { execArgv: ['--expose-gc'] });
  const server = start('serve', name, config);
  const [{ port }] = await once(server, 'message');
  const ask = async (child, what) => (child.send(what), (await once(child, 'message'))[0]);
  const idle = await ask(server, 'memory');
  const readers = start('read', name, port, count, lists, writes, config);
  await once(readers, 'message');
  await sleep(3000);
  const full = await ask(server, 'memory');
  readers.send('begin');
  await ask(server, 'cpu');
  await sleep(seconds * 1000);
  const { spent } = await ask(server, 'cpu');
  const { times, bytes } = await ask(readers, 'end');
  for (const child of [readers, server]) {
    child.kill();
    await once(child, 'exit');
  }
  return {
    cores: spent / seconds,
    p50: at(times, 0.5),
    p99: at(times, 0.99),
    bytes: bytes / seconds / count,
    memory: (full.memory - idle.memory) / count,
    seen: times.length
  };
}

/** The cost of asking again for 1,000 rows that are as before, beside a plain query: CPU, medians of alternating rounds. */
async function unchanged(config) {
  const pool = new Pool(config, { size: 1 });
  const text = 'SELECT id, name, note, version FROM items WHERE list < 10 ORDER BY list, id';
  const live = new Live(pool, { interval: 0 });
  const request = new Request('http://localhost/', { headers: { accept: TYPE } });
  const body = (await live.respond(request, text)).body.getReader();
  await body.read();
  const { [LEASE]: lease } = pool;
  const { run } = lease;
  const alive = setInterval(() => {}, 1000); // nothing else keeps the program while a result rests
  const rounds = { plain: [], rows: [], again: [] };
  const collect = () =>
    pool.queryTo(
      new Writable({
        write(chunk, encoding, callback) {
          callback();
        }
      }),
      text
    );
  const again = () =>
    new Promise(resolve => {
      lease.run = (...work) => run.apply(lease, work).finally(() => setImmediate(resolve));
      live.changed();
    });
  const ways = { plain: collect, rows: async () => (await pool.query(text, [], { decode: false })).rows.length, again };
  for (let round = 0; round < 30; round++) {
    for (const name in ways) {
      lease.run = run;
      const before = process.cpuUsage();
      for (let i = 0; i < 20; i++) {
        await ways[name]();
        await sleep(3); // the live result rests for 1 ms
      }
      const { user, system } = process.cpuUsage(before);
      rounds[name].push((user + system) / 20);
    }
  }
  clearInterval(alive);
  lease.run = run;
  await live.end();
  const {
    rows: { length: rowCount }
  } = await pool.query(text);
  await pool.end();
  return { rowCount, ...Object.fromEntries(Object.entries(rounds).map(([name, list]) => [name, at(list, 0.5)])) };
}

/** Bytes of a state in which one of 1,000 rows is new, and milliseconds that a state of so many new rows takes. */
async function states(config) {
  const client = new Client(config);
  await client.connect();
  const bodyOf = async (text, values) => {
    const answer = new Answer({ max_bytes: Infinity, max_rows: Infinity });
    await send(client[LEASE], 'shared', {}, () => answer.request({ text, values }), text);
    return answer.bytes;
  };
  const text =
    'SELECT id, name, note, CASE WHEN list * 100 + id = $1 THEN 1 ELSE version END FROM items WHERE list < 10 ORDER BY list, id';
  const before = new State(await bodyOf(text, [-1]));
  const bytes = new State(await bodyOf(text, [500]), before).from(before);
  const many = "SELECT i, 'name ' || i, i % $1 FROM generate_series(1, 10000) i";
  const [one, two] = [await bodyOf(many, [2]), await bodyOf(many, [3])];
  const times = Array.from({ length: 20 }, () => {
    const first = new State(one);
    const from = performance.now();
    new State(two, first).from(first);
    return performance.now() - from;
  });
  client.destroy();
  return { changed: bytes.length, large: at(times, 0.5) };
}

async function main() {
  const { startServer } = require('pg-test-fixtures');
  const seconds = Number(process.argv[2] ?? 10);
  const count = Number(process.argv[3] ?? 1000);
  const database = await startServer({ external: false, settings: { wal_level: 'logical', max_connections: 100 } });
  await database.sql(`CREATE TABLE items (list int, id int, name text, note text, version int, PRIMARY KEY (list, id));
    INSERT INTO items SELECT list, id, 'name ' || id, md5(id::text), 0 FROM generate_series(0, ${count - 1}) list, generate_series(0, ${ROWS - 1}) id;
    CREATE FUNCTION changed() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_notify('changes', 'list' || NEW.list), pg_notify('tables', 'items'); RETURN NULL; END $$;
    CREATE TRIGGER changed AFTER UPDATE ON items FOR EACH ROW EXECUTE FUNCTION changed(); CREATE PUBLICATION items FOR TABLE items; ANALYZE`);
  await database.sql(`GRANT ALL ON items TO ${database.user}`);
  const config = {
    host: database.host,
    port: database.port,
    user: database.user,
    password: database.password,
    database: database.database
  };
  const lines = [
    [`one result, ${count} readers`, 'live', count, 1],
    [`${count} results with tags of their own`, 'live', count, count],
    [`${count} results, all with the tag of the table`, 'table', count, count],
    ['one reader', 'live', 1, 1],
    ['one reader, 2 writes a second', 'live', 1, 1, 2],
    [`one result, ${count} readers: polling each second`, 'polling', count, 1],
    [`one result, ${count} readers: subscribe of postgres, JSON, server-sent events`, 'events', count, 1]
  ];
  console.log(
    `${WRITES} writes a second, ${ROWS} rows a result\n\n| | cores of the server | commit to page: p50 ms | p99 ms | bytes/s a reader | memory a reader |\n|---|--:|--:|--:|--:|--:|`
  );
  for (const [title, name, readers, lists, writes = WRITES] of lines) {
    const { cores, p50, p99, bytes, memory } = await measure(name, config, seconds, readers, lists, writes);
    const cells = [
      cores.toFixed(2),
      p50?.toFixed(1),
      p99?.toFixed(1),
      bytes.toFixed(0),
      readers > 1 ? `${(memory / 1000).toFixed(1)} kB` : ''
    ];
    console.log(`| ${title} | ${cells.join(' | ')} |`);
  }
  const { plain, rows, again, rowCount } = await unchanged(config);
  console.log(
    `\n${rowCount} unchanged rows asked again: ${again.toFixed(0)} µs of CPU; a plain query ${rows.toFixed(0)} (into a stream ${plain.toFixed(0)}): ${(again / rows).toFixed(2)} ×`
  );
  const { changed, large } = await states(config);
  console.log(
    `One row of 1,000 is new: ${changed} bytes. 10,000 rows, a third of them new, block the process for ${large.toFixed(1)} ms.`
  );
  await database.stop();
}

if (process.argv[2] === 'child') {
  const [name, ...args] = process.argv.slice(3).map(each => JSON.parse(each));
  ({ serve, read })[name](...args);
} else main();
