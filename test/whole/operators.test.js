'use strict';

// The table of lib/DEPLOYING.md: what an operator sees of what happens.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const { tracingChannel } = require('node:diagnostics_channel');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { Client } = require('../..');
const { Statements } = require('../../lib/core/pipeline/statements');
const { Pool } = require('../../lib/pool');
const { endAfterTest } = require('../support/hooks');
const { connected, held, sharedServer } = require('../support');
const { slow, until } = require('../support/kit');

const root = path.join(__dirname, '../..');
const turn = () => new Promise(setImmediate);

/** The rows of the table: what happens, and the names of metrics, of which the later ones leave out the beginning. */
const ROWS = fs
  .readFileSync(path.join(root, 'lib/DEPLOYING.md'), 'utf8')
  .split('## What you see')[1]
  .split('\n## ')[0]
  .split('\n')
  .filter(line => /^\| [a-z]/.test(line))
  .slice(1)
  .map(line => {
    const [, what, , , metrics] = line.split('|');
    const names = [...metrics.matchAll(/`((?:db\.client)?\.[\w.]+)`/g)].map(([, name]) =>
      name.replace(/^\./, 'db.client.connection.')
    );
    return { what: what.split(':')[0].trim(), metrics: names };
  });

/** OpenTelemetry's meter, as far as opentelemetry.mjs needs it. `seen` has what was recorded, by name. */
function fakeMeter() {
  const seen = {};
  const note = (name, value, attributes) => (seen[name] ??= []).push({ value, ...attributes });
  const instrument = name => ({
    name,
    record: (...given) => note(name, ...given),
    add: (...given) => note(name, ...given)
  });
  let look;
  return {
    seen,
    createHistogram: instrument,
    createCounter: instrument,
    createObservableUpDownCounter: instrument,
    addBatchObservableCallback: callback => (look = callback),
    removeBatchObservableCallback: () => (look = undefined),
    collect: () => look({ observe: ({ name }, ...given) => note(name, ...given) })
  };
}

