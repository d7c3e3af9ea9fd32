'use strict';

const assert = require('node:assert/strict');
const { AbortError, ConnectionError, PostgresError, TimeoutError } = require('../..');
const { LEASE } = require('../../lib/core/internal');
const { PoolLease } = require('../../lib/pool/pool-lease');

const LOST = { code: '08006', sent: true };

/** A lease whose connections are there at once, and which tells what was asked of them. */
class Fake extends PoolLease {
  told = [];
  status = 'I';

  constructor() {
    super({}, {});
  }

  take({ kind }) {
    this.told.push(kind);
    const pipeline = { status: this.status };
    const scope = { pipeline };
    scope.sendsIn = scope;
    return { client: { [LEASE]: scope }, pipeline };
  }

  release(connection, use, reset) {
    this.told.push(`released${reset ? ', reset' : ''}`);
  }
}

const lease = () => new Fake();

describe('The lease of a pool', () => {
  it('takes a connection, alone where that is needed, and gives it back', async () => {
    const it = lease();
    assert.equal(it.sendsIn, null);
    for (const [need, options] of [
      ['shared', {}],
      ['owned', {}],
      ['session', {}],
      ['connection', {}]
    ]) {
      assert.equal(await it.run(need, options, async () => need), need);
    }
    assert.deepEqual(it.told, [
      'query',
      'released',
      'owner',
      'released',
      'owner',
      'released, reset',
      'owner',
      'released, reset'
    ]);
  });

  it('repeats what was lost and not sent, or may be repeated, five times at most', async () => {
    const attempts = async (error, options, mayRepeat) => {
      let count = 0;
      const work = async () => {
        count++;
        throw error;
      };
      await assert.rejects(lease().run('shared', options, work, mayRepeat), each => each === error);
      return count;
    };
    assert.equal(await attempts(new ConnectionError('lost', LOST), {}), 1);
    assert.equal(await attempts(new ConnectionError('lost', LOST), { idempotent: true }), 5);
    assert.equal(await attempts(new ConnectionError('lost', { sent: false }), {}), 5);
    assert.equal(await attempts(new ConnectionError('lost', { sent: false }), {}, () => false), 1);
    assert.equal(
      await attempts(Object.assign(new Error('of the function'), { code: '08006' }), { idempotent: true }),
      1
    );
    const reported = code => new PostgresError({ severity: 'ERROR', code, message: 'lost' });
    assert.equal(await attempts(reported('08006'), { idempotent: true }), 5);
    assert.equal(await attempts(reported('08006'), {}), 1);
    assert.equal(await attempts(reported('08P01'), { idempotent: true }), 1);
  });

  it('rejects with what the function throws at a later attempt, which may be no error', async () => {
    for (const thrown of [undefined, null, 'no']) {
      let count = 0;
      const work = async () => {
        throw ++count === 1 ? new ConnectionError('lost', LOST) : thrown;
      };
      await assert.rejects(lease().run('connection', { idempotent: true }, work), error => error === thrown);
      assert.equal(count, 2);
    }
  });

  it('says that a request was sent if any attempt was, whatever ends the wait for the next one', async () => {
    const ends = {
      'a loss': (fail, abort, it) => (it.take = () => fail(new ConnectionError('lost', { sent: false }))),
      'its limit': (fail, abort, it) =>
        (it.take = () => fail(Object.assign(new TimeoutError('late', { code: '57014' }), { sent: false }))),
      'its signal': (fail, abort) => abort()
    };
    for (const [what, end] of Object.entries(ends)) {
      for (const sent of [true, false]) {
        const it = lease();
        const controller = new AbortController();
        const fail = error => {
          throw error;
        };
        const work = async () => {
          end(fail, () => controller.abort(), it);
          throw new ConnectionError('lost', { sent });
        };
        const promise = it.run('shared', { idempotent: true, signal: controller.signal }, work);
        await assert.rejects(
          promise,
          error => error.sent === sent,
          `${what} after one that was ${sent ? '' : 'not '}sent`
        );
      }
    }
  });

  it('lets the connections that are lost together be known to be before it repeats', async () => {
    let others = 8; // each is told to be lost in a turn of its own
    const fall = () => {
      if (--others > 0) setImmediate(fall);
    };
    fall();
    const work = async () => {
      if (others > 0) throw new ConnectionError('lost', { sent: false });
      return 'answered';
    };
    assert.equal(await lease().run('shared', {}, work), 'answered');
  });

  it('looks at the signal before each attempt', async () => {
    await assert.rejects(
      lease().run('shared', { signal: AbortSignal.abort() }, () => assert.fail()),
      AbortError
    );
  });

  it('rejects where a simple query leaves a block open, and by what its answer said', async () => {
    const it = lease();
    it.status = 'T';
    await assert.rejects(
      it.run('session', {}, async () => []),
      { name: 'UsageError', code: '25001' }
    );
    assert.equal(await it.run('connection', {}, async () => 1), 1);
  });

  it('keeps values, and refuses what concerns the session of a connection', () => {
    const values = [new Date(0), 'x'];
    const kept = lease().inputOf('SELECT $1, $2', values);
    values[0].setTime(1);
    assert.deepEqual(kept, ['1970-01-01T00:00:00.000Z', 'x']);
    for (const text of ['BEGIN', 'set a = 1', '-- x\nLISTEN y'])
      assert.throws(() => lease().inputOf(text, []), { code: '0A000' });
    assert.throws(() => lease().inputOf(5, []), TypeError);
  });

  it('takes nothing more when it was ended, and tells when all is over', async () => {
    const it = lease();
    let finish;
    const going = it.run(
      'shared',
      {},
      () =>
        new Promise(resolve => {
          finish = resolve;
        })
    );
    const refused = new ConnectionError('over');
    const ended = [it.end(refused), it.end(new ConnectionError('again'))];
    await assert.rejects(
      it.run('shared', {}, () => assert.fail()),
      { message: 'over' }
    );
    finish(1);
    assert.equal(await going, 1);
    await Promise.all(ended);
    await it.end(new ConnectionError('again'));
    assert.equal(it.refusal, refused);
  });
});
