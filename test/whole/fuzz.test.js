'use strict';

const { fuzz } = require('../support/fuzz');

/** For how long; a script goes on for longer: `node test/support/fuzz.js 600`. */
const SECONDS = Number(process.env.FUZZ_SECONDS || 3);

/** The first round's seed; a failure tells that of its round. */
const SEED = Number(process.env.FUZZ_SEED || Math.floor(Math.random() * 2 ** 31));

describe('Random and mutated bytes', () => {
  it(`break nothing, hang nothing, and show nothing of other messages, for ${SECONDS} s`, async function () {
    this.timeout((SECONDS + 60) * 1000);
    await fuzz(SECONDS, SEED);
  });
});
