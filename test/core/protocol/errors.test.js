'use strict';

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { PassThrough, Readable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { inspect } = require('node:util');
const {
  PostgresError,
  ConnectionError,
  AbortError,
  UsageError,
  protocolError
} = require('../../../lib/core/protocol/errors');
const { Client } = require('../../..');
const { connected, sharedServer } = require('../../support');

/** In a describe: stacks have ten lines, as in a program, where mocha has all of them. */
function tenLines() {
  const { stackTraceLimit } = Error;
  before(() => {
    Error.stackTraceLimit = 10;
  });
  after(() => {
    Error.stackTraceLimit = stackTraceLimit;
  });
}

describe('PostgresError', () => {
  it('has every field of the ErrorResponse by its name, numbers where PostgreSQL counts', () => {
    const error = new PostgresError({
      severity: 'ERROR',
      code: '42703',
      message: 'no such column',
      detail: 'd',
      hint: 'h',
      position: '8',
      internalPosition: '3',
      internalQuery: 'q',
      where: 'w',
      schema: 's',
      table: 't',
      column: 'c',
      dataType: 'y',
      constraint: 'k',
      file: 'parse.c',
      line: '371',
      routine: 'r'
    });
    assert.deepEqual(
      { ...error },
      {
        severity: 'ERROR',
        code: '42703',
        detail: 'd',
        hint: 'h',
        position: 8,
        internalPosition: 3,
        internalQuery: 'q',
        where: 'w',
        schema: 's',
        table: 't',
        column: 'c',
        dataType: 'y',
        constraint: 'k',
        file: 'parse.c',
        line: 371,
        routine: 'r'
      }
    );
    assert.equal(error.message, 'no such column');
    assert.ok(error instanceof Error);
  });

  it('leaves out the fields that the server did not send', () => {
    assert.deepEqual(Object.keys(new PostgresError({ message: 'm', code: '22012' })), ['code']);
  });

  it('has a message even where the server sent none', () => {
    assert.equal(new PostgresError({}).message, 'no message');
  });

  it('is called by its name when shown', () => {
    const error = new PostgresError({ message: 'division by zero', code: '22012' });
    assert.equal(String(error), 'PostgresError: division by zero');
    assert.match(inspect(error), /^PostgresError: division by zero\n(.*\n)+.*code: '22012'/);
    assert.deepEqual(JSON.parse(JSON.stringify(error)), { code: '22012' });
  });
});

describe('ConnectionError', () => {
  it('has a code, 08006 where none is given, and a cause only where there is one', () => {
    const plain = new ConnectionError('gone');
    assert.deepEqual(
      [plain.name, plain.message, plain.code, 'cause' in plain, 'sent' in plain],
      ['ConnectionError', 'gone', '08006', false, false]
    );
    const cause = new Error('why');
    const full = new ConnectionError('gone', { code: 'ECONNRESET', cause, sent: false });
    assert.deepEqual([full.code, full.cause, full.sent], ['ECONNRESET', cause, false]);
    assert.equal(String(full), 'ConnectionError: gone');
  });
});

describe('AbortError', () => {
  it('is one as the platform has it, with the reason of the signal', () => {
    const error = new AbortError('the query was aborted', 'because');
    assert.deepEqual([error.name, error.code, error.cause], ['AbortError', 'ABORT_ERR', 'because']);
    assert.equal('cause' in new AbortError('aborted'), false);
  });
});

describe('UsageError', () => {
  it('has the SQLSTATE that fits', () => {
    const error = new UsageError('no', '25P01');
    assert.deepEqual(
      [error.name, error.message, error.code, error instanceof Error],
      ['UsageError', 'no', '25P01', true]
    );
  });
});

describe('protocolError', () => {
  it('is a ConnectionError of 08P01', () => {
    const error = protocolError('what');
    assert.deepEqual([error.name, error.message, error.code], ['ConnectionError', 'protocol violation: what', '08P01']);
  });
});

describe('An error of the server', () => {
  tenLines();

  it('tells what and where: syntax, constraint, context', async () => {
    const client = await connected();
    const syntax = await client.query('SELECT "ä", FROM nowhere').catch(error => error);
    assert.equal(syntax.name, 'PostgresError');
    assert.equal(syntax.severity, 'ERROR');
    assert.equal(syntax.code, '42601');
    assert.equal(syntax.message, 'syntax error at or near "FROM"');
    assert.equal(syntax.position, 13);
    assert.equal(syntax.routine, 'scanner_yyerror');
    assert.equal(typeof syntax.line, 'number');

    await client.query('CREATE TEMP TABLE once (id int CONSTRAINT only_one PRIMARY KEY)');
    await client.query('INSERT INTO once VALUES (1)');
    const unique = await client.query('INSERT INTO once VALUES ($1)', [1]).catch(error => error);
    assert.equal(unique.code, '23505');
    assert.equal(unique.detail, 'Key (id)=(1) already exists.');
    assert.equal(unique.table, 'once');
    assert.equal(unique.constraint, 'only_one');
    assert.match(unique.schema, /^pg_temp/);

    const raised = await client
      .query(
        `DO $$ BEGIN
      RAISE 'no luck' USING ERRCODE = 'QG001', HINT = 'try again', COLUMN = 'c', DATATYPE = 'd';
    END $$`
      )
      .catch(error => error);
    assert.equal(raised.code, 'QG001');
    assert.equal(raised.hint, 'try again');
    assert.equal(raised.column, 'c');
    assert.equal(raised.dataType, 'd');
    assert.match(raised.where, /^PL\/pgSQL function inline_code_block line 2 at RAISE/);

    const inner = await client.query("DO $$ BEGIN EXECUTE 'SELECT nothing'; END $$").catch(error => error);
    assert.equal(inner.internalQuery, 'SELECT nothing');
    assert.equal(inner.internalPosition, 8);
  });

  it('has a stack with the async functions that await the query, from any kind of request', async () => {
    const client = await connected();
    async function askTheServer(ask) {
      return await ask();
    }
    async function doTheWork(ask) {
      await askTheServer(ask);
    }
    for (const ask of [
      () => client.query('SELECT 1/0'),
      () => client.query('SELECT $1::int', ['x']),
      () => client.simpleQuery('SELECT 1/0'),
      () => client.batch([['SELECT 1'], ['SELECT 1/0']]),
      () => client.transaction(tx => tx.query('SELECT 1/0')),
      () => Promise.all([client.query('SELECT 1'), client.query('SELECT 1/0')]),
      () => client.query('SELECT 1/0', [], { decode: true }),
      () => client.query('COPY nothing FROM STDIN'),
      () => {
        client.startQuery('SELECT 1/0');
        return client.getResults();
      },
      async function throughCursor() {
        for await (const row of client.cursor('SELECT 1/(3 - generate_series(1, 5))', [], { batchSize: 1 }))
          assert.ok(row);
      },
      () =>
        client.transaction(async tx => {
          await tx.query('SELECT 1');
          for await (const row of tx.cursor('SELECT 1/0')) assert.ok(row);
        }),
      () => client.query('SELECT pg_sleep(5)', [], { statement_timeout: 20 }),
      () => client.query('SELECT pg_sleep(5)', [], { signal: AbortSignal.timeout(20) })
    ]) {
      const error = await doTheWork(ask).catch(error => error);
      assert.match(
        error.stack,
        /^(Postgres|Timeout|Abort)Error: .+\n(.*\n)*.*at (async )?askTheServer .*errors\.test\.js/,
        String(ask)
      );
      assert.match(error.stack, /at (async )?doTheWork .*errors\.test\.js/);
    }
  });

  it('has a stack with the caller also where a stream fails, or something is wrong that is found while it is encoded', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE here (i int)');
    for (const ask of [
      () => pipeline(client.copyTo('COPY nothing TO STDOUT'), new PassThrough()),
      () => pipeline(['x\n'], client.copyFrom('COPY here FROM STDIN')),
      () => client.batch([['SELECT 1'], ['SELECT $1', [new Map()]]]),
      () => client.queryTo(new PassThrough(), 'SELECT $1', 'x')
    ]) {
      const error = await ask().catch(error => error);
      assert.match(error.stack, /^(Postgres|Type)Error: .+\n(.*\n)*.*at .*errors\.test\.js/, String(ask));
    }
  });

  it('shows the SQL in place of a stack where nobody awaits', async () => {
    const client = await connected();
    const error = await new Promise(resolve => client.query('SELECT 1/0').catch(resolve));
    assert.equal(error.stack, 'PostgresError: division by zero\n    in a query that no known code awaits: SELECT …/…');
  });
});

