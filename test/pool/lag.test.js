'use strict';

const assert = require('node:assert/strict');
const { isFresh } = require('../../lib/pool/lag');
const { connected } = require('../support');

/** A client that says how far behind it is, in milliseconds. */
class Standby {
  asked = 0;

  constructor(...lags) { this.lags = lags; }

  async query() {
    this.asked++;
    const lag = this.lags.shift();
    if (lag instanceof Error) throw lag;
    return { rows: [{ lag: String(lag) }] };
  }
}

describe('The lag of a replica', () => {
  it('is asked for once, as long as what is known suffices', async () => {
    const standby = new Standby(0);
    assert.deepEqual(await Promise.all([isFresh(standby, 60000), isFresh(standby, 60000)]), [true, true]);
    assert.equal(await isFresh(standby, 60000), true);
    assert.equal(standby.asked, 1);
  });

  it('is asked for again when it was too much', async () => {
    const standby = new Standby(70000, Infinity, 50000);
    assert.deepEqual([await isFresh(standby, 60000), await isFresh(standby, 60000), await isFresh(standby, 60000)], [false, false, true]);
    assert.equal(standby.asked, 3);
  });

  it('is asked for again after an error', async () => {
    const standby = new Standby(new Error('lost'), 0);
    await assert.rejects(isFresh(standby, 60000), { message: 'lost' });
    assert.equal(await isFresh(standby, 60000), true);
  });

  it('of a primary is none', async () => {
    assert.equal(await isFresh(await connected(), 1000), true);
  });
});
