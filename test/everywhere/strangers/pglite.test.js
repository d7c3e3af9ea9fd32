'use strict';

const { stranger } = require('../../support/stranger');
const { PGLITE } = require('./pglite');

stranger(PGLITE);
