'use strict';

const pg = require('./pg');

module.exports = { ...pg, label: 'pg, Pool of 10 with pipeline: true', open: target => pg.open(target, true) };
