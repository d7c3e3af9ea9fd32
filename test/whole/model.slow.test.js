'use strict';

const { runRounds } = require('../support/rounds');

/** For how long, in seconds; `MODEL_SECONDS=3600` for a real search. */
const SECONDS = Number(process.env.MODEL_SECONDS || (process.env.CI ? 20 : 10));

/** The first round's seed, always the same in continuous integration. A failure tells that of its round. */
const SEED = Number(process.env.MODEL_SEED || (process.env.CI ? 1 : Math.floor(Math.random() * 2 ** 32)));

describe('A model of everything that one connection can do at once', () => {
  it(`keeps every promise for ${SECONDS} s`, () => runRounds(SECONDS, SEED)).timeout((SECONDS + 60) * 1000);
});
