'use strict';

// Bytes to messages and back, and errors. Nothing here does input or output.

const answer = require('./answer');
const { backend, frontend } = require('./codes');
const errors = require('./errors');
const messages = require('./messages');
const { FrameReader, lengthAt } = require('./reader');
const values = require('./values');
const writer = require('./writer');

module.exports = { backend, frontend, FrameReader, lengthAt, ...answer, ...errors, ...messages, ...values, ...writer };