describe('An error of the connection', () => {
  tenLines();

  const SLEEP = 'SELECT pg_sleep(60)';
  const busy = client => {
    client.query(SLEEP).catch(() => {});
  };
  async function throughCursor(rows) {
    for await (const row of rows) assert.ok(row);
  }
  const asks = {
    query: client => client.query('SELECT 1'),
    'query with a decoder': client => client.query('SELECT 1', [], { decode: true }),
    'query with a signal': client => client.query('SELECT 1', [], { signal: new AbortController().signal }),
    'query into a stream': client => client.query('SELECT 1', [], { stream: new PassThrough() }),
    simpleQuery: client => client.simpleQuery('SELECT 1'),
    batch: client => client.batch(['SELECT 1']),
    transaction: client => client.transaction(tx => tx.query('SELECT 1')),
    cursor: client => throughCursor(client.cursor('SELECT 1')),
    'next of a cursor': client => client.cursor('SELECT 1').next(),
    'stream of a cursor': client => throughCursor(Readable.from(client.cursor('SELECT 1'))),
    getResults: client => {
      client.startQuery('SELECT 1');
      return client.getResults();
    },
    sync: client => client.sync(),
    close: client => client.close('S', 's1'),
    queryTo: client => client.queryTo(new PassThrough(), 'SELECT 1'),
    copyTo: client => pipeline(client.copyTo('COPY (SELECT 1) TO STDOUT'), new PassThrough()),
    copyFrom: client => pipeline(['x'], client.copyFrom('COPY x FROM STDIN')),
    COPY: client => client.query('COPY x FROM STDIN'),
    'ready of a listener': client => client.listen('x').ready,
    'next of a listener': client => client.listen('x').next()
  };
  const begun = {
    'the function of a transaction': client => client.transaction(tx => tx.query(SLEEP)),
    'a function that waits for something else': client =>
      client.transaction(tx => tx.query('SELECT 1').then(() => new Promise(() => {}))),
    'the function of a savepoint': client =>
      client.transaction(tx => tx.transaction(nested => nested.query('SELECT 1').then(() => new Promise(() => {})))),
    'a cursor': client => throughCursor(client.cursor(SLEEP)),
    getResults: client => {
      client.startQuery(SLEEP);
      return client.getResults();
    },
    'sync behind getResults': client => {
      client.startQuery(SLEEP);
      client.getResults(1).catch(() => {});
      return client.sync();
    },
    copyDone: async client => {
      await client.query('CREATE TEMP TABLE slow (a text, b text DEFAULT pg_sleep(60)::text)');
      await client.query('COPY slow (a) FROM STDIN');
      client.copyData('x\n');
      return await client.copyDone();
    },
    'a listener': async client => {
      const listener = client.listen('x');
      await listener.ready;
      return await listener.next();
    }
  };
  if (process.versions.deno) delete asks['stream of a cursor']; // its streams do not tell who awaits

  async function askTheServer(ask, client) {
    return await ask(client);
  }

  function check(error, name) {
    assert.equal(error.name, 'ConnectionError', name);
    assert.match(error.stack, /^ConnectionError: .+\n(.*\n)*.*at .*errors\.test\.js/, name);
  }

  for (const [name, ask] of Object.entries(begun)) {
    it(`shows who awaits, and the server's reason, where it is lost at work: ${name}`, async () => {
      const server = await sharedServer();
      const client = await connected();
      const asked = askTheServer(ask, client).catch(each => each);
      const atWork = `SELECT FROM pg_stat_activity WHERE pid = ${client.processId} AND (wait_event = 'PgSleep' OR
        query LIKE 'LISTEN%' AND state = 'idle' OR state = 'idle in transaction')`;
      while ((await server.sql(atWork)).length === 0);
      await server.sql(`SELECT pg_terminate_backend(${client.processId})`);
      const error = await asked;
      check(error, name);
      assert.match(`${error.message} ${error.cause?.message}`, /administrator command/);
    });
  }

  it('shows who awaits, with an error for each, where much is pending', async () => {
    for (const from of ['sent', 'waiting']) {
      const client = await connected();
      busy(client);
      // What is behind a transaction waits in the client.
      if (from === 'waiting') client.transaction(() => {}).catch(() => {});
      const names = Object.keys(asks).filter(name => name !== 'getResults');
      const asked = names.map(name => askTheServer(asks[name], client).catch(error => error));
      await (await sharedServer()).sql(`SELECT pg_terminate_backend(${client.processId})`);
      const errors = await Promise.all(asked);
      errors.forEach((error, i) => {
        check(error, names[i]);
        assert.equal(error.code, '57P01', names[i]);
      });
      assert.equal(new Set(errors).size, errors.length);
    }
  });

  it('tells since when and why there is none, and what to do, each time with the stack of the call', async () => {
    const lost = await connected();
    const closed = lost.closed;
    await (await sharedServer()).sql(`SELECT pg_terminate_backend(${lost.processId})`);
    await closed;
    const ended = await connected();
    await ended.end();
    const unreachable = new Client({ host: '/nowhere' });
    const failure = await unreachable.connect().catch(error => error);
    for (const [client, why] of [
      [lost, 'the connection was lost: terminating connection due to administrator command'],
      [ended, 'the client was ended'],
      [unreachable, failure.message]
    ]) {
      const seen = new Set();
      for (const [name, ask] of [
        ...Object.entries(asks),
        ['cancel', each => each.cancel()],
        ['copyDone', each => each.copyDone()]
      ]) {
        if (name === 'next of a listener') continue; // ended, it has no more
        const error = await askTheServer(ask, client).catch(each => each);
        check(error, name);
        assert.equal(error.code, '08003', name);
        assert.match(error.message, /^not connected since 20\d\d-\d\d-\d\dT[\d:.]+Z: /, name);
        assert.equal(error.message.replace(/^.*?Z: /, ''), `${why}; connect() connects again`, name);
        seen.add(error);
      }
      assert.equal(seen.size, Object.keys(asks).length + 1);
    }
  });

  it('of a connect() that was forgotten says so, and shows who awaits', async () => {
    const { config } = await sharedServer();
    for (const [name, ask] of Object.entries(asks)) {
      const error = await askTheServer(ask, new Client(config)).catch(each => each);
      check(error, name);
      assert.match(error.message, /not connected: call connect\(\) first/, name);
    }
  });
});

describe('The errors', () => {
  it('have their names also in a program that has frozen the prototypes of all globals before', () => {
    const program = `
      for (const name of Object.getOwnPropertyNames(globalThis)) if (/^[A-Z]/.test(name)) Object.freeze(globalThis[name]?.prototype);
      for (const name of ['.', ...Object.values(require('./package.json').exports).map(each => each.default ?? each.require?.default)]) {
        if (name?.endsWith('.js') && !(process.versions.deno && name.endsWith('register.js'))) require(name);
      }
      const { ConnectionError, PostgresError } = require('.');
      console.log(String(new PostgresError({ message: 'a' })), String(new ConnectionError('b')));`;
    const stdout = execFileSync(process.execPath, ['-e', program], {
      cwd: path.join(__dirname, '../../..'),
      encoding: 'utf8'
    });
    assert.equal(stdout, 'PostgresError: a ConnectionError: b\n');
    assert.deepEqual(Object.keys(ConnectionError.prototype), []);
  });
});
