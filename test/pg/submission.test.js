'use strict';

const assert = require('node:assert/strict');
const { EventEmitter, once } = require('node:events');
const { gc } = require('../support/gc');
const { sharedServer } = require('../support');
const { until } = require('../support/kit');
const pg = require('../../lib/pg');

/** Asks for rows as pg-cursor does, so many at a time, and tells what it has got. */
class Reader extends EventEmitter {
  constructor(text, values, count) {
    super();
    Object.assign(this, { text, values, count, got: [] });
  }

  submit(connection) {
    this.connection = connection;
    connection.parse({ text: this.text }, true);
    connection.bind({ portal: 'C_1', values: this.values }, true);
    connection.describe({ type: 'P', name: 'C_1' }, true);
    connection.flush();
    connection.once('noData', () => {
      this.got.push('no data');
      this.read();
    });
  }

  read() {
    this.connection.execute({ portal: 'C_1', rows: this.count }, true);
  }
  close() {
    this.connection.close({ type: 'P', name: 'C_1' });
    this.connection.sync();
  }

  handleRowDescription({ fields }) {
    this.got.push(fields.map(({ name, dataTypeID }) => `${name} ${dataTypeID}`).join());
    this.read();
  }

  handleDataRow({ fields }) {
    this.got.push(fields);
  }
  handlePortalSuspended() {
    this.got.push('suspended');
    if (this.got.length < 9) this.read();
    else this.close();
  }

  handleCommandComplete({ text }) {
    this.got.push(text);
    this.close();
  }

  handleEmptyQuery() {
    this.got.push('empty');
    this.close();
  }

  handleReadyForQuery() {
    this.emit('over', this.got);
  }
  handleError(error) {
    this.got.push(error.code ?? error.message);
    this.emit('over', this.got);
  }
}

/** Writes data of a COPY as pg-copy-streams does, or fails without any. */
class CopyIn extends Reader {
  constructor(text, data) {
    super(text);
    this.data = data;
  }

  submit(connection) {
    connection.query(this.text);
  }
  handleCopyInResponse(connection) {
    if (this.data === undefined) return connection.sendCopyFail('enough');
    const header = Buffer.from('d0000');
    header.writeUInt32BE(this.data.length + 4, 1);
    for (const piece of [header.subarray(0, 1), header.subarray(1), Buffer.from(this.data + 'c\0\0\0\x04')])
      connection.stream.write(piece);
  }

  handleCommandComplete({ text }) {
    this.got.push(text);
  }
  handleReadyForQuery() {
    this.got.push('ready');
    setImmediate(() => this.emit('over', this.got));
  }
}

/** Reads data of a COPY as pg-copy-streams does: in the place of the only listener for 'data'. */
class CopyOut extends CopyIn {
  handleCopyInResponse = undefined;

  submit(connection) {
    const { stream } = connection;
    const [listener, ...more] = stream.listeners('data');
    assert.deepEqual(more, []);
    stream.removeListener('data', listener);
    let left = 0;
    stream.on('readable', () => {
      for (let bytes; (bytes = stream.read()) !== null;) {
        if (left > 0) {
          assert.equal(bytes.length, left);
          this.got.push(`${bytes}`);
          left = 0;
        } else if (bytes[0] === 99) this.got.push('done');
        else left = bytes.readUInt32BE(1) - 4;
      }
      this.stop?.();
    });
    connection.query(this.text);
  }
}

