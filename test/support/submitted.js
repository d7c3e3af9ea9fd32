'use strict';

// What the tests of requests share: requests without a connection.

const { MessageWriter } = require('../../lib/core/protocol');
const { Statements } = require('../../lib/core/pipeline/statements');

/** As much of a pipeline as a request needs. */
function pipeline() {
  const errors = [];
  return { events: { lost: error => errors.push(error) }, errors };
}

/** What a request writes. */
function encoded(request) {
  const writer = new MessageWriter();
  request.write(writer, new Statements(10), request);
  if (!request.simple) writer.sync();
  return writer.take().toString('hex');
}

/** Gives a request one message of its answer. */
function give(request, bytes, target = pipeline()) {
  request.message(target, bytes[0], bytes, 0, bytes.length, 1);
  return target;
}

/** A request that was submitted. */
function open(request) {
  request.promise = request.open({ pipeline: { rejecting: 0 } });
  return request;
}

module.exports = { pipeline, encoded, give, open };
