'use strict';

const assert = require('node:assert/strict');
const { getEventListeners, once } = require('node:events');
const http = require('node:http');
const http2 = require('node:http2');
const net = require('node:net');
const { setImmediate: turn, setTimeout: sleep } = require('node:timers/promises');
const v8 = require('node:v8');
const vm = require('node:vm');
const { startProxy } = require('pg-test-fixtures');
const { ResponseCache } = require('../../lib/cache');
const { LEASE } = require('../../lib/core/internal');
const { Channels } = require('../../lib/core/listen');
const { Live } = require('../../lib/live');
const { Pool } = require('../../lib/pool');
const { sql } = require('../../lib/sql');
const { table } = require('../rules/kit');
const { connected, sharedServer } = require('../support');
const { gc } = require('../support/gc');
const { afterTest, shorten } = require('../support/hooks');
const { ALL, TYPE, messagesIn, reading, serving, until } = require('./serving');

const WHOLE = ['T', 'D 1 a', 'D 2 b', 'D 3 c', 's'];

describe('Live', () => {
  it('gives a whole state, then what has changed of it', async () => {
    const { port, change } = await serving();
    const reader = await reading(port);
    const { statusCode, headers } = reader.response;
    assert.deepEqual(
      [
        statusCode,
        headers['content-type'],
        headers['cache-control'],
        headers['x-accel-buffering'],
        headers['content-encoding'],
        headers.vary
      ],
      [200, TYPE, 'no-store, no-transform', 'no', undefined, 'Accept']
    );
    assert.deepEqual(await reader.next(), WHOLE);
    await change("UPDATE todos SET name = 'new' WHERE id = 2");
    assert.deepEqual(await reader.next(), ['A copy 0 1', 'D 2 new', 'A copy 2 1', 's']);
    await change('DELETE FROM todos WHERE id = 1');
    assert.deepEqual(await reader.next(), ['A copy 1 2', 's']);
    await change("INSERT INTO todos VALUES (0, 'z')");
    assert.deepEqual(await reader.next(), ['D 0 z', 'A copy 0 2', 's']);
    await change('DELETE FROM todos');
    assert.deepEqual(await reader.next(), ['s']);
    await change("ALTER TABLE todos RENAME name TO title; INSERT INTO todos VALUES (9, 'i')", 'other');
    await change('ALTER TABLE todos RENAME title TO name');
    assert.deepEqual(await reader.next(), ['D 9 i', 's']);
  });

  table(
    'Accept asks for it or not',
    {
      type: {
        'in any case': [TYPE.toUpperCase(), true],
        'with a weight, beside others': [`text/csv, ${TYPE};q=0.1, */*`, true],
        'whose weight is 0': [`${TYPE};q=0, */*`, false],
        'that is a parameter of another one': [`text/csv;profile="${TYPE}"`, false],
        'that begins as its name does': [`${TYPE}2, */*`, false],
        'that is a wildcard': ['application/*', false]
      }
    },
    async ([accept, isLive]) => {
      const { url } = await serving({
        handler: (request, response, live) => live.respond(request, response, ALL, [], { as: 'csv' })
      });
      const { headers, body } = await fetch(url, { headers: { accept } });
      await body.cancel();
      assert.deepEqual(
        [headers.get('content-type'), headers.get('vary')],
        isLive ? [TYPE, 'Accept'] : ['text/csv; charset=utf-8', 'Accept, Accept-Encoding']
      );
    }
  );

  it('begins anew with other columns', async () => {
    const { port, change } = await serving({
      handler: (request, response, live) => live.respond(request, response, 'TABLE todos', [], { cache: false })
    });
    const reader = await reading(port);
    assert.deepEqual(await reader.next(), WHOLE);
    await change('ALTER TABLE todos RENAME name TO title');
    assert.deepEqual(await reader.next(), WHOLE);
    await change('ALTER TABLE todos ADD more int');
    assert.deepEqual((await reader.next())[0], 'T');
  });

  it('does not compress, and lets no other code do it', async () => {
    const { port } = await serving();
    const {
      response: { headers }
    } = await reading(port, { 'accept-encoding': 'br, gzip' });
    assert.deepEqual(
      [headers['content-encoding'], headers.vary, headers['cache-control']],
      [undefined, 'Accept', 'no-store, no-transform']
    );
  });

  it('gives what respond gives, once, to a reader that does not ask for it', async () => {
    const { url, live } = await serving({
      handler: (request, response, live) =>
        live.respond(request, response, ALL, [], { tags: ['todos'], as: ['json', 'csv'], emptyStatus: 404 })
    });
    const get = (accept, method) => fetch(url, { method, headers: { accept } });
    assert.deepEqual(await (await get('application/json')).json(), [
      { id: 1, name: 'a' },
      { id: 2, name: 'b' },
      { id: 3, name: 'c' }
    ]);
    assert.match(await (await get('text/csv')).text(), /^id,name\n1,a\n/);
    assert.equal((await get('image/png')).status, 406);
    const head = await get(TYPE, 'HEAD');
    assert.deepEqual([head.status, head.headers.get('content-type'), live.size], [200, TYPE, 0]);
  });

  it('asks once for all readers of a text with its values and settings, and forgets it with the last one', async () => {
    let asked = 0;
    const { port, live, pool, change } = await serving({
      handler: (request, response, live) =>
        live.respond(request, response, 'SELECT count(*) + $1::int AS n FROM todos', [Number(request.url.slice(1))], {
          tags: ['todos']
        })
    });
    const { [LEASE]: lease } = pool;
    const { run } = lease;
    lease.run = (...work) => (asked++, run.apply(lease, work));
    const readers = [await reading(port, {}, '/1'), await reading(port, {}, '/1'), await reading(port, {}, '/2')];
    for (const reader of readers) await reader.next();
    assert.deepEqual([live.size, asked], [2, 2]);
    await change('DELETE FROM todos');
    assert.deepEqual(await readers[1].next(), ['D 1', 's']);
    assert.deepEqual(await readers[2].next(), ['D 2', 's']);
    assert.equal(asked, 4);
    readers[0].leave();
    readers[2].leave();
    await until(() => live.size === 1);
    readers[1].leave();
    await until(() => live.size === 0);
  });

  it('asks with settings, and shares a result only among readers with the same ones', async () => {
    const { port, live, change } = await serving({
      handler: (request, response, live) =>
        live.respond(request, response, "SELECT count(*) || current_setting('app.tenant') AS n FROM todos", [], {
          settings: { 'app.tenant': request.url }
        })
    });
    const readers = [await reading(port, {}, '/a'), await reading(port, {}, '/b'), await reading(port, {}, '/b')];
    for (const [i, name] of ['a', 'b', 'b'].entries())
      assert.deepEqual(await readers[i].next(), ['T', `D 3/${name}`, 's']);
    assert.equal(live.size, 2);
    await change('DELETE FROM todos');
    for (const [i, name] of ['a', 'b', 'b'].entries()) assert.deepEqual(await readers[i].next(), [`D 0/${name}`, 's']);
  });

  it('shares no result among readers with other settings, whatever these say of their JSON', async () => {
    class Tenant {
      constructor(id) {
        this['app.tenant'] = id;
      }
      toJSON() {
        return {};
      }
    }
    const { port, live } = await serving({
      handler: (request, response, live) =>
        live.respond(request, response, "SELECT current_setting('app.tenant') AS n", [], {
          settings: new Tenant(request.url)
        })
    });
    for (const id of ['/a', '/b']) assert.deepEqual(await (await reading(port, {}, id)).next(), ['T', `D ${id}`, 's']);
    assert.equal(live.size, 2);
  });

  it('shares no result among readers with other values or time limits, whatever JSON makes of these', async () => {
    const given = [[NaN], [null], [Infinity], [-0], [0], ['0'], [0, 1e6]];
    const { port, live } = await serving({
      handler: (request, response, live) => {
        const [value, statement_timeout] = given[Number(request.url.slice(1))];
        return live.respond(request, response, 'SELECT $1::float8 AS n', [value], { statement_timeout });
      }
    });
    const shown = [];
    for (const i of given.keys()) shown.push((await (await reading(port, {}, `/${i}`)).next())[1]);
    assert.deepEqual(shown, ['D NaN', 'D ', 'D Infinity', 'D -0', 'D 0', 'D 0', 'D 0']);
    assert.equal(live.size, 6);
  });

  it('takes a piece of sql', async () => {
    const { port, live } = await serving({
      handler: (request, response, live) =>
        live.respond(request, response, sql`SELECT ${2}::int AS n`, { tags: ['todos'] })
    });
    assert.deepEqual(await (await reading(port)).next(), ['T', 'D 2', 's']);
    const request = accept => new Request('http://localhost/', { headers: { accept } });
    const response = await live.respond(request(TYPE), sql`SELECT ${3}::int AS n`);
    assert.deepEqual(messagesIn(Buffer.from((await response.body.getReader().read()).value)).list, ['T', 'D 3', 's']);
    assert.deepEqual(await (await live.respond(request('application/json'), sql`SELECT ${4}::int AS n`)).json(), [
      { n: 4 }
    ]);
  });

  it('sends nothing if the rows are as before', async () => {
    const { port, change } = await serving();
    const reader = await reading(port);
    await reader.next();
    await change("UPDATE todos SET name = 'a' WHERE id = 1; UPDATE todos SET name = 'x' WHERE id = 0");
    await change("UPDATE todos SET name = 'last' WHERE id = 3");
    assert.deepEqual(await reader.next(), ['A copy 0 2', 'D 3 last', 's']);
  });

  it('hears of what has a tag of the result, and without tags of everything', async () => {
    const { port, live, database } = await serving({
      handler: (request, response, live) =>
        live.respond(request, response, ALL, [], request.url === '/all' ? {} : { tags: ['todos', 'lists'] })
    });
    const [tagged, all] = [await reading(port), await reading(port, {}, '/all')];
    await tagged.next();
    await all.next();
    await database.sql("UPDATE todos SET name = 'x' WHERE id = 3");
    live.changed('others');
    assert.deepEqual(await all.next(), ['A copy 0 2', 'D 3 x', 's']);
    live.changed('lists');
    assert.deepEqual(await tagged.next(), ['A copy 0 2', 'D 3 x', 's']);
    await database.sql("UPDATE todos SET name = 'y' WHERE id = 3");
    live.changed();
    assert.deepEqual(await tagged.next(), ['A copy 0 2', 'D 3 y', 's']);
    await database.sql("UPDATE todos SET name = 'z' WHERE id = 3");
    await live.follow((async function* () {})()); // what came before its end may be lost
    assert.deepEqual(await tagged.next(), ['A copy 0 2', 'D 3 z', 's']);
    assert.throws(() => live.changed(1), TypeError);
  });

  it('keeps connections alive', async () => {
    const { port } = await serving({ keepalive: 20, max_lifetime: 0 });
    const reader = await reading(port);
    assert.deepEqual(await reader.next('n'), [...WHOLE, 'n']);
    assert.deepEqual(await reader.next('n'), ['n']);
  });

  it('sends readers away after max_lifetime', async () => {
    const { port, answers } = await serving({ keepalive: 20, max_lifetime: 200 });
    const reader = await reading(port);
    assert.equal(await reader.ended, 'end');
    const { cmd, rowCount, bytes } = await answers[0];
    assert.deepEqual([cmd, rowCount, bytes > 100], ['SELECT', 3, true]);
  });

  it('rejects if the first query fails, and leaves the response to the handler', async () => {
    for (const [text, code] of [
      ['SELECT 1 / 0', '22012'],
      ['CREATE TEMP TABLE t ()', '0A000'],
      ["SELECT repeat('x', 2000000)", '54000'],
      ['SELECT generate_series(1, 20000)', '54000']
    ]) {
      const { url, errors, live } = await serving({
        handler: (request, response, live) => live.respond(request, response, text)
      });
      const response = await fetch(url, { headers: { accept: TYPE } });
      assert.equal(response.status, 500);
      assert.equal(errors[0][0].code, code, text);
      assert.equal(live.size, 0);
    }
  });

  it('sends readers away if a later query fails for good, with an event', async () => {
    const { port, errors, change, live } = await serving();
    const reader = await reading(port);
    await reader.next();
    await change('DROP TABLE todos');
    assert.equal(await reader.ended, 'end');
    assert.deepEqual([errors[0][0].code, errors[0][1]], ['42P01', { text: ALL, tags: ['todos'] }]);
    await until(() => live.size === 0);
  });

  it('keeps readers while the database is away, and gives the newest state afterwards', async () => {
    const { port, live, pool, change } = await serving();
    const reader = await reading(port);
    await reader.next();
    const { [LEASE]: lease } = pool;
    const { run } = lease;
    let failures = 0;
    lease.run = async () => {
      failures++;
      lease.run = run;
      throw Object.assign(new Error('gone'), { name: 'ConnectionError', code: '08006' });
    };
    await change('DELETE FROM todos WHERE id < 3');
    assert.deepEqual(await reader.next(), ['A copy 2 1', 's']);
    assert.deepEqual([failures, live.size], [1, 1]);
  });

  it('keeps readers if a later query fails for a reason that may pass', async () => {
    const { port, live, errors } = await serving();
    const reader = await reading(port);
    await reader.next();
    const holder = await connected();
    await holder.simpleQuery('BEGIN; LOCK todos; DELETE FROM todos WHERE id < 3');
    live.changed();
    await until(
      async () =>
        (
          await holder.query(
            "SELECT count(pg_cancel_backend(pid))::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query = $1",
            [ALL]
          )
        ).rows[0].n === 1
    );
    await until(() => errors.length === 1);
    await holder.simpleQuery('COMMIT');
    assert.deepEqual(await reader.next(), ['A copy 2 1', 's']);
    assert.deepEqual([errors[0][0].code, live.size], ['57014', 1]);
  });

  it('gives up the query of a result whose readers have left, so that it takes no turn from others', async () => {
    const { port, live, pool, errors, answers } = await serving({
      concurrency: 1,
      handler: (request, response, live) =>
        live.respond(request, response, request.url === '/' ? ALL : 'SELECT pg_sleep(600) AS readers_left')
    });
    const running = async () =>
      (
        await pool.query(
          "SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%readers_left' AND state = 'active'"
        )
      ).rows[0].n;
    const leaving = ['/slow', '/slow'].map(path =>
      http.get({ port, host: '127.0.0.1', path, agent: false, headers: { accept: TYPE } }).on('error', () => {})
    );
    await until(async () => answers.length === 2 && (await running()) === 1);
    const reader = reading(port);
    for (const request of leaving) request.destroy();
    assert.deepEqual(await (await reader).next(), WHOLE);
    await until(async () => (await running()) === 0);
    await Promise.all(answers.slice(0, 2));
    assert.deepEqual([live.size, errors], [1, []]);
  });

  it('may be told of a change in the function of a transaction, for which its query then waits', async () => {
    const client = await connected();
    const live = new Live(client, { interval: 0 });
    await client.query('DROP TABLE IF EXISTS told');
    await client.query('CREATE TABLE told AS SELECT 1 AS n');
    const response = await live.respond(new Request('http://localhost/', { headers: { accept: TYPE } }), 'TABLE told');
    const body = response.body.getReader();
    const next = async () => messagesIn(Buffer.from((await body.read()).value)).list;
    assert.deepEqual(await next(), ['T', 'D 1', 's']);
    await client.transaction(async tx => {
      await tx.query('UPDATE told SET n = 2');
      live.changed();
      await tx.query('SELECT 1');
    });
    assert.deepEqual(await next(), ['D 2', 's']);
    await live.end();
  });

  it('gives a slow reader the newest state, and no more than one waits', async () => {
    const { port, change, live } = await serving({
      handler: (request, response, live) =>
        live.respond(request, response, "SELECT id, name || repeat('x', 500000) FROM todos WHERE id = 1", [], {
          tags: ['todos']
        })
    });
    const slow = await reading(port);
    const quick = await reading(port);
    await slow.next();
    await quick.next();
    slow.response.pause();
    for (let i = 1; i <= 30; i++) {
      await change(`UPDATE todos SET name = '${i}.' WHERE id = 1`);
      assert.match((await quick.next()).at(-2), new RegExp(`^D 1 ${i}\\.`));
    }
    const late = await reading(port);
    await late.next(); // there is room for it, so the slow one stays
    late.leave();
    slow.response.resume();
    let states = 0;
    for (let last = ''; !last.startsWith('D 1 30.'); states++) last = (await slow.next()).at(-2);
    assert.ok(states < 30, `${states}`);
    slow.response.pause();
    await change("UPDATE todos SET name = 'a'");
    slow.leave();
    quick.leave();
    await until(() => live.size === 0);
  });

  it('gives up a reader that takes nothing for stall_timeout', async () => {
    const { port, change, answers } = await serving({
      handler: (request, response, live) =>
        live.respond(request, response, "SELECT id, name || repeat('x', 900000) FROM todos WHERE id = 1", [], {
          tags: ['todos'],
          stall_timeout: 50
        })
    });
    const reader = await reading(port);
    await reader.next();
    reader.response.pause();
    let over = false;
    answers[0].then(() => {
      over = true;
    });
    for (let i = 0; !over; i++) {
      await change(`UPDATE todos SET name = '${i}' WHERE id = 1`);
      await sleep(20);
    }
  });

  it('has room for max_readers and max_results', async () => {
    const { url, port, errors, answers } = await serving({
      max_readers: 2,
      max_results: 1,
      handler: (request, response, live) => live.respond(request, response, 'SELECT $1', [request.url])
    });
    const status = async path => (await fetch(new URL(path, url), { headers: { accept: TYPE } })).status;
    const reader = await reading(port, {}, '/a');
    await reader.next();
    assert.equal(await status('/b'), 500);
    const second = await reading(port, {}, '/a');
    await second.next();
    assert.equal(await status('/a'), 500);
    second.leave();
    await Promise.any(answers);
    await (await reading(port, {}, '/a')).next();
    assert.deepEqual(
      errors.map(([{ code, message }]) => [code, message]),
      [
        ['53300', 'there are 1 results (max_results)'],
        ['53300', 'there are 2 readers (max_readers)']
      ]
    );
    for (const [error] of errors) assert.equal(error.sent, false);
  });

  it('has room for max_total_bytes: a new result gets 503, one that has grown is dropped, and what has left makes room', async () => {
    const { url, port, change, live, errors, answers } = await serving({
      max_total_bytes: 200000,
      handler: (request, response, live) =>
        live.respond(
          request,
          response,
          "SELECT id, name || repeat('x', 40000) FROM todos WHERE $1 <> ''",
          [request.url],
          { tags: ['todos'] }
        )
    });
    const asked = async path => {
      const { status, headers } = await fetch(new URL(path, url), { headers: { accept: TYPE } });
      return [status, headers.get('retry-after')];
    };
    for (let i = 0; i < 4; i++) {
      const readers = [await reading(port, {}, '/a'), await reading(port, {}, '/a')];
      for (const each of readers) await each.next();
      assert.deepEqual(await asked('/b'), [503, '5']);
      assert.deepEqual(await answers.at(-1), { cmd: undefined, rowCount: 0, bytes: 0 });
      if (i % 2 === 0) await change("UPDATE todos SET name = repeat('y', 100000) WHERE id = 1");
      else for (const each of readers) each.leave();
      await Promise.all(readers.map(each => each.ended));
      await until(() => live.size === 0);
      if (i % 2 === 0) assert.deepEqual(await asked('/a'), [503, '5']);
      await change("UPDATE todos SET name = 'a' WHERE id = 1");
    }
    assert.deepEqual(errors, []);
  });

  it('cuts off, above max_total_bytes, a reader for whom alone an older state is kept', async () => {
    const { port, change, errors, answers } = await serving({
      max_total_bytes: 1500000,
      handler: (request, response, live) =>
        live.respond(request, response, "SELECT id, name || repeat('x', 900000) FROM todos WHERE id = 1", [], {
          tags: ['todos']
        })
    });
    const [slow, quick] = [await reading(port), await reading(port)];
    await Promise.all([slow.next(), quick.next()]);
    slow.response.pause();
    let cut = false;
    answers[0].then(() => {
      cut = true;
    });
    for (let i = 0; !cut; i++) {
      await change(`UPDATE todos SET name = '${i}' WHERE id = 1`);
      assert.match((await quick.next()).at(-2), new RegExp(`^D 1 ${i}x`));
    }
    assert.equal(quick.response.destroyed, false);
    assert.deepEqual(errors, []);
  });

  it('answers a WHATWG Request, until its signal aborts or its body is cancelled', async () => {
    const { live, change } = await serving();
    const controller = new AbortController();
    const request = () => new Request('http://localhost/', { headers: { accept: TYPE }, signal: controller.signal });
    const first = await live.respond(request(), ALL, [], { tags: ['todos'] });
    const second = await live.respond(request(), ALL);
    assert.deepEqual([first.status, first.headers.get('content-type'), live.size], [200, TYPE, 2]);
    const body = first.body.getReader();
    assert.deepEqual(messagesIn(Buffer.from((await body.read()).value)).list, WHOLE);
    await change('DELETE FROM todos WHERE id > 1');
    assert.deepEqual(messagesIn(Buffer.from((await body.read()).value)).list, ['A copy 0 1', 's']);
    await second.body.cancel();
    await until(() => live.size === 1);
    controller.abort();
    await assert.rejects(body.read());
    await until(() => live.size === 0);
    const plain = await live.respond(
      new Request('http://localhost/', { headers: { accept: 'application/json' } }),
      ALL
    );
    assert.deepEqual(await plain.json(), [{ id: 1, name: 'a' }]);
  });

  it('rejects if the signal of a WHATWG Request aborts before the first byte, as respond does', async () => {
    const { live } = await serving();
    for (const accept of [TYPE, 'application/json']) {
      const controller = new AbortController();
      const request = new Request('http://localhost/', { headers: { accept }, signal: controller.signal });
      const answer = live.respond(request, ALL);
      controller.abort();
      await assert.rejects(answer, { name: 'AbortError' }, accept);
    }
    await until(() => live.size === 0);
  });

  it('keeps a WHATWG Request until the reader leaves, since its signal would not abort otherwise', async () => {
    const { live } = await serving();
    v8.setFlagsFromString('--expose-gc');
    const collect = vm.runInNewContext('gc');
    const controller = new AbortController();
    const response = await live.respond(
      new Request('http://localhost/', { headers: { accept: TYPE }, signal: controller.signal }),
      ALL
    );
    const body = response.body.getReader();
    await body.read();
    for (let i = 0; i < 3; i++) {
      await turn();
      collect();
    }
    controller.abort();
    await assert.rejects(body.read());
    await until(() => live.size === 0);
  });

  it('serves HTTP/2', async () => {
    const { port, live, change } = await serving({ server: http2.createServer() });
    const session = http2.connect(`http://127.0.0.1:${port}`);
    afterTest(() => session.destroy());
    const streams = Array.from({ length: 20 }, () => session.request({ ':path': '/', accept: TYPE }));
    const next = async stream => messagesIn((await once(stream, 'data'))[0]).list;
    for (const list of await Promise.all(streams.map(next))) assert.deepEqual(list, WHOLE);
    const states = Promise.all(streams.map(next));
    await change('DELETE FROM todos WHERE id = 2');
    for (const list of await states) assert.deepEqual(list, ['A copy 0 1', 'A copy 2 1', 's']);
    for (const stream of streams.slice(1)) stream.close();
    const last = next(streams[0]);
    await change('DELETE FROM todos');
    assert.deepEqual(await last, ['s']);
    session.close();
    streams[0].close();
    await until(() => live.size === 0);
  });

  it('sends readers away at its end, ends what it follows, and takes no more readers', async () => {
    const { port, live, pool, url, errors } = await serving();
    const followed = live.follow(pool.listen('changes'));
    const reader = await reading(port);
    await reader.next();
    await live.end();
    assert.equal(live.size, 0); // all have left
    assert.equal(await reader.ended, 'end');
    await followed;
    assert.equal((await fetch(url, { headers: { accept: TYPE } })).status, 500);
    assert.equal(errors[0][0].code, '08003');
    const late = pool.listen('changes');
    await live.follow(late);
    assert.deepEqual(await late.next(), { done: true, value: undefined });
    await live.end();
  });

  it('shows what it has missed while the network was dark', async () => {
    shorten(Channels, 'silenceLimit', 20);
    const proxy = await startProxy({ target: await sharedServer() });
    const { live, port, database } = await serving();
    const distant = new Pool({ ...database.config, host: proxy.host, port: proxy.port });
    const changes = distant.listen('todos_changed', { keepalive: 20 });
    await changes.ready;
    const followed = live.follow(changes);
    const reader = await reading(port);
    await reader.next();
    proxy.connections[0].stall();
    await database.sql("UPDATE todos SET name = 'z' WHERE id = 3; NOTIFY todos_changed, 'todos'");
    assert.ok((await reader.next()).some(message => message.includes('z')));
    await distant.end();
    await followed;
    await proxy.stop();
  });

  /** Live results whose pool has `idle` unused connections; `silence()` makes all open ones silent, new ones work. */
  async function distant(options, idle = 3) {
    const proxy = await startProxy({ target: await sharedServer() });
    afterTest(() => proxy.stop());
    const served = await serving({ config: { host: proxy.host, port: proxy.port }, ...options });
    await Promise.all(
      Array.from({ length: idle }, () => served.pool.query('SELECT pg_sleep(0.01)', [], { alone: true }))
    );
    return { ...served, silence: () => proxy.open.forEach(wire => wire.stall()), reset: () => proxy.reset() };
  }

  it('is asked for again if its connection is lost', async () => {
    const { database, port, reset } = await distant();
    const holder = await connected();
    await holder.simpleQuery('BEGIN; LOCK todos');
    const reader = reading(port);
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query = '${ALL}'`;
    await until(async () => (await database.sql(waiting)).length === 1);
    reset();
    await holder.simpleQuery('COMMIT');
    const { response, next } = await reader;
    assert.equal(response.statusCode, 200);
    assert.deepEqual(await next(), WHOLE);
  });

  it('is asked for on a new connection when the one that listens was silent', async () => {
    shorten(Channels, 'silenceLimit', 20);
    const { live, pool, port, database, silence, errors } = await distant();
    const listened = pool.listen('changes', { keepalive: 50 });
    await listened.ready;
    live.follow(listened);
    const reader = await reading(port);
    await reader.next();
    silence();
    await database.sql("UPDATE todos SET name = 'z' WHERE id = 3");
    assert.ok((await reader.next()).some(message => message.includes('z')));
    assert.deepEqual(errors, []);
  });

  it('is asked for on a new connection when the answer took longer than its statement_timeout', async () => {
    const { change, port, silence, errors } = await distant({ statement_timeout: 1000 });
    const reader = await reading(port);
    await reader.next();
    silence();
    await change("UPDATE todos SET name = 'z' WHERE id = 3");
    assert.ok((await reader.next()).some(message => message.includes('z')));
    assert.deepEqual(
      errors.map(([{ name, message }]) => [name, message]),
      [['TimeoutError', 'the query took longer than its statement_timeout of 1000 ms']]
    );
  });

  it('is asked for with the statement_timeout of the request, else with that of the Live', async () => {
    const { port, errors } = await serving({
      statement_timeout: 50,
      handler: (request, response, live) =>
        live.respond(
          request,
          response,
          'SELECT pg_sleep(0.2)',
          [],
          request.url === '/long' ? { statement_timeout: 9000 } : {}
        )
    });
    await (await reading(port, {}, '/long')).next();
    assert.equal((await reading(port)).response.statusCode, 500);
    assert.deepEqual(
      errors.map(([{ message }]) => message),
      ['the query took longer than its statement_timeout of 50 ms']
    );
  });

  it('ends all that it follows although one iterator throws then', async () => {
    const live = new Live(new Pool());
    const ended = [];
    for (const error of [new Error('no'), undefined]) {
      const iterator = {
        [Symbol.asyncIterator]: () => iterator,
        next: () => new Promise(() => {}),
        return() {
          ended.push(error);
          if (error) throw error;
        }
      };
      live.follow(iterator);
    }
    await live.end();
    assert.equal(ended.length, 2);
  });

  it('forgets the tags of results that have left', async () => {
    const { live } = await serving();
    const come = async tag => {
      const controller = new AbortController();
      const request = new Request('http://localhost/', { headers: { accept: TYPE }, signal: controller.signal });
      const { body } = await live.respond(request, 'SELECT 1 AS a', [], { tags: [tag] });
      await body.getReader().read();
      controller.abort();
      await until(() => live.size === 0);
    };
    await come('first');
    gc();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 10; i++) await come(`${i} ${'x'.repeat(4e6)}`);
    await until(() => {
      gc();
      return process.memoryUsage().heapUsed < before + 15e6;
    });
  });

  it('leaves nothing behind when readers come and go', async () => {
    const { port, live, server, answers, errors } = await serving();
    for (let round = 0; round < 20; round++) {
      const requests = Array.from({ length: 10 }, () =>
        http.get({ port, host: '127.0.0.1', agent: false, headers: { accept: TYPE } }).on('error', () => {})
      );
      await Promise.all(requests.map((request, i) => (i % 2 ? once(request, 'response') : sleep(round % 3))));
      for (const request of requests) request.destroy();
    }
    await until(() => live.size === 0);
    await Promise.all(answers);
    assert.deepEqual(errors, []);
    await until(
      async () =>
        (await new Promise(resolve => {
          server.getConnections((error, count) => resolve(count));
        })) === 0
    );
  });

  it('leaves nothing behind when HTTP clients have left before, and whatever ends their connections', async () => {
    const handler = async (request, response, live) => {
      if (request.url === '/late') await once(request.stream ?? request, 'close');
      return live.respond(request, response, ALL, [], { tags: ['todos'] });
    };
    const [one, two] = [await serving({ handler }), await serving({ handler, server: http2.createServer() })];
    const late = http.get({ port: one.port, host: '127.0.0.1', path: '/late', agent: false }).on('error', () => {});
    await once(one.server, 'request');
    late.destroy();
    const socket = net.connect(one.port, '127.0.0.1');
    socket.write(`GET / HTTP/1.1\r\nHost: a\r\nAccept: ${TYPE}\r\n\r\n`.repeat(3)); // the others wait for their turn
    await until(() => one.answers.length === 4);
    assert.equal(one.live.size, 1);
    socket.resetAndDestroy();
    const sessions = ['destroy', 'close', 'goaway'].map(how => ({
      how,
      session: http2.connect(`http://127.0.0.1:${two.port}`).on('error', () => {})
    }));
    for (const { how, session } of sessions) {
      for (const path of ['/late', '/', '/']) {
        const stream = session.request({ ':path': path, accept: TYPE }).on('error', () => {});
        if (path === '/') await once(stream, 'data');
        else setTimeout(() => stream.close(http2.constants.NGHTTP2_CANCEL), 5);
      }
      session[how]();
      setTimeout(() => session.destroy(), 5);
    }
    await until(() => one.live.size === 0 && two.live.size === 0 && two.answers.length >= 9);
    await Promise.allSettled([...one.answers, ...two.answers]);
  });

  it('says what it is, whatever type the handler has set before', async () => {
    const { port } = await serving({
      handler: (request, response, live) => {
        response.setHeader('content-type', 'text/html');
        return live.respond(request, response, ALL);
      }
    });
    const reader = await reading(port);
    assert.equal(reader.response.headers['content-type'], TYPE);
    assert.deepEqual(await reader.next(), WHOLE);
  });

  it('fails for one reader alone if other code has sent its headers', async () => {
    const { url, errors, port, change } = await serving({
      handler: (request, response, live) => {
        const answer = live.respond(request, response, 'SELECT name, pg_sleep(0.02) FROM todos', [], {
          tags: ['todos']
        });
        if (request.url === '/late') response.writeHead(504).flushHeaders();
        return answer.finally(() => {
          if (request.url === '/late') response.end();
        });
      }
    });
    const [{ status }, reader] = await Promise.all([
      fetch(new URL('/late', url), { headers: { accept: TYPE } }),
      reading(port)
    ]);
    await reader.next();
    await change('DELETE FROM todos');
    assert.deepEqual(
      [status, await reader.next(), errors.map(([{ code }]) => code)],
      [504, ['s'], ['ERR_HTTP_HEADERS_SENT']]
    );
  });

  it('ends a reader by the signal of its request', async () => {
    const controller = new AbortController();
    const { port, answers } = await serving({
      handler: (request, response, live) => live.respond(request, response, ALL, [], { signal: controller.signal })
    });
    const reader = await reading(port);
    await reader.next();
    const other = await reading(port);
    other.leave();
    await answers[1];
    assert.equal(getEventListeners(controller.signal, 'abort').length, 1); // for all readers
    controller.abort();
    assert.equal(await reader.ended, 'end');
    await answers[0];
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
    const live = new Live(await connected());
    const request = new Request('http://localhost/', { headers: { accept: TYPE } });
    await assert.rejects(live.respond(request, ALL, [], { signal: AbortSignal.abort() }), { name: 'AbortError' });
    const early = new AbortController();
    const asked = live.respond(request, 'SELECT pg_sleep(600)', [], { signal: early.signal });
    await until(() => live.size === 1);
    early.abort();
    await assert.rejects(asked, { name: 'AbortError' });
    await until(() => live.size === 0);
  });

  it('works with a client, and refuses wrong sessions and options', async () => {
    const client = await connected();
    const live = new Live(client);
    const response = await live.respond(
      new Request('http://localhost/', { headers: { accept: TYPE } }),
      'SELECT 1 AS n'
    );
    assert.equal(messagesIn(Buffer.from((await response.body.getReader().read()).value)).list.join(), 'T,D 1,s');
    await live.end();
    const refuses = (make, message) => assert.throws(make, { name: 'TypeError', message });
    refuses(() => new Live(), /a Live takes a Pool or a Client, not undefined/);
    refuses(
      () => new Live(new ResponseCache(client)),
      /a Live takes a Pool or a Client, not an object of class ResponseCache/
    );
    refuses(() => new Live(client, { interval: -1 }), /interval must be a number from 0, not -1/);
    refuses(() => new Live(client, { keepalive: 0 }), /keepalive must be a number from 1, not 0/);
    refuses(() => new Live(client, { timeout: 1 }), /there is no option timeout here/);
    const request = new Request('http://localhost/', { headers: { accept: TYPE } });
    await assert.rejects(new Live(client).respond(request, 'SELECT 1', [], { tags: 'todos' }), {
      message: 'tags must be an array of strings'
    });
    for (const [options, kind] of [
      [null, 'null'],
      ['todos', 'a string'],
      [() => {}, 'a function: there are no callbacks, but promises, streams and async iterables']
    ]) {
      await assert.rejects(new Live(client).respond(request, 'SELECT 1', [], options), {
        name: 'TypeError',
        message: `options must be an object, not ${kind}`
      });
    }
    await assert.rejects(
      new Live(client).respond(request, 'SELECT 1', [], { stream: 1 }),
      /there is no option stream here/
    );
    await assert.rejects(new Live(client).respond(request, 'SELECT 1', 7), TypeError);
    await assert.rejects(
      new Live(client).respond(request, 'SELECT 1', [], { max_age: 1 }),
      /there is no option max_age here/
    );
    await assert.rejects(new Live(client).respond(request, 'SELECT 1', [], { format: 1 }), {
      name: 'TypeError',
      message: /text format: leave out format/
    });
    await assert.rejects(new Live(client).respond(request, 'COPY users FROM STDIN'), {
      name: 'UsageError',
      code: '0A000'
    });
    await assert.rejects(new Live(client).respond(request, ' -- '), {
      message: 'a live result is that of a SELECT that returns rows, not of an empty text'
    });
    for (const none of [undefined, null]) {
      await assert.rejects(new Live(client).respond(none, none), {
        name: 'TypeError',
        message: /^(?:request|response) must be /
      });
    }
    await assert.rejects(new Live(client).follow(7), { name: 'TypeError', message: /follow takes an async iterable/ });
    const pool = new Pool((await sharedServer()).config);
    await new Live(pool).end();
    await pool.end();
  });
});