describe('What is submitted to a client of quickgres/pg', () => {
  let client, server;
  before(async () => {
    server = await sharedServer();
  });
  beforeEach(async () => {
    client = new pg.Client(server.config);
    await client.connect();
  });
  afterEach(() => client.end());

  const outcome = async (...args) => (await once(client.query(new Reader(...args)), 'over'))[0];

  it('gets its rows some at a time, as text', async () => {
    assert.deepEqual(await outcome('SELECT n, NULL::int AS m FROM generate_series(1, $1::int) n', [3], 2), [
      'n 23,m 23',
      ['1', null],
      ['2', null],
      'suspended',
      ['3', null],
      'SELECT 1'
    ]);
    const described = once(client.connection, 'rowDescription'); // as Slonik asks for it
    assert.deepEqual(await outcome('SELECT n FROM generate_series(1, 3) n', [], 0), [
      'n 23',
      ['1'],
      ['2'],
      ['3'],
      'SELECT 3'
    ]);
    assert.deepEqual(
      (await described)[0].fields.map(({ name, dataTypeID }) => [name, dataTypeID]),
      [['n', 23]]
    );
    assert.deepEqual(await outcome('SELECT n FROM generate_series(1, 2) n', null, 1), [
      'n 23',
      ['1'],
      'suspended',
      ['2'],
      'suspended',
      'SELECT 0'
    ]);
  });

  it('may execute and sync at once, when it is submitted', async () => {
    class AtOnce extends Reader {
      submit(connection) {
        this.connection = connection;
        connection.parse({ text: this.text });
        connection.bind({ values: this.values });
        connection.execute({});
        connection.sync();
      }
      read() {}
      close() {}
    }
    const client = new pg.Client((await sharedServer()).config);
    await client.connect();
    const submitted = new AtOnce('SELECT generate_series(1, $1::int) AS n', [2]);
    client.query(submitted);
    const [got] = await once(submitted, 'over');
    assert.deepEqual(
      got.map(each => (Array.isArray(each) ? String(each) : each)),
      ['n 23', '1', '2', 'SELECT 2']
    );
    await client.end();
  });

  it('is told of commands without rows, of empty ones, and of errors', async () => {
    assert.deepEqual(await outcome('CREATE TEMP TABLE t (a int)', [], 5), ['no data', 'CREATE TABLE']);
    assert.deepEqual(await outcome('INSERT INTO t VALUES (1), (2)', [], 5), ['no data', 'INSERT 0 2']);
    assert.deepEqual(await outcome('INSERT INTO t VALUES (3), (4) RETURNING a', [], 5), [
      'a 23',
      ['3'],
      ['4'],
      'INSERT 0 2'
    ]);
    assert.deepEqual(await outcome('', [], 5), ['no data', 'empty']);
    assert.deepEqual(await outcome('SELECT nothing', [], 5), ['42703']);
    assert.deepEqual(await outcome('SELECT 1 / (2 - n) FROM generate_series(1, 2) n', [], 5), ['?column? 23', '22012']);
    assert.equal((await client.query('SELECT 1')).rowCount, 1);
  });

  it('is complete if the connection is lost after its completion, and is told of an error before', async () => {
    await client.query(
      'CREATE TEMP TABLE a (id int PRIMARY KEY); CREATE TEMP TABLE b (id int REFERENCES a DEFERRABLE INITIALLY DEFERRED)'
    );
    assert.deepEqual(await outcome('INSERT INTO b VALUES (1) RETURNING id', [], 5), ['id 23', '23503']);
    const reader = new Reader('SELECT 1 AS n', [], 2);
    reader.handleCommandComplete = message => {
      client.connection.stream.destroy();
      Reader.prototype.handleCommandComplete.call(reader, message);
    };
    assert.deepEqual((await once(client.query(reader), 'over'))[0], ['n 23', ['1'], 'SELECT 1']);
  });

  it('is not kept by the connection when it is over', async () => {
    const kept = [];
    for (let i = 0; i < 5; i++) {
      const reader = new Reader('SELECT 1', [], 2);
      kept.push(new WeakRef(reader));
      await once(client.query(reader), 'over');
    }
    await client.query('SELECT 1');
    await new Promise(setImmediate);
    gc();
    assert.equal(kept.slice(0, -1).filter(each => each.deref() !== undefined).length, 0); // the frame may keep the last one
  });

  it('has the connection for itself until it is over, and others wait in their order', async () => {
    const order = [];
    const first = once(client.query(new Reader('SELECT n FROM generate_series(1, 99) n', [], 2)), 'over').then(() =>
      order.push(1)
    );
    const second = client.query('SELECT').then(() => order.push(2));
    const third = once(client.query(new Reader('SELECT 1', [], 2)), 'over').then(() => order.push(3));
    await Promise.all([first, second, third]);
    assert.deepEqual(order.sort(), [1, 2, 3]);
  });

  it('reads values as its client does, if it says nothing else', async () => {
    client.setTypeParser(23, text => `int ${text}`);
    const types = { getTypeParser: () => text => `own ${text}` };
    for (const [_types, read] of [
      [undefined, 'int 1'],
      [types, 'own 1']
    ]) {
      const reader = Object.assign(new Reader('SELECT 1', [], 2), { _result: { _types } });
      await once(client.query(reader), 'over');
      assert.equal(reader._result._types.getTypeParser(23, 'text')('1'), read);
    }
  });

  it('is followed by what is asked behind it, and by nothing before', async () => {
    const order = [];
    const tell = name => order.push(name);
    const over = [2, 0].map((count, i) =>
      once(client.query(new Reader('SELECT n FROM generate_series(1, 5) n', [], count)), 'over').then(() =>
        tell(`cursor ${i}`)
      )
    );
    const queries = ['a', 'b'].map(name => client.query('SELECT 1').then(() => tell(name)));
    await Promise.all([...over, ...queries]);
    assert.deepEqual(order, ['cursor 0', 'cursor 1', 'a', 'b']);
  });

  it('is told when the connection is lost, or was', async () => {
    const idle = new Reader('SELECT n FROM generate_series(1, 99) n', [], 2);
    idle.handlePortalSuspended = () => server.sql(`SELECT pg_terminate_backend(${client.processID})`);
    const [got] = await once(client.query(idle), 'over');
    assert.equal(got.at(-1), '57P01');
    const ready = once(idle.connection, 'readyForQuery'); // for which a closing cursor of pg-cursor waits
    idle.connection.close({ type: 'P' });
    await ready;
    assert.deepEqual(await outcome('SELECT 1', [], 1), [
      'Client has encountered a connection error and is not queryable'
    ]);
  });

  it('is not told that an ended connection is free if it is a stream that nothing reads: it would emit an error', async () => {
    for (const [readableFlowing, listeners, expected] of [
      [false, 0, 0],
      [null, 0, 0],
      [true, 0, 1],
      [false, 1, 1]
    ]) {
      const other = new pg.Client(server.config);
      await other.connect();
      const idle = new Reader('SELECT n FROM generate_series(1, 3) n', [], 1);
      Object.assign(idle, { readableFlowing, listenerCount: () => listeners });
      await new Promise(resolve => {
        idle.handlePortalSuspended = resolve;
        other.query(idle);
      });
      let count = 0;
      idle.connection.on('readyForQuery', () => {
        count++;
      });
      await other.end();
      await new Promise(resolve => setImmediate(setImmediate, resolve));
      assert.equal(count, expected);
    }
  });

  it('goes on when its client has been released, and others wait', async () => {
    const pool = new pg.Pool({ ...server.config, max: 1 });
    const taken = await pool.connect();
    const over = once(taken.query(new Reader('SELECT n FROM generate_series(1, 3) n', [], 2)), 'over');
    taken.release();
    const next = pool.query('SELECT 6 AS n');
    assert.deepEqual((await over)[0], ['n 23', ['1'], ['2'], 'suspended', ['3'], 'SELECT 1']);
    assert.deepEqual((await next).rows, [{ n: 6 }]);
    await pool.end();
  });

  it('is given up when its client has been released and the pool ends, before or after', async () => {
    for (const isEarly of [true, false]) {
      const pool = new pg.Pool({ ...server.config, max: 1 });
      const taken = await pool.connect();
      const idle = new Reader('SELECT n FROM generate_series(1, 3) n', [], 1);
      const suspended = new Promise(resolve => {
        idle.handlePortalSuspended = resolve;
      });
      const over = once(taken.query(idle), 'over');
      await suspended;
      if (isEarly) taken.release();
      const ended = pool.end();
      if (!isEarly) taken.release();
      await ended;
      assert.deepEqual((await over)[0], ['n 23', ['1'], 'Connection terminated']);
    }
  });

  it('says what it cannot do: to send nothing, and what is no COPY', async () => {
    class Nothing extends Reader {
      submit(connection) {
        this.connection = connection;
      }
    }
    const [got] = await once(client.query(new Nothing()), 'over');
    assert.match(got[0], /text must be a string/);
    class Simple extends Reader {
      submit(connection) {
        connection.query(this.text);
      }
    }
    assert.deepEqual((await once(client.query(new Simple('START_REPLICATION 0/0')), 'over'))[0], ['0A000']);
  });

  it('copies as pg-copy-streams does, by the messages that it writes to the stream of the connection and reads there', async () => {
    await client.query('CREATE TEMP TABLE copied (a int)');
    const copyIn = text => client.query(new CopyIn('COPY copied FROM STDIN', text));
    assert.deepEqual((await once(copyIn('1\n2\n'), 'over'))[0], ['COPY 2', 'ready']);
    assert.deepEqual((await once(copyIn('x\n'), 'over'))[0], ['22P02']);
    assert.deepEqual((await once(copyIn(undefined), 'over'))[0], ['57014']);
    const copyOut = text => client.query(new CopyOut(text));
    assert.deepEqual((await once(copyOut('COPY (SELECT a FROM copied ORDER BY a) TO STDOUT'), 'over'))[0], [
      '1\n2\n',
      'COPY 2',
      'done',
      'ready'
    ]);
    assert.deepEqual((await once(copyOut('COPY nothing TO STDOUT'), 'over'))[0], ['42P01']);
    const left = copyOut('COPY (SELECT generate_series(1, 10000000)) TO STDOUT');
    left.stop = () => left.emit('close');
    await once(left, 'close');
    assert.equal((await client.query('SELECT a FROM copied')).rowCount, 2);
  });

  it('copies by a text of several statements, as one transaction, and has the connection again in every case', async () => {
    await client.query('CREATE TEMP TABLE copied (a int); INSERT INTO copied VALUES (7)');
    const rows = async () => (await client.query('SELECT a FROM copied ORDER BY a')).rows.map(({ a }) => a);
    for (const [text, expected, left, data = '1\n2\n'] of [
      ['TRUNCATE copied; COPY copied FROM STDIN', ['COPY 2', 'ready'], [1, 2]],
      ['BEGIN; TRUNCATE copied; COPY copied FROM STDIN; COMMIT', ['COPY 2', 'ready'], [1, 2]],
      ["SET work_mem = '8MB'; COPY copied FROM STDIN", ['COPY 2', 'ready'], [1, 1, 2, 2]],
      ['/* ; */ TRUNCATE copied; COPY copied FROM STDIN; ANALYZE copied', ['COPY 2', 'ready'], [1, 2]],
      ['SELECT 1; COPY copied FROM STDIN; SELECT 2;', ['COPY 2', 'ready'], [1, 1, 2, 2]],
      ['TRUNCATE copied; COPY copied FROM STDIN', ['22P02'], [1, 1, 2, 2], 'x\n'],
      ['TRUNCATE copied; COPY copied FROM STDIN', ['57014'], [1, 1, 2, 2], null],
      ['TRUNCATE copied; COPY copied FROM STDIN; SELECT 1 / 0', ['22012'], [1, 1, 2, 2]],
      ['SELECT 1 / 0; COPY copied FROM STDIN', ['22012'], [1, 1, 2, 2]],
      ['COPY copied FROM STDIN; COPY copied FROM STDIN', ['57014'], [1, 1, 2, 2]],
      ['SELECT 1; SELECT 2', ['0A000'], [1, 1, 2, 2]]
    ]) {
      const [got] = await once(client.query(new CopyIn(text, data ?? undefined)), 'over');
      assert.deepEqual([got, await rows()], [expected, left], text);
    }
    const WRONG = [
      [CopyIn, 'COPY (SELECT 1) TO STDOUT', '1'],
      [CopyOut, 'COPY copied FROM STDIN'],
      [CopyOut, 'SELECT 1; COPY copied FROM STDIN']
    ];
    for (const [Copy, ...more] of WRONG)
      assert.deepEqual((await once(client.query(new Copy(...more)), 'over'))[0], ['0A000']);
    for (const [text, expected] of [
      ['COPY (SELECT 5) TO STDOUT; ANALYZE copied', ['5\n', 'COPY 1', 'done', 'ready']],
      ['BEGIN; SELECT 1; COPY (SELECT 5) TO STDOUT; COMMIT', ['5\n', 'COPY 1', 'done', 'ready']],
      ['COPY (SELECT 5) TO STDOUT; SELECT 1 / 0', ['5\n', '22012']],
      ['SELECT 1 / 0; COPY (SELECT 5) TO STDOUT', ['22012']]
    ]) {
      assert.deepEqual((await once(client.query(new CopyOut(text)), 'over'))[0], expected, text);
      assert.equal((await rows()).length, 4);
    }
  });

  it('keeps no more of a COPY in a text of several statements than its reader leaves unread', async () => {
    const unread = new CopyOut('SELECT 1; COPY (SELECT generate_series(1, 3000000)) TO STDOUT');
    unread.submit = connection => connection.query(unread.text);
    const { bytesRead } = client.connection.stream;
    client.query(unread);
    const waits = `SELECT FROM pg_stat_activity WHERE pid = ${client.processID} AND wait_event = 'ClientWrite'`;
    await until(async () => (await server.sql(waits)).length > 0, 'the server does not wait for the reader');
    assert.ok(client.connection.stream.bytesRead - bytesRead < 5e6);
    unread.emit('close');
    assert.equal((await client.query('SELECT 1')).rowCount, 1);
  });
});
