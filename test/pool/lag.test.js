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

  it('is too much, and not asked for again until it may have changed', async () => {
    const standby = new Standby(3000, 0);
    assert.deepEqual([await isFresh(standby, 200), await isFresh(standby, 200)], [false, false]);
    assert.equal(standby.asked, 1);
    while (!await isFresh(standby, 200)) await new Promise(setImmediate);
    assert.equal(standby.asked, 2);
  });

  it('counts as growing while it is not asked for', async () => {
    const standby = new Standby(900);
    assert.equal(await isFresh(standby, 1000), true);
    while (await isFresh(standby, 1000)) await new Promise(setImmediate);
    assert.equal(standby.asked, 1);
  });

  it('is too much where it is not told', async () => {
    const standby = new Standby(new Error('lost'));
    assert.equal(await isFresh(standby, 60000), false);
  });

  it('of a primary is none', async () => {
    assert.equal(await isFresh(await connected(), 1000), true);
  });
});
