'use strict';

// Bytes to messages and back, and errors. Nothing here does input or output.

const answer = require('./answer');
const { backend, frontend } = require('./codes');
const errors = require('./errors');
const messages = require('./messages');
const piece = require('./piece');
const reader = require('./reader');
const values = require('./values');
const writer = require('./writer');

module.exports = { backend, frontend, ...answer, ...errors, ...messages, ...piece, ...reader, ...values, ...writer };
