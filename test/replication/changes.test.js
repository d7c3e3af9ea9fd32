'use strict';

const assert = require('node:assert/strict');
const timers = require('node:timers/promises');
const { startProxy, startServer } = require('pg-test-fixtures');
const { Client } = require('../..');
const { changes } = require('../../lib/replication');
const { afterTest } = require('../support/hooks');
const { until } = require('../support/kit');

const { setTimeout: sleep } = timers;
const FILE = require.resolve('../../lib/replication/changes');

/** `changes` with pauses that take no time. @returns {{changes: function, pauses: number[]}} */
function withoutPauses() {
  const pauses = [];
  const loaded = require.cache[FILE];
  delete require.cache[FILE];
  timers.setTimeout = async pause => void pauses.push(pause);
  try {
    return { ...require(FILE), pauses };
  } finally {
    timers.setTimeout = sleep;
    require.cache[FILE] = loaded;
  }
}

describe('changes', function () {
  let server, writer, proxy;
  const loops = [];

  before(async () => {
    server = await startServer({
      external: false,
      users: { weak: { password: 'secret' } },
      settings: { wal_level: 'logical', max_wal_senders: 10, max_replication_slots: 10 }
    });
    await server.sql(`CREATE TABLE items (id int PRIMARY KEY, name text, done bool, at timestamptz, data bytea, list int[]);
      CREATE PUBLICATION pub FOR TABLE items; CREATE PUBLICATION "o'dd" FOR TABLE items`);
    proxy = await startProxy({ target: server });
    writer = new Client(server.config);
    await writer.connect();
  });
  after(async () => {
    writer?.destroy();
    await proxy?.stop();
    await server?.stop();
  });
  beforeEach(() => writer.query('TRUNCATE items'));
  afterEach(async () => {
    for (const loop of loops.splice(0)) await loop.return().catch(() => {});
    await until(async () => (await slots('WHERE active')).length === 0);
    await server.sql('SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots');
  });

  const slots = where => server.sql(`SELECT * FROM pg_replication_slots ${where}`);
  const streaming = async () =>
    (await server.sql("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'")).length;
  const insert = (...ids) => writer.query(`INSERT INTO items (id) VALUES (${ids.join('), (')})`);

  /** A loop that ends with its test; it has begun when its slot is there. */
  function loop(options, config = server.config) {
    const made = changes(config, { publication: 'pub', ...options });
    loops.push(made);
    return made;
  }

  /** The next changes of rows; asks the loop past nothing else. */
  async function take(from, count) {
    const list = [];
    while (list.length < count) {
      const { value, done } = await from.next();
      if (done) throw new Error('the loop has ended');
      if (value.type !== 'begin' && value.type !== 'commit') list.push(value);
    }
    return list;
  }

  /** Asks for the first change, and waits until the slot is read. */
  async function begin(from, count = 1) {
    const taken = take(from, count);
    taken.catch(() => {});
    await until(async () => (await slots('WHERE active AND confirmed_flush_lsn IS NOT NULL')).length > 0);
    await until(async () => (await streaming()) > 0);
    return { taken };
  }

  const ids = list => list.map(each => (each.type === 'missed' ? 'missed' : each.new.id));

  it('gives transactions with decoded values, and takes its temporary slot away', async () => {
    const each = loop();
    const { taken } = await begin(each, 3);
    await writer.query(`INSERT INTO items VALUES (1, 'a', false, '2026-01-02 03:04:05+00', '\\x0102', '{1,2}')`);
    await writer.query('UPDATE items SET id = 2, done = true');
    await writer.query('DELETE FROM items');
    const [inserted, updated, deleted] = await taken;
    assert.equal(inserted.relation.name, 'items');
    assert.deepEqual(inserted.new, {
      id: 1,
      name: 'a',
      done: false,
      at: new Date('2026-01-02T03:04:05Z'),
      data: Buffer.of(1, 2),
      list: [1, 2]
    });
    assert.deepEqual([updated.key, updated.new.id, updated.new.done, deleted.key], [{ id: 1 }, 2, true, { id: 2 }]);
    assert.equal((await each.next()).value.type, 'commit');
    await each.return();
    assert.deepEqual(await each.next(), { value: undefined, done: true });
    await until(async () => (await slots('')).length === 0);
  });

  it('gives strings with decode: false, and takes decoders from the config', async () => {
    const plain = loop({ decode: false }, server.url);
    const own = loop({ publication: ["o'dd", 'pub'] }, { ...server.config, decode: { 23: text => `int ${text}` } });
    const first = await begin(plain);
    const second = take(own, 1);
    await until(async () => (await slots('WHERE active')).length >= 2);
    await until(async () => (await streaming()) >= 2);
    await writer.query('INSERT INTO items (id, done) VALUES (1, true)');
    assert.deepEqual(Object.values((await first.taken)[0].new), ['1', null, 't', null, null, null]);
    assert.deepEqual((await second)[0].new.id, 'int 1');
  });

  it('says that changes were missed when a temporary slot was lost with its connection', async () => {
    const each = loop({}, { ...server.config, host: proxy.host, port: proxy.port });
    const { taken } = await begin(each);
    await insert(1);
    assert.deepEqual(ids(await taken), [1]);
    proxy.cut();
    const missed = take(each, 1);
    assert.deepEqual(await missed, [{ type: 'missed' }]);
    const next = take(each, 1);
    await until(async () => (await streaming()) > 0);
    await insert(2);
    assert.deepEqual(ids(await next), [2]);
  });

  it('connects again after pauses that double up to 5 s, and then from 50 ms', async () => {
    const { changes: hasty, pauses } = withoutPauses();
    const each = hasty({ ...server.config, host: proxy.host, port: proxy.port }, { publication: 'pub' });
    loops.push(each);
    for (const round of [1, 2]) {
      const { taken } = await begin(each); // which ends the outage
      await insert(round);
      await taken;
      pauses.length = 0;
      proxy.refuse();
      proxy.cut();
      const missed = take(each, 1);
      await until(() => pauses.length >= 12);
      proxy.accept();
      assert.deepEqual(await missed, [{ type: 'missed' }]);
      pauses.forEach((pause, index) => {
        const most = Math.min(50 * 2 ** index, 5000);
        assert.ok(pause >= most / 2 && pause <= most, `pause ${index} of round ${round}: ${pause}`);
      });
    }
  });

  it('notices a network that went dark, and no slow reader, by a server that does not answer', async () => {
    const each = loop({ statusInterval: 50 }, { ...server.config, host: proxy.host, port: proxy.port });
    const { taken } = await begin(each);
    await insert(1);
    await taken;
    await writer.query("INSERT INTO items (id, name) SELECT i, repeat('x', 100) FROM generate_series(2, 5000) i");
    const wire = proxy.connections.at(-1);
    const { toServer } = wire.stats.flights;
    await until(() => wire.stats.flights.toServer >= toServer + 6, 'six intervals');
    assert.equal((await take(each, 4999)).at(-1).new.id, 5000, 'it was not read for six intervals');
    wire.stall();
    assert.deepEqual(await take(each, 1), [{ type: 'missed' }]);
    wire.reset(); // the server has not noticed
  });

  it('gives every transaction of a lasting slot that it was not asked past, also after the server was killed', async () => {
    const each = loop({ slot: 'audit' });
    const { taken } = await begin(each);
    await insert(1);
    await insert(2, 3);
    assert.deepEqual(ids(await taken), [1]);
    assert.deepEqual(ids(await take(each, 1)), [2]);
    await server.kill();
    await server.start();
    writer = new Client(server.config);
    await writer.connect();
    await insert(4);
    // The transaction of 2 and 3 was not over; that of 1 was confirmed, but the server may not have written that down.
    const again = [];
    while (again.at(-1) !== 4) again.push(...ids(await take(each, 1)));
    assert.deepEqual(
      again.filter(id => id !== 1),
      [2, 3, 4]
    );
  });

  it('confirms a transaction when it is asked past it, so that another loop goes on behind it', async () => {
    const each = loop({ slot: 'audit' });
    const { taken } = await begin(each);
    await insert(1);
    await insert(2);
    await taken;
    assert.deepEqual(ids(await take(each, 1)), [2]);
    await each.return();
    const other = loop({ slot: 'audit' }); // waits until the slot is free
    assert.deepEqual(ids(await take(other, 1)), [2]);
  });

  it('reads a snapshot at the beginning of its slot, once, and calls again after a loss in between', async () => {
    await insert(1, 2);
    let calls = 0;
    const seen = [];
    const snapshot = async tx => {
      await insert(10 + ++calls);
      const { rows } = await tx.query('SELECT id FROM items ORDER BY id', [], { decode: true });
      seen.push(rows.map(({ id }) => id));
      if (calls === 1) throw new Error('no');
    };
    await assert.rejects(loop({ slot: 'audit', snapshot }).next(), { message: 'no' });
    await until(async () => (await slots('')).length === 0); // no slot without its snapshot
    const each = loop({ slot: 'audit', snapshot });
    assert.deepEqual(ids(await take(each, 1)), [12]);
    assert.deepEqual(seen, [
      [1, 2],
      [1, 2, 11]
    ]);
    assert.deepEqual(
      (await slots('')).map(({ slot_name: name, temporary }) => [name, temporary]),
      [['audit', 'f']]
    );
    await each.return();
    const again = loop({ slot: 'audit', snapshot });
    assert.deepEqual(ids(await take(again, 1)), [12]);
    assert.equal(calls, 2);
  });

  it('reads a snapshot from the server of its slot, whatever else is in its list of hosts', async () => {
    const other = await startServer({ external: false });
    afterTest(() => other.stop());
    const gate = await startProxy({ target: other });
    afterTest(() => gate.stop());
    gate.refuse();
    let connections = 0;
    const password = async () => {
      if (++connections === 2) gate.accept(); // the first host has refused
      return 'any';
    };
    const { user, database, host, port } = server.config;
    const config = { user, database, password, host: `${gate.host},${host}`, port: `${gate.port},${port}` };
    let count;
    const each = loop({ snapshot: async tx => ({ rowCount: count } = await tx.query('SELECT FROM items')) }, config);
    const { taken } = await begin(each);
    await insert(1);
    await taken;
    assert.equal(count, 0);
  });

  it('makes another slot if its snapshot is lost with its connection while the loop is not asked further', async () => {
    let snapshots = 0;
    const each = loop({ snapshot: () => void snapshots++ }, { ...server.config, host: proxy.host, port: proxy.port });
    const { taken } = await begin(each);
    await insert(1);
    await taken;
    for (let i = 0; i < 2; i++) {
      proxy.cut();
      await until(async () => (await slots('')).length === 0);
      assert.deepEqual(await take(each, 1), [{ type: 'missed' }]);
    }
    const next = take(each, 1);
    await until(async () => (await streaming()) > 0);
    await insert(2);
    assert.deepEqual([ids(await next), snapshots], [[2], 2]);
  });

  it('ends at once by its signal and by return while a snapshot is read, and rejects with whatever snapshot throws', async () => {
    for (const wait of [tx => tx.query('SELECT pg_sleep(100)'), () => new Promise(() => {})]) {
      const controller = new AbortController();
      const reason = new Error('enough');
      const aborted = loop({
        slot: 'audit',
        signal: controller.signal,
        snapshot(tx) {
          setImmediate(() => controller.abort(reason));
          return wait(tx);
        }
      });
      await assert.rejects(aborted.next(), error => error === reason);
      let reads;
      const reading = new Promise(resolve => {
        reads = resolve;
      });
      const returned = loop({
        snapshot(tx) {
          reads();
          return wait(tx);
        }
      });
      const next = returned.next();
      await reading;
      await returned.return();
      assert.equal((await next).done, true);
    }
    const throwing = loop({ snapshot: () => Promise.reject() });
    await assert.rejects(throwing.next(), error => error === undefined);
    await until(async () => (await slots('')).length === 0);
  });

  it('calls snapshot for a temporary slot after each loss', async () => {
    let calls = 0;
    const each = loop(
      {
        snapshot: async () => {
          calls++;
        }
      },
      { ...server.config, host: proxy.host, port: proxy.port }
    );
    const { taken } = await begin(each);
    await insert(1);
    await taken;
    proxy.cut();
    assert.deepEqual(await take(each, 1), [{ type: 'missed' }]);
    const next = take(each, 1);
    await until(async () => (await streaming()) > 0);
    assert.equal(calls, 2);
    await insert(2);
    await next;
  });

  it('reads a snapshot with names: camel, where its rows have such names and its changes those of the server', async () => {
    const seen = [];
    const snapshot = async tx => seen.push(...(await tx.query('SELECT 1 AS "item_id"')).objects);
    const { taken } = await begin(loop({ snapshot }, { ...server.config, names: 'camel' }));
    await server.sql('ALTER TABLE items ADD COLUMN item_id int');
    await insert(1);
    const [{ new: row }] = await taken;
    assert.deepEqual([seen, row.item_id], [[{ itemId: 1 }], null]);
    await server.sql('ALTER TABLE items DROP COLUMN item_id');
  });

  it('keeps one connection when it has read its snapshot and knows the types', async () => {
    await server.sql("CREATE TYPE mood AS ENUM ('ok')");
    const options = { snapshot: async () => {}, decode: { mood: String } };
    const each = loop(options, { ...server.config, application_name: 'alone' });
    const { taken } = await begin(each);
    await insert(1);
    await taken;
    const alone = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'alone'";
    await until(async () => (await server.sql(alone)).length === 1);
  });

  it('asks nothing about types with decode: false', async () => {
    await server.sql(`CREATE TYPE plain AS (a int); CREATE TABLE plains (id int PRIMARY KEY, value plain);
      CREATE PUBLICATION plains FOR TABLE plains`);
    const before = proxy.connections.length;
    const options = { publication: 'plains', decode: false };
    const { taken } = await begin(loop(options, { ...server.config, host: proxy.host, port: proxy.port }));
    await server.sql('INSERT INTO plains VALUES (1, ROW(1))');
    assert.deepEqual((await taken)[0].new, { id: '1', value: '(1)' });
    assert.equal(proxy.connections.length - before, 1);
  });

  it('asks anew what types are on a new connection, which may be to another database', async () => {
    await server.sql(`CREATE TYPE renamed AS (a int); CREATE TABLE named (id int PRIMARY KEY, value renamed);
      CREATE PUBLICATION named FOR TABLE named`);
    const options = { publication: 'named', slot: 'audit' };
    const each = loop(options, { ...server.config, host: proxy.host, port: proxy.port });
    const { taken } = await begin(each);
    await server.sql('INSERT INTO named VALUES (1, ROW(1))');
    assert.deepEqual((await taken)[0].new.value, { a: 1 });
    await server.sql('ALTER TYPE renamed RENAME ATTRIBUTE a TO b; INSERT INTO named VALUES (2, ROW(2))');
    assert.deepEqual((await take(each, 1))[0].new.value, { a: 2 });
    proxy.cut();
    await server.sql('INSERT INTO named VALUES (3, ROW(3))');
    let last;
    do [last] = await take(each, 1);
    while (last.new.id !== 3);
    assert.deepEqual(last.new.value, { b: 3 });
  });

  it('asks what a type is as long as it takes, after pauses that double up to 5 s', async () => {
    await server.sql(`CREATE TYPE colour AS ENUM ('red'); CREATE TABLE cars (id int PRIMARY KEY, colours colour[]);
      CREATE PUBLICATION cars FOR TABLE cars`);
    const { changes: hasty, pauses } = withoutPauses();
    const each = hasty({ ...server.config, host: proxy.host, port: proxy.port }, { publication: 'cars' });
    loops.push(each);
    const { taken } = await begin(each);
    proxy.refuse();
    await server.sql("INSERT INTO cars VALUES (1, '{red}')");
    await until(() => pauses.length >= 9);
    proxy.accept();
    assert.deepEqual((await taken)[0].new.colours, ['red']);
    assert.deepEqual(pauses.slice(0, 9), [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  });

  /** Bytes with which a server refuses a connection. */
  const refusal = code => {
    const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mno\0\0`);
    const header = Buffer.from('E\0\0\0\0');
    header.writeInt32BE(fields.length + 4, 1);
    return Buffer.concat([header, fields]);
  };

  it('connects again, as a pool does, whatever the server says of what another attempt may change', async () => {
    await server.sql(`CREATE TYPE fruit AS ENUM ('pear'); CREATE TABLE baskets (id int, fruits fruit[]);
      CREATE PUBLICATION baskets FOR TABLE baskets`);
    const passing = [
      ['disable', '55000'], // the database does not accept connections
      ['disable', '58030'],
      ['disable', 'XX000'],
      ['prefer', '53000'] // it cannot start a process, and says so instead of an answer to SSLRequest
    ];
    for (const [sslmode, code] of [...passing, ['disable', '28000'], ['disable', '3D000']]) {
      let answer;
      const gate = await startProxy({
        target: server,
        onConnection: connection => answer !== undefined && connection.inject(answer)
      });
      afterTest(() => gate.stop());
      const { changes: hasty, pauses } = withoutPauses();
      const each = hasty({ ...server.config, host: gate.host, port: gate.port, sslmode }, { publication: 'baskets' });
      loops.push(each);
      const { taken } = await begin(each);
      const refuse = () => {
        pauses.length = 0;
        answer = refusal(code);
      };
      const isPassing = passing.some(([, each]) => each === code);
      if (isPassing) refuse();
      await server.sql("INSERT INTO baskets VALUES (1, '{pear}')");
      if (isPassing) await until(() => pauses.length > 0);
      answer = undefined;
      assert.deepEqual((await taken)[0].new.fruits, ['pear'], `a type, ${code}`);
      const missed = take(each, 1);
      refuse();
      gate.cut();
      if (!isPassing) {
        await assert.rejects(missed, { code });
        continue;
      }
      missed.catch(() => {});
      await until(() => pauses.length > 1, code);
      answer = undefined;
      assert.deepEqual(await missed, [{ type: 'missed' }], `the loop, ${code}`);
      await each.return();
    }
  });

  it('says that changes were missed if its lasting slot is gone', async () => {
    const each = loop({ slot: 'audit' }, { ...server.config, host: proxy.host, port: proxy.port });
    const { taken } = await begin(each);
    await insert(1);
    await taken;
    proxy.refuse();
    proxy.cut();
    await until(async () => (await slots('WHERE active')).length === 0);
    await server.sql("SELECT pg_drop_replication_slot('audit')");
    proxy.accept();
    assert.deepEqual(await take(each, 1), [{ type: 'missed' }]);
  });

  it('says that changes were missed if the answer was lost with which its lasting slot was made anew', async () => {
    const each = loop({ slot: 'audit' }, { ...server.config, host: proxy.host, port: proxy.port });
    const { taken } = await begin(each);
    await insert(1);
    await taken;
    const next = take(each, 2);
    proxy.refuse();
    proxy.cut();
    await until(async () => (await slots('WHERE active')).length === 0);
    await server.sql("SELECT pg_drop_replication_slot('audit')");
    await writer.transaction(async tx => {
      await tx.query('INSERT INTO items (id) VALUES (2)');
      proxy.accept();
      const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'transactionid'"; // for the end of this one
      await until(async () => (await server.sql(waiting)).length === 1);
      proxy.stall();
    });
    await until(async () => (await slots('WHERE NOT active')).length === 1);
    proxy.cut();
    proxy.resume();
    await insert(3, 4);
    assert.deepEqual(ids(await next), ['missed', 3]);
  });

  it('goes on with a slot that another process has made since it was looked for', async () => {
    await server.sql("CREATE TYPE kind AS ENUM ('a')");
    let connections = 0;
    const password = async () => {
      // The second connection asks what the type is, before the slot is made.
      if (++connections === 2) await server.sql("SELECT pg_create_logical_replication_slot('audit', 'pgoutput')");
      return 'any';
    };
    const each = loop({ slot: 'audit', decode: { kind: String } }, { ...server.config, password });
    const { taken } = await begin(each);
    await insert(1);
    assert.deepEqual(ids(await taken), ['1']);
  });

  it('rejects if another process has made the slot while the snapshot was read: its changes fit another one', async () => {
    const snapshot = () => server.sql("SELECT pg_create_logical_replication_slot('audit', 'pgoutput')");
    await assert.rejects(loop({ slot: 'audit', snapshot }).next(), { code: '42710' });
  });

  it('rejects for a publication that is dropped', async () => {
    await server.sql('CREATE PUBLICATION short FOR TABLE items');
    const each = loop({ publication: ['pub', 'short'], slot: 'audit' });
    const { taken } = await begin(each);
    await insert(1);
    assert.deepEqual(ids(await taken), [1]);
    await server.sql('DROP PUBLICATION short');
    const [{ lsn }] = await server.sql('SELECT pg_current_wal_lsn() AS lsn');
    await insert(2);
    await assert.rejects(take(each, 1), { code: '42704', message: /publication "short"/ });
    await server.sql('CREATE PUBLICATION short FOR TABLE items');
    const next = loop({ publication: ['pub', 'short'], slot: 'audit' });
    // The first change comes again if the loop ended before its commit was confirmed.
    await assert.rejects(take(next, 2), { code: '42704', message: /publication "short"/ });
    await until(async () => (await slots('WHERE active')).length === 0);
    assert.equal((await slots(`WHERE confirmed_flush_lsn <= '${lsn}'`)).length, 1);
    await server.sql('DROP PUBLICATION short');
  });

  it('says at once what is missing', async () => {
    const fails = (options, config, expected) => assert.rejects(loop(options, config).next(), expected);
    await fails({ publication: 'nopub' }, server.config, {
      name: 'UsageError',
      code: '42704',
      message: 'publication "nopub" does not exist in this database: CREATE PUBLICATION "nopub" FOR TABLE …'
    });
    await fails(
      {},
      { ...server.config, user: 'weak', password: 'secret' },
      { code: '42501', message: /: give the role the right with ALTER ROLE … REPLICATION$/ }
    );
    await fails({}, { ...server.config, port: 1 }, { code: 'ECONNREFUSED' });
    const plain = await startServer({ external: false, settings: { wal_level: 'replica' } });
    try {
      await fails({}, plain.config, {
        code: '55000',
        message: 'wal_level is replica: set wal_level = logical, and restart the server'
      });
    } finally {
      await plain.stop();
    }
  });

  it('ends by its signal, whatever it waits for', async () => {
    for (const config of [server.config, { ...server.config, host: proxy.host, port: proxy.port }]) {
      const controller = new AbortController();
      const each = loop({ signal: controller.signal }, config);
      const next = each.next();
      await sleep(config === server.config ? 100 : 0);
      controller.abort(new Error('enough'));
      await assert.rejects(next, { message: 'enough' });
      assert.deepEqual(await each.next(), { value: undefined, done: true });
    }
    await assert.rejects(loop({ signal: AbortSignal.abort(new Error('before')) }).next(), { message: 'before' });
  });

  it('ends while it waits for a change', async () => {
    const each = loop();
    const next = (await begin(each), each.next());
    assert.deepEqual(await each.return('value'), { value: 'value', done: true });
    assert.deepEqual(await next, { value: undefined, done: true });
  });

  it('refuses wrong options before it connects', () => {
    const refuses = (options, message) => assert.throws(() => changes({}, options), { name: 'TypeError', message });
    refuses(undefined, /publication must be a string/);
    refuses({ publication: [] }, /publication must be a string, not an array/);
    refuses({ publication: 'pub', slot: 'Audit' }, /slot must consist of/);
    refuses({ publication: 'pub', slot: "a'b" }, /slot must consist of/);
    refuses({ publication: 'pub', slot: 'a'.repeat(64) }, /slot must consist of/);
    for (const statusInterval of [0, '1', Infinity])
      refuses({ publication: 'pub', statusInterval }, /statusInterval must be a number of milliseconds/);
    refuses({ publication: 'pub', snapshot: true }, /snapshot must be a function, not a boolean/);
    refuses({ publication: 'pub', plugin: 'x' }, /there is no option plugin here/);
    refuses({ publication: 'pub', signal: 1 }, /signal must be an AbortSignal/);
    refuses({ publication: 'pub', decode: 1 }, /decode must be/);
    assert.throws(() => changes({ decode: 1 }, { publication: 'pub' }), {
      name: 'TypeError',
      message: /decode must be/
    });
  });
});
