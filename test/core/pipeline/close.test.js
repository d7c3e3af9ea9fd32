'use strict';

const assert = require('node:assert/strict');
const { State } = require('../../../lib/core/protocol');
const { CloseRequest, SyncRequest } = require('../../../lib/core/pipeline/close');
const { connected, faked, hex, message, ANSWER, commandComplete } = require('../../support');
const { encoded, give, open } = require('../../support/submitted');

describe('CloseRequest', () => {
  it('has Sync alone beside it, for what waits for all before', async () => {
    const request = open(new SyncRequest());
    assert.equal(encoded(request), '5300000004');
    assert.equal(request.state, State.Done);
    request.ready();
    assert.equal(await request.promise, undefined);
  });

  it('writes Close and Sync, and is over after CloseComplete', async () => {
    const request = open(new CloseRequest('S', 's1'));
    assert.equal(encoded(request), hex("43 00000008 53 's1' 00  53 00000004").toString('hex'));
    assert.equal(request.state, State.Closing);
    give(request, message('3'));
    assert.equal(request.state, State.Done);
    assert.throws(() => give(request, message('3')), { code: '08P01' });
    request.ready();
    await request.promise;
  });

  it('refuses any other answer but an error', async () => {
    const request = open(new CloseRequest('P', ''));
    encoded(request);
    assert.throws(() => give(request, message('1')), { code: '08P01' });
    give(request, ANSWER.error('22012', 'no'));
    request.ready();
    await assert.rejects(request.promise, { code: '22012' });
  });
});

describe('A transaction block that should not be there', () => {
  const inBlock = status => message('Z', status);

  for (const [status, name] of [
    ['E', 'failed'],
    ['T', 'open']
  ]) {
    it(`and that is ${name} is rolled back before the next request`, async () => {
      const requests = [];
      const client = await faked(
        async conversation => {
          const failed =
            status === 'E'
              ? ANSWER.error('22012', 'no')
              : Buffer.concat([ANSWER.described(), commandComplete('SELECT 0')]);
          for (const answer of [
            [failed, inBlock(status)],
            [commandComplete('ROLLBACK'), ANSWER.ready],
            [ANSWER.described(), commandComplete('SELECT 0'), ANSWER.ready]
          ]) {
            requests.push(await conversation.request());
            conversation.say(...answer);
          }
        },
        { max_pipeline: 1 }
      );
      const [first, second] = await Promise.allSettled([client.query('SELECT 1 / 0'), client.query('SELECT 2')]);
      assert.deepEqual(
        [first.reason?.code, second.status, client.transactionStatus],
        [status === 'E' ? '22012' : undefined, 'fulfilled', 'I']
      );
      assert.deepEqual(requests, ['PDBES', 'Q', 'PDBES']);
      assert.equal(client.pending, 0);
    });
  }

  it('is also one that COMMIT has left open, since it was cancelled before it began', async () => {
    const requests = [];
    const client = await faked(async conversation => {
      const begun = [
        ANSWER.parseComplete,
        ANSWER.noParameters,
        ANSWER.noData,
        ANSWER.bindComplete,
        commandComplete('BEGIN')
      ];
      const selected = [ANSWER.described(), commandComplete('SELECT 0')];
      requests.push(await conversation.request()); // up to the Flush behind BEGIN
      conversation.say(...begun);
      for (const answer of [
        [...selected, inBlock('T')],
        [ANSWER.error('57014', 'cancelled'), inBlock('E')],
        [commandComplete('ROLLBACK'), ANSWER.ready],
        [...selected, ANSWER.ready]
      ]) {
        requests.push(await conversation.request());
        conversation.say(...answer);
      }
    });
    await assert.rejects(
      client.transaction(tx => tx.query('SELECT 1')),
      { code: '57014' }
    );
    await client.query('SELECT 2');
    assert.equal(client.transactionStatus, 'I');
    assert.deepEqual(requests, ['PDBEH', 'PDBES', 'Q', 'Q', 'PDBES']);
  });

  it('ends the connection if it cannot be rolled back', async () => {
    const client = await faked(async conversation => {
      await conversation.request();
      conversation.say(ANSWER.error('22012', 'no'), inBlock('E'));
      await conversation.request();
      conversation.say(ANSWER.error('58000', 'no rollback'), inBlock('E'));
    });
    await assert.rejects(client.query('SELECT 1 / 0'), { code: '22012' });
    assert.match((await client.closed).message, /no rollback/);
  });

  it('is none if a query, a batch or a simple query of the caller has begun it', async () => {
    const client = await connected();
    for (const begin of [
      () => client.query('BEGIN'),
      () => client.batch(['SELECT 1', 'START TRANSACTION']),
      () => client.simpleQuery('SELECT 1; BEGIN'),
      () => client.query('/* a */ begin', [], { cache: false })
    ]) {
      await begin();
      await client.query('SELECT 1');
      assert.equal(client.transactionStatus, 'T');
      await client.query('ROLLBACK');
    }
    await client.batch(['BEGIN', 'SELECT 1 / 0']).catch(() => {});
    await assert.rejects(client.query('SELECT 1'), { code: '25P02' });
    await client.query('ROLLBACK');
  });
});
