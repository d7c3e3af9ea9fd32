'use strict';

const { runRounds } = require('../support/rounds');

describe('A model of everything that one connection can do at once', () => {
  it('keeps every promise for 3 s', () => runRounds(3, 1));
});
