'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { setImmediate: turn } = require('node:timers/promises');
const { LEASE } = require('../../../lib/core/internal');
const { AbortError, PostgresError } = require('../../..');
const {
  sharedServer,
  connected,
  proxied,
  faked,
  answering,
  message,
  rowDescription,
  dataRow,
  ANSWER
} = require('../../support');
const { gc } = require('../../support/gc');
const { typesOf } = require('../../support/kit');

/** Calls back with the name of each promise that settles, in their order. */
function inOrder(promises) {
  const order = [];
  return Promise.all(Object.entries(promises).map(([name, promise]) => promise.then(() => order.push(name)))).then(
    () => order
  );
}

/** A table of the test's own, which every backend sees. */
async function table(columns = 'id int PRIMARY KEY, v text') {
  await (await sharedServer()).sql(`DROP TABLE IF EXISTS pipeline; CREATE TABLE pipeline (${columns})`);
}

const ids = async client => (await client.query('SELECT id FROM pipeline ORDER BY id')).rows.map(row => Number(row.id));

/** Types of the messages that were sent since `from`. */
const types = (wire, from) => typesOf(wire.recorded.toServer, from);

describe('The connection', () => {
  it('is one owner’s after another, in the order in which they came', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (i int)');
    const order = inOrder({
      first: client.query('SELECT 1'),
      transaction: client.transaction(async tx => {
        await tx.query('INSERT INTO t VALUES (1)');
        await turn();
        assert.equal((await tx.query('SELECT count(*) AS n FROM t')).rows[0].n, 1);
      }),
      copy: client.query('COPY t FROM STDIN').then(async () => {
        await turn();
        client.copyData('2\n3\n');
        await client.copyDone();
      }),
      cursor: (async () => {
        const cursor = client.cursor('SELECT i FROM t ORDER BY i', [], { batchSize: 1 });
        for (const i of [1, 2, 3]) assert.equal((await cursor.next()).value.i, i);
        cursor.return(); // the loop would end with the answer to COMMIT, which comes together with those behind it
      })(),
      batch: client.batch([['INSERT INTO t VALUES (4)'], ['SELECT sum(i) AS sum FROM t']]).then(
        ([
          ,
          {
            rows: [row]
          }
        ]) => {
          assert.equal(row.sum, 10);
        }
      ),
      simple: client.simpleQuery('DELETE FROM t; SELECT 1').then(([{ rowCount }]) => assert.equal(rowCount, 4)),
      last: client.query('SELECT count(*) AS n FROM t').then(({ rows: [row] }) => assert.equal(row.n, 0))
    });
    assert.deepEqual(await order, ['first', 'transaction', 'copy', 'cursor', 'batch', 'simple', 'last']);
  });

  it('carries nothing of others while it is somebody’s', async () => {
    const { client, wire } = await proxied({ statement_cache: 0 });
    await client.query('CREATE TEMP TABLE t (i int)');
    const from = wire.recorded.toServer.length;
    const copy = client.query('COPY t FROM STDIN');
    const behind = [client.query('SELECT 1'), client.simpleQuery('SELECT 2'), client.batch([['SELECT 3']])];
    await copy;
    assert.equal(types(wire, from), 'Q');
    client.copyData('1\n');
    await client.copyDone();
    await Promise.all(behind);
    assert.equal(types(wire, from), 'Q' + 'dc' + 'PDBES' + 'Q' + 'PDBES');
  });

  it('goes on when what waits for it is given up', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (i int)');
    const abort = new AbortController();
    const { signal } = abort;
    const barrier = client.query('SELECT pg_sleep(0.05)', [], { signal: new AbortController().signal });
    const given = [
      client.query('COPY t FROM STDIN', [], { signal }),
      client.cursor('SELECT 1', [], { signal }).next(),
      client.query('SELECT 1', [], { signal }),
      client.batch([['SELECT 1']], { signal }),
      client.simpleQuery('SELECT 1', { signal })
    ];
    const wrong = [
      client.query('COPY t FROM STDIN', [new Map()]),
      client.query('SELECT $1', [Symbol('x')]),
      client.query('COPY t FROM STDIN', ['\0'])
    ];
    const after = client.query('SELECT 2 AS two');
    abort.abort();
    for (const promise of given) await assert.rejects(promise, AbortError);
    for (const promise of wrong) await assert.rejects(promise, TypeError);
    await barrier;
    assert.equal((await after).rows[0].two, 2);
    assert.equal(client.pending, 0);
  });

  it('goes on when very many that wait for it are given up', async () => {
    const client = await connected();
    const abort = new AbortController();
    require('node:events').setMaxListeners(0, abort.signal);
    const { signal } = abort;
    const slow = client.query('SELECT pg_sleep(0.05)', [], { signal: new AbortController().signal });
    const all = Array.from({ length: 4000 }, (_, i) => {
      return i % 2
        ? client.query('COPY x FROM STDIN', [], { signal })
        : client.cursor('SELECT 1', [], { signal }).next();
    });
    abort.abort();
    const results = await Promise.allSettled(all);
    assert.ok(results.every(({ reason }) => reason instanceof AbortError));
    await slow;
    await client.query('SELECT 1');
    assert.equal(client.pending, 0);
  });

  it('goes on when a COPY or a portal cannot be begun', async () => {
    const client = await connected();
    await assert.rejects(client.query('COPY missing FROM STDIN'), { code: '42P01' });
    await assert.rejects(client.query('COPY missing FROM STDIN', [new Map()]), TypeError);
    client.startQuery('SELEC');
    await assert.rejects(client.getResults(1), { code: '42601' });
    await assert.rejects(client.cursor('SELECT * FROM missing').next(), { code: '42P01' });
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  it('reports an error that only the end of a portal brings', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (i int UNIQUE DEFERRABLE INITIALLY DEFERRED)');
    const text = 'INSERT INTO t SELECT 1 FROM generate_series(1, 5) RETURNING i';
    const behind = [];
    const all = async () => {
      for await (const row of client.cursor(text, [], { batchSize: 2 })) assert.equal(row.i, 1);
    };
    const promise = all();
    behind.push(client.query('SELECT count(*) AS n FROM t'));
    await assert.rejects(promise, { code: '23505' });
    client.startQuery(text);
    await client.getResults(2);
    await assert.rejects(client.sync(), { code: '23505' });
    behind.push(client.query('SELECT count(*) AS n FROM t'));
    for (const {
      rows: [row]
    } of await Promise.all(behind))
      assert.equal(row.n, 0);
  });
});

