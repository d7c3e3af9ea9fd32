'use strict';

const { stranger } = require('../../support/stranger');
const { PGPOOL } = require('./pgpool');

stranger(PGPOOL);
