'use strict';

// Bytes to messages and back, and the errors that they tell of. Nothing here does input or output.

const { backend, frontend } = require('./codes');
const errors = require('./errors');
const messages = require('./messages');
const { FrameReader } = require('./reader');
const writer = require('./writer');

module.exports = { backend, frontend, FrameReader, ...errors, ...messages, ...writer };