describe('Promises', () => {
  it('settle in the order of the calls, rejected ones too', async () => {
    const client = await connected();
    await client.query('SELECT 1 AS one');
    for (let i = 0; i < 5; i++) {
      const order = [];
      const note = name => () => order.push(name);
      await Promise.all([
        client.query('SELECT 1/0').then(note('resolved'), note(1)),
        client.query('SELECT 1 AS one').then(note(2)),
        client.query('SELECT 2 AS two').then(note(3)),
        client.query('SELEC').catch(note(4)),
        client.batch(['SELECT 1', 'SELEC']).catch(note(5)),
        client.simpleQuery('SELECT 1/0').catch(note(6)),
        client.query('SELECT 3').then(note(7)),
        client.query('SELECT 1/0').catch(note(8)),
        client.sync().then(note(9)),
        client.close('S', 'no').then(note(10)),
        client.query('SELECT 3').then(note(11))
      ]);
      assert.deepEqual(order, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    }
  });

  it('that reject show who awaits them, in a pipeline as well', async () => {
    const client = await connected();
    async function asksTheServer(text) {
      return await client.query(text);
    }
    const [failed, , also] = await Promise.allSettled([
      asksTheServer('SELECT 1/0'),
      asksTheServer('SELECT 1'),
      asksTheServer('SELEC')
    ]);
    for (const { reason } of [failed, also])
      assert.match(reason.stack, /^PostgresError: .+\n(.*\n)*.*at async asksTheServer .*pipeline\.test\.js/);
  });
});

describe('An idle connection', () => {
  it('keeps no result', async () => {
    const client = await connected();
    const reference = async work => new WeakRef(await work);
    for (const work of [
      () => client.query('SELECT 1'),
      () => client.batch(['SELECT 1']),
      () => client.simpleQuery('SELECT 1')
    ]) {
      const result = await reference(work());
      await turn();
      gc();
      assert.equal(result.deref(), undefined, String(work));
    }
  });
});

describe('A connection that is lost', () => {
  it('rejects what waits and what is asked later, and sends nothing of it', async () => {
    const { client, wire } = await proxied();
    const { signal } = new AbortController();
    const { pipeline } = client[LEASE];
    const sent = client.query('SELECT pg_sleep(60)', [], { signal });
    pipeline.hold();
    const waiting = [
      client.query('SELECT 1'),
      client.batch(['SELECT 2']),
      client.simpleQuery('SELECT 3'),
      client.cursor('SELECT 4').next(),
      client.transaction(tx => tx.query('SELECT 5')),
      client.query('COPY users FROM STDIN'),
      client.query('SELECT 6', [], { signal })
    ];
    await turn();
    await turn();
    const from = wire.recorded.toServer.length;
    client.destroy();
    await assert.rejects(sent, { name: 'ConnectionError', sent: true });
    for (const { reason } of await Promise.allSettled(waiting))
      assert.deepEqual([reason.name, reason.sent], ['ConnectionError', false], reason.stack);
    await assert.rejects(client.query('SELECT 7'), { name: 'ConnectionError', sent: false });
    await assert.rejects(client.simpleQuery('SELECT 8'), { name: 'ConnectionError' });
    await turn();
    assert.deepEqual([pipeline.pending, pipeline.head, pipeline.writer.length, pipeline.socket], [0, null, 0, null]);
    assert.equal(wire.recorded.toServer.length, from);
  });
});

describe('What a connection that is lost rejects', () => {
  it('has an error of its own, which shows its caller', async () => {
    const client = await connected();
    async function asksTheServer() {
      return await client.query('SELECT pg_sleep(60)');
    }
    const asked = [asksTheServer(), asksTheServer()];
    client.destroy();
    const [first, second] = (await Promise.allSettled(asked)).map(({ reason }) => reason);
    assert.notEqual(first, second);
    for (const { stack } of [first, second]) assert.match(stack, /at async asksTheServer .*pipeline\.test\.js/);
  });

  it('has one for each of the first thousand requests, and one for all others', async () => {
    const client = await connected();
    const asked = Array.from({ length: 1100 }, () => client.query('SELECT pg_sleep(60)'));
    await new Promise(setImmediate); // now they have left
    client.destroy();
    const errors = (await Promise.allSettled(asked)).map(({ reason }) => reason);
    assert.equal(new Set(errors).size, 1000);
    assert.deepEqual([errors[0].sent, errors[1099].sent], [true, true]);
  });
});

describe('A transaction block that queries begin', () => {
  beforeEach(() => table());

  it('is joined by other queries, in their order', async () => {
    const client = await connected();
    await Promise.all([
      client.query('BEGIN'),
      client.query('INSERT INTO pipeline VALUES (1)'),
      client.batch([['INSERT INTO pipeline VALUES (2)'], ['INSERT INTO pipeline VALUES (3)']]),
      client.simpleQuery('INSERT INTO pipeline VALUES (4)'),
      client.query('ROLLBACK')
    ]);
    assert.deepEqual(await ids(client), []);
  });

  it('refuses transaction(), while queries and cursors go on in it', async () => {
    const client = await connected();
    const refused = {
      name: 'UsageError',
      code: '25001',
      message: /^the transaction cannot begin in the block that a query has begun/
    };
    const [, transaction, row] = await Promise.allSettled([
      client.query('BEGIN'),
      client.transaction(tx => tx.query('INSERT INTO pipeline VALUES (1)')),
      client.cursor('SELECT 1').next()
    ]);
    assert.match(transaction.reason.message, refused.message);
    assert.match(row.reason.message, /^the transaction of a cursor cannot begin/);
    await client.query('ROLLBACK');
    await client.query('BEGIN');
    await assert.rejects(
      client.transaction(() => {}),
      refused
    );
    client.startQuery('INSERT INTO pipeline VALUES (2) RETURNING id');
    assert.equal((await client.getResults()).rows[0].id, 2);
    const rows = [];
    for await (const { id } of client.cursor('SELECT id FROM pipeline', [], { batchSize: 1 })) rows.push(id);
    assert.deepEqual(rows, [2]);
    await client.query('ROLLBACK');
    await client.transaction(tx => tx.query('INSERT INTO pipeline VALUES (3)'));
    assert.deepEqual(await ids(client), [3]);
  });
});

describe('A server that answers as none does', () => {
  it('ends the connection by 08P01 where it sends the result of a statement that it has not described', async () => {
    const failing = [ANSWER.error('57014', 'cancelled'), ANSWER.ready];
    for (const ask of [
      client => client.query('SELECT a'),
      client => client.query('SELECT a', [], { stream: new PassThrough().resume() }),
      client => client.queryTo(new PassThrough().resume(), 'SELECT a', [], { as: 'values' })
    ]) {
      const client = await answering(
        ...failing,
        ANSWER.bindComplete,
        dataRow('1'),
        message('C', 'SELECT 1\0'),
        ANSWER.ready
      );
      const [first, second] = await Promise.allSettled([client.query('SELECT a'), ask(client)]);
      assert.equal(first.reason.code, '57014');
      assert.equal(second.reason.code, '08P01');
      assert.match(second.reason.message, /protocol violation: the result of a statement that was not described/);
    }
  });

  it('ends the connection by 08P01 whatever our code throws at its bytes', async () => {
    const client = await answering(ANSWER.parseComplete, ANSWER.ready);
    client[LEASE].pipeline.head = null;
    client[LEASE].pipeline.message = () => {
      throw new RangeError('beyond the end');
    };
    await assert.rejects(client.query('SELECT a'), {
      name: 'ConnectionError',
      code: '08P01',
      message: /an answer that cannot be read \(beyond the end\)/
    });
  });
});

describe('A query whose statement is stale', () => {
  beforeEach(() => table());
  const alter = async () => (await sharedServer()).sql('ALTER TABLE pipeline ADD COLUMN w int');
  const select = client => client.query('SELECT * FROM pipeline');

  it('is sent again together with all those behind it that are', async () => {
    const client = await connected();
    await select(client);
    await alter();
    const results = await Promise.all(Array.from({ length: 100 }, () => select(client)));
    for (const { rowParser } of results) assert.equal(rowParser.columns.length, 3);
    const next = client.query('SELECT 1 AS one');
    assert.equal((await next).rows[0].one, 1);
  });

  it('is sent again where its result goes to a stream, also if it writes', async () => {
    const client = await connected();
    for (const text of [
      'SELECT * FROM pipeline',
      'UPDATE pipeline SET v = v RETURNING *',
      'DELETE FROM pipeline RETURNING *'
    ]) {
      await table();
      const ask = () => client.queryTo(new PassThrough().resume(), text);
      await ask();
      await ask();
      await alter();
      assert.equal((await ask()).rowCount, 0);
    }
  });

  it('is not sent again where a transaction was begun behind it: it would be in its block', async () => {
    const client = await connected();
    await select(client);
    await alter();
    const stale = assert.rejects(select(client), { code: '0A000' });
    const results = await Promise.all([
      client.transaction(tx => tx.query('SELECT 1 AS one')),
      client.query('SELECT 2 AS two')
    ]);
    assert.deepEqual(
      results.map(({ rows: [row] }) => row[0]),
      [1, 2]
    );
    await stale;
    assert.equal((await select(client)).rowParser.columns.length, 3);
  });

  it('is not sent again where something behind it was carried out: the order stays, streamed or not', async () => {
    const text = 'DELETE FROM pipeline RETURNING *';
    const sink = () => new PassThrough().resume();
    for (const ask of [
      client => client.query(text),
      client => client.query(text, [], { stream: sink() }),
      client => client.queryTo(sink(), text)
    ]) {
      await table();
      const client = await connected();
      await ask(client);
      await alter();
      const results = await Promise.allSettled([ask(client), client.query('INSERT INTO pipeline VALUES (1)')]);
      assert.deepEqual(
        results.map(({ reason }) => reason && reason.code),
        ['0A000', undefined]
      );
      assert.deepEqual(await ids(client), [1]);
      assert.equal((await client.query(text)).rowCount, 1);
    }
  });

  it('is sent again where what was carried out behind it only reads, as it does itself', async () => {
    const client = await connected();
    await client.query('INSERT INTO pipeline VALUES (1)');
    await select(client);
    const results = await Promise.all([
      client.query('ALTER TABLE pipeline ADD COLUMN w int'),
      select(client),
      client.query('SELECT 1 AS one'),
      select(client),
      client.query("SELECT 'one'"),
      select(client)
    ]);
    assert.deepEqual(
      results.map(({ rowParser }) => rowParser && rowParser.columns.length),
      [undefined, 3, 1, 3, 1, 3]
    );
  });

  it('is not sent again where something behind it failed: that may have done something all the same', async () => {
    const client = await connected();
    const remove = () => client.query('DELETE FROM pipeline RETURNING *');
    await remove();
    await alter();
    const [stale, failed] = await Promise.allSettled([remove(), client.query('INSERT INTO pipeline VALUES (1/0)')]);
    assert.deepEqual([stale.reason.code, failed.reason.code], ['0A000', '22012']);
    assert.equal((await remove()).cmd, 'DELETE');
  });

  it('is sent again with the bytes of its Buffers as they were; where they are many, it rejects', async () => {
    const client = await connected();
    const query = bytes => client.query('SELECT *, $1::bytea AS bytes FROM pipeline', [bytes]);
    await client.query('INSERT INTO pipeline VALUES (1)');
    await query(Buffer.from('ab'));
    await alter();
    const bytes = Buffer.from('cd');
    const stale = query(bytes);
    await new Promise(resolve => {
      process.nextTick(resolve);
    });
    bytes.fill(0);
    assert.equal((await stale).rows[0].bytes.toString(), 'cd');
    await query(Buffer.from('ef'));
    await (await sharedServer()).sql('ALTER TABLE pipeline ADD COLUMN x int');
    await assert.rejects(query(Buffer.alloc(10000)), { code: '0A000' });
    assert.equal((await query(Buffer.alloc(10000))).rows[0].bytes.length, 10000);
  });

  it('rejects before a block, a COPY or a portal behind it, and gets into none', async () => {
    for (const behind of [
      client => Promise.all(['BEGIN', 'INSERT INTO pipeline VALUES (1)', 'ROLLBACK'].map(text => client.query(text))),
      async client => {
        await client.query('COPY pipeline (id) FROM STDIN');
        client.copyData('1\n');
        await client.copyFail();
      },
      async client => {
        let rows = 0;
        for await (const row of client.cursor('SELECT generate_series(1, 10)', [], { batchSize: 3 }))
          rows += row.columnCount;
        assert.equal(rows, 10);
      }
    ]) {
      await table();
      const client = await connected();
      await select(client);
      await alter();
      const [stale, other] = await Promise.allSettled([select(client), behind(client)]);
      assert.deepEqual([stale.reason && stale.reason.code, other.reason], ['0A000', undefined]);
      assert.deepEqual(await ids(client), []);
      assert.equal((await select(client)).rowParser.columns.length, 3, 'the next call works');
    }
  });

  it('is the first part of a cursor, which begins again', async () => {
    const client = await connected();
    await client.query('INSERT INTO pipeline SELECT generate_series(1, 10)');
    const read = async () => {
      let sum = 0;
      for await (const row of client.cursor('SELECT * FROM pipeline', [], { batchSize: 3 })) sum += Number(row.id);
      return sum;
    };
    await read();
    await alter();
    const after = client.query('SELECT 1');
    assert.equal(await read(), 55);
    await after;
  });

  it('leaves nothing of it on the server', async () => {
    const client = await connected();
    for (let i = 0; i < 5; i++) {
      await select(client);
      await (await sharedServer()).sql(`ALTER TABLE pipeline ADD COLUMN w${i} int`);
      await Promise.all([select(client), select(client), select(client)]);
    }
    await client.sync();
    const { rows } = await client.query('SELECT name FROM pg_prepared_statements', [], { cache: false });
    assert.ok(rows.length <= 1, `${rows.length} statements`);
  });
});

describe('What the server says between answers', () => {
  it('may be a flood of notices and parameters', async () => {
    const client = await connected();
    let notices = 0;
    let parameters = 0;
    client.on('notice', () => notices++);
    client.on('parameter', () => parameters++);
    const flood = client.query("DO $$ BEGIN FOR i IN 1..20000 LOOP RAISE NOTICE 'notice %', i; END LOOP; END $$");
    const all = [flood];
    for (let i = 0; i < 500; i++) all.push(client.query(`SET application_name = 'a${i % 7}'`));
    await Promise.all(all);
    assert.equal(notices, 20000);
    assert.equal(parameters, 500);
    assert.equal(client.serverParameters.application_name, 'a2');
  });

  it('is no error of a query when nothing is asked', async () => {
    const client = await connected();
    const lost = client.closed;
    await (await sharedServer()).sql(`SELECT pg_terminate_backend(${client.processId})`);
    const error = await lost;
    assert.ok(error instanceof PostgresError);
    assert.equal(error.code, '57P01');
  });

  it('is nothing that a listener which throws could break', async () => {
    const client = await connected();
    const thrown = [];
    const others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', error => thrown.push(error.message));
    const boom = name => () => {
      throw new Error(name);
    };
    try {
      for (const name of ['notice', 'notification', 'parameter', 'error', 'end', 'drain']) client.on(name, boom(name));
      client.onNotice = boom('onNotice');
      client.onNotification = boom('onNotification');
      await client.query('LISTEN thrown');
      const behind = client.query("SET application_name = 'a'");
      await client.query("DO $$ BEGIN RAISE NOTICE 'a'; END $$");
      await client.query('NOTIFY thrown');
      await behind;
      assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
      await turn();
      for (const name of ['notice', 'onNotice', 'notification', 'onNotification', 'parameter'])
        assert.ok(thrown.includes(name), name);
      const waiting = client.query('SELECT pg_sleep(60)');
      await (await sharedServer()).sql(`SELECT pg_terminate_backend(${client.processId})`);
      await assert.rejects(waiting, { name: /Error$/ });
      assert.equal((await client.closed).code, '57P01');
      await turn();
      assert.deepEqual(thrown.slice(-2).sort(), ['end', 'error']);
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const each of others) process.on('uncaughtException', each);
    }
  });

  it('is no part of a row that cannot come yet', async () => {
    const client = await answering(
      ANSWER.parseComplete,
      ANSWER.noParameters,
      rowDescription('a'),
      dataRow('x'.repeat(1e6))
    );
    const target = new PassThrough();
    await assert.rejects(client.queryTo(target, 'SELECT a'), { name: 'ConnectionError', code: '08P01' });
    assert.equal(target.read(), null);
  });

  it('may be no endless list of parameters', async () => {
    const client = await faked(async conversation => {
      await conversation.request();
      for (let i = 0; i < 5000 && !conversation.over; i++) {
        conversation.say(message('S', `name${i}\0value\0`));
        if (i % 100 === 0) await turn();
      }
    });
    await assert.rejects(client.query('SELECT 1'), {
      name: 'ConnectionError',
      code: '08P01',
      message: /more than 1000 parameters/
    });
    assert.equal(client.state, 'closed');
    assert.ok(Object.keys(client.serverParameters).length <= 1000);
  });

  it('may be the same parameters for ever', async () => {
    const client = await faked(async conversation => {
      await conversation.request();
      for (let i = 0; i < 3000; i++) conversation.say(message('S', `name\0${i}\0`));
      conversation.say(ANSWER.described(), message('C', 'SET\0'), ANSWER.ready);
    });
    assert.equal((await client.query('SET a = b')).cmd, 'SET');
    assert.equal(client.serverParameters.name, '2999');
  });
});
