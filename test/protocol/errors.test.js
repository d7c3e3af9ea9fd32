'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { inspect } = require('node:util');
const { PostgresError, ConnectionError, AbortError, UsageError, protocolError } = require('../../lib/protocol/errors');
const { connected } = require('../support');

describe('PostgresError', () => {
  it('has every field of the ErrorResponse by its name, numbers where PostgreSQL counts', () => {
    const error = new PostgresError({
      severity: 'ERROR', code: '42703', message: 'no such column', detail: 'd', hint: 'h', position: '8',
      internalPosition: '3', internalQuery: 'q', where: 'w', schema: 's', table: 't', column: 'c',
      dataType: 'y',
      constraint: 'k', file: 'parse.c', line: '371', routine: 'r'
    });
    assert.deepEqual({ ...error }, {
      severity: 'ERROR', code: '42703', detail: 'd', hint: 'h', position: 8, internalPosition: 3,
      internalQuery: 'q',
      where: 'w', schema: 's', table: 't', column: 'c', dataType: 'y', constraint: 'k', file: 'parse.c',
      line: 371,
      routine: 'r'
    });
    assert.equal(error.message, 'no such column');
    assert.ok(error instanceof Error);
  });

  it('leaves out the fields that the server did not send', () => {
    assert.deepEqual(Object.keys(new PostgresError({ message: 'm', code: '22012' })), ['code']);
  });

  it('has a message even where the server sent none', () => {
    assert.equal(new PostgresError({}).message, 'the server reported an error without a message');
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
    assert.deepEqual([plain.name, plain.message, plain.code, 'cause' in plain, 'sent' in plain],
      ['ConnectionError', 'gone', '08006', false, false]);
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
    assert.deepEqual([error.name, error.message, error.code, error instanceof Error],
      ['UsageError', 'no', '25P01', true]);
  });
});

describe('protocolError', () => {
  it('is a ConnectionError of 08P01', () => {
    const error = protocolError('what');
    assert.deepEqual([error.name, error.message, error.code],
      ['ConnectionError', 'protocol violation: what', '08P01']);
  });
});

describe('An error of the server', () => {
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

    const raised = await client.query(`DO $$ BEGIN
      RAISE 'no luck' USING ERRCODE = 'QG001', HINT = 'try again', COLUMN = 'c', DATATYPE = 'd';
    END $$`).catch(error => error);
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
    async function askTheServer(ask) { return await ask(); }
    async function doTheWork(ask) { await askTheServer(ask); }
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
        for await (const row of client.cursor('SELECT 1/(3 - generate_series(1, 5))', [], { batchSize: 1 })) assert.ok(row);
      },
      () => client.transaction(async tx => { for await (const row of tx.cursor('SELECT 1/0')) assert.ok(row); }),
      () => client.query('SELECT pg_sleep(5)', [], { statement_timeout: 20 }),
      () => client.query('SELECT pg_sleep(5)', [], { signal: AbortSignal.timeout(20) })
    ]) {
      const error = await doTheWork(ask).catch(error => error);
      assert.match(error.stack, /^(Postgres|Usage|Abort)Error: .+\n(.*\n)*.*at (async )?askTheServer .*errors\.test\.js/,
        String(ask));
      assert.match(error.stack, /at (async )?doTheWork .*errors\.test\.js/);
    }
  });

  it('has a stack with the caller also where a stream fails, or something is wrong that is found while it is encoded', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE here (i int)');
    for (const ask of [
      () => pipeline(client.copyTo('COPY nothing TO STDOUT'), new PassThrough()),
      () => pipeline(['x\n'], client.copyFrom('COPY here FROM STDIN')),
      () => client.batch([['SELECT 1'], ['SELECT $1', [{}]]]),
      () => client.queryTo(new PassThrough(), 'SELECT $1', 'x')
    ]) {
      const error = await ask().catch(error => error);
      assert.match(error.stack, /^(Postgres|Type)Error: .+\n(.*\n)*.*at .*errors\.test\.js/, String(ask));
    }
  });

  it('has a stack of our own code where nobody awaits', async () => {
    const client = await connected();
    const error = await new Promise(resolve => client.query('SELECT 1/0').catch(resolve));
    assert.match(error.stack, /^PostgresError: division by zero\n +at /);
  });
});
