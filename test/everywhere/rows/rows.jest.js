'use strict';

const { Client } = require('../../..');
const define = require('./define');

define({ expect, test, Client });
