'use strict';

const { ask, connect, record, replay } = require('../support/splitting');

describe('A recorded session', () => {
  let recorded;
  before(async () => {
    recorded = await record(ask);
  });

  it('gives the same when cut in two at every single byte', async function () {
    this.timeout(60_000);
    for (let cut = recorded.greeting + 1; cut < recorded.bytes.length; cut++) {
      await replay(ask, recorded, [cut]).catch(error => {
        error.message = `cut at ${cut}: ${error.message}`;
        throw error;
      });
    }
  });

  it('gives the same from the start-up on, cut in two at every single byte of it', async function () {
    this.timeout(60_000);
    for (let cut = 1; cut <= recorded.greeting + 5; cut++) await connect(recorded, [cut]);
  });
});