describe('What an operator sees', () => {
  let config, instrument, meter, seen, stop;
  const onend = query => seen.push(query);
  const { asyncEnd } = tracingChannel('quickgres:query');
  before(async () => {
    ({ config } = await sharedServer());
    ({ instrument } = await import('../recipes/opentelemetry.mjs'));
  });
  beforeEach(() => {
    seen = [];
    meter = fakeMeter();
    stop = () => {};
    asyncEnd.subscribe(onend);
  });
  afterEach(() => {
    stop();
    asyncEnd.unsubscribe(onend);
  });

  /** A pool whose metrics the meter gets. */
  function measured(...given) {
    const pool = endAfterTest(new Pool(...given));
    stop = instrument({ meter, pools: { main: pool } });
    return pool;
  }

  /** What the metric of queries has recorded of an error. */
  const failures = () =>
    meter.seen['db.client.operation.duration'].map(each => each['error.type']).filter(type => type !== undefined);

  /** A pool, and the function that lets its owner end. */
  async function owned(options) {
    const pool = measured(config, options);
    await pool.query('SELECT 1');
    let finish;
    const owner = pool.transaction(async tx => {
      await tx.query("SELECT 'leaked'");
      await new Promise(resolve => (finish = resolve));
    });
    while (finish === undefined) await turn();
    return { pool, finish, owner };
  }

  const happens = {
    'slow query': async () => {
      const pool = measured(config);
      const { call, release } = await held();
      const running = pool.query(`SELECT ${call}, pg_sleep(0.05)`);
      await until(() => pool.stats.holders.some(({ text }) => text?.includes('pg_sleep(…)')));
      await release();
      await running;
      const { duration, firstByte } = seen.find(({ text }) => text.includes('pg_sleep'));
      assert.ok(duration >= 49 && firstByte > 0);
      assert.ok(meter.seen['db.client.operation.duration'].some(({ value }) => value >= 0.049));
    },
    exhaustion: async () => {
      const { pool, finish, owner } = await owned({ size: 1, acquire_timeout: 300 });
      const refused = pool.query('SELECT 2');
      meter.collect();
      assert.equal(meter.seen['db.client.connection.pending_requests'][0].value, 1);
      assert.equal(pool.stats.waiting, 1);
      assert.equal(pool.stats.owned, 1);
      await assert.rejects(refused, { code: '53300', message: /SELECT '…'/ });
      assert.equal(seen.find(({ text }) => text === 'SELECT 2').error.code, '53300');
      const waiting = pool.query('SELECT 3');
      finish();
      await Promise.all([owner, waiting]);
      assert.ok(seen.find(({ text }) => text === 'SELECT 3').waited > 0);
      assert.deepEqual(meter.seen['db.client.connection.timeouts'], [
        { value: 1, 'db.client.connection.pool.name': 'main' }
      ]);
      assert.ok(meter.seen['db.client.connection.wait_time'].some(({ value }) => value > 0));
    },
    leak: async () => {
      const { pool, finish, owner } = await owned({ size: 2 });
      const [{ owned: isOwned, text, time }] = pool.stats.holders;
      assert.deepEqual([isOwned, text], [true, "SELECT '…'"]);
      await turn();
      assert.ok(pool.stats.holders[0].time > time);
      meter.collect();
      const used = meter.seen['db.client.connection.count'].find(each => each['db.client.connection.state'] === 'used');
      assert.equal(used.value, 1);
      finish();
      await owner;
    },
    outage: async () => {
      const errors = [];
      const pool = measured({ ...config, host: '127.0.0.1', port: 1 });
      pool.on('error', error => errors.push(error));
      await assert.rejects(pool.query('SELECT 4'), { name: 'ConnectionError', message: /ECONNREFUSED/ });
      assert.equal(seen[0].error.name, 'ConnectionError');
      assert.equal(pool.stats.connected, 0);
      await turn();
      assert.equal(errors.length, 1);
      assert.deepEqual(failures(), ['ECONNREFUSED']);
    },
    failover: async () => {
      const pool = measured(config, { size: 1 });
      await pool.query('SELECT 5');
      const lost = once(pool, 'error');
      const error = await pool.query('SELECT pg_terminate_backend(pg_backend_pid())').catch(error => error);
      await lost;
      await pool.query('SELECT 5');
      const [before, failed, after] = seen;
      assert.equal(failed.error, error);
      assert.deepEqual(failures(), [error.code]);
      assert.ok(before.processId > 0 && after.processId > 0 && before.processId !== after.processId);
    },
    'pooler in transaction mode': async () => {
      Statements.hasWarned = false;
      const warnings = [];
      const listen = warning => warnings.push(warning.message);
      process.on('warning', listen);
      for (let clients = 0; clients < 2; clients++) {
        const client = await connected();
        await client.query('SELECT 6');
        await client.query("DO 'BEGIN EXECUTE ''DEALLOCATE ALL''; END'"); // as if another server answered
        await client.query('SELECT 6');
      }
      await turn();
      process.off('warning', listen);
      assert.equal(warnings.length, 1);
      assert.match(warnings[0], /statement_cache: 0/);
    },
    'slow reader': async () => {
      const pool = measured(config);
      const reader = slow();
      const text = "SELECT repeat('x', 1000) FROM generate_series(1, 100000)";
      const reading = pool.queryTo(reader, text, [], { stall_timeout: 50 });
      await assert.rejects(reading, {
        name: 'TimeoutError',
        code: '57014',
        message: /took nothing for .*stall_timeout/
      });
      assert.equal(seen.find(each => each.text === text).error.code, '57014');
      assert.deepEqual(failures(), ['57014']);
    }
  };

  it('is in a table whose rows are tested here', () =>
    assert.deepEqual(
      ROWS.map(({ what }) => what),
      Object.keys(happens)
    ));

  it('is a span without values, which has the command of a cursor that has more rows', async () => {
    const spans = [];
    const tracer = {
      startSpan: (name, { attributes }) => {
        const span = { attributes };
        spans.push(span);
        return {
          setAttributes: more => Object.assign(attributes, more),
          setStatus: status => Object.assign(span, { status }),
          updateName: given => Object.assign(span, { name: given }),
          end: () => {}
        };
      }
    };
    stop = instrument({ tracer });
    const client = await connected(config);
    for await (const { n } of client.cursor("SELECT generate_series(1, 2) AS n, E'it\\'s 4242'", [], { batchSize: 1 }))
      n;
    await assert.rejects(client.query('SELECT $1::int', ['a secret']), /a secret/);
    const [first] = spans.filter(({ attributes }) => attributes['db.query.text'].includes('generate_series'));
    assert.match(first.name, /^SELECT /);
    assert.equal(first.attributes['db.query.text'], 'SELECT generate_series(?, ?) AS n, ?');
    assert.equal(spans.at(-1).status.message, '22P02');
    assert.doesNotMatch(JSON.stringify(spans), /secret|4242|it's|SUSPENDED/);
  });

  for (const { what, metrics } of ROWS) {
    it(`of this, with the metrics that the table names: ${what}`, async () => {
      await happens[what]();
      assert.deepEqual(
        metrics.filter(name => meter.seen[name] === undefined),
        []
      );
    });
  }

  it('is printed with NODE_DEBUG=quickgres, and nothing without it', async () => {
    const program = `
      const { Client } = require(${JSON.stringify(root)});
      const client = new Client(${JSON.stringify(config)});
      client.connect();
      client.query('SELECT $1::text', ['a secret']).then(() => client.query('SELECT 1 / 0')).catch(() => client.end());`;
    const printed = env =>
      spawnSync(process.execPath, ['-e', program], {
        encoding: 'utf8',
        env: { ...process.env, ...env }
      }).stderr;
    const lines = printed({ NODE_DEBUG: 'quickgres' }).trim().split('\n');
    assert.equal(lines.length, 4, lines.join('\n'));
    assert.match(lines[0], /connected to .*, database .*, user /);
    assert.match(lines[1], /[\d.]+ ms, waited [\d.]+, first byte [\d.]+: SELECT 1: SELECT \$1::text$/);
    assert.match(lines[2], /: division by zero: SELECT 1 \/ 0$/);
    assert.match(lines[3], /not connected: the client was ended$/);
    assert.ok(!lines.join().includes('a secret'));
    assert.equal(printed({ NODE_DEBUG: '' }), '');
  });

  it('of a wrong config is an error that shows the caller', async () => {
    const connectTo = async given => {
      await new Client(given).connect();
    };
    const ask = async given => {
      await endAfterTest(new Pool(given)).query('SELECT 1');
    };
    for (const work of [connectTo, ask]) {
      const { name, stack } = await work({ port: 'x' }).catch(error => error);
      assert.equal(name, 'TypeError');
      assert.match(stack, new RegExp(`at (?:async )?${work.name}`));
    }
  });
});
