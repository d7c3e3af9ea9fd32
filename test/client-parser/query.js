'use strict';

// What the tests of client-parser share: results as a server sends them, without any client.

const net = require('node:net');
const { onFrames } = require('../support/kit');

const int32 = value => {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
};
const int16 = value => int32(value).subarray(2);

/** @returns {Buffer} a message; its parts are strings, which end with a 0 only if it is in them, or bytes */
function message(type, ...parts) {
  const body = Buffer.concat(parts.map(part => Buffer.from(part)));
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

/** @returns {Buffer} a RowDescription; its columns are [name, type OID, format] */
const rowDescription = (...columns) =>
  message(
    'T',
    int16(columns.length),
    ...columns.flatMap(([name, typeOid = 25, format = 0]) => [
      `${name}\0`,
      int32(0),
      int16(0),
      int32(typeOid),
      int16(-1),
      int32(-1),
      int16(format)
    ])
  );

/** @returns {Buffer} a DataRow of strings, bytes or null */
const dataRow = (...values) =>
  message(
    'D',
    int16(values.length),
    ...values.flatMap(value => (value === null ? [int32(-1)] : [int32(Buffer.from(value).length), value]))
  );

const commandComplete = tag => message('C', `${tag}\0`);

/** @returns {Buffer} of hexadecimal digits, spaced as one likes */
const hex = digits => Buffer.from(digits.replace(/\s/g, ''), 'hex');

/**
 * Connects with TimeZone UTC and DateStyle ISO.
 * @param {import('pg-test-fixtures').Server} server that trusts
 * @returns {net.Socket} that has sent its StartupMessage
 */
function open(server) {
  const socket = net.connect(server.port, server.host);
  const parameters = { user: server.user, database: server.database, TimeZone: 'UTC', DateStyle: 'ISO' };
  socket.write(message('', int32(196608), `${Object.entries(parameters).flat().join('\0')}\0\0`));
  return socket;
}

/**
 * Runs queries on a connection of their own.
 * @param {import('pg-test-fixtures').Server} server that trusts
 * @param {string[]} texts one statement each
 * @param {number} format of the results: 0 text, 1 binary
 * @returns {Promise<Buffer[]>} for each query the messages that answer it, RowDescription … CommandComplete
 */
async function fetchResults(server, texts, format) {
  const socket = open(server);
  const request = texts.map(text =>
    Buffer.concat([
      message('P', `\0${text}\0`, int16(0)),
      message('B', '\0\0', int16(0), int16(0), int16(1), int16(format)),
      message('D', 'P\0'),
      message('E', '\0', int32(0)),
      message('S')
    ])
  );
  const results = [];
  let packets = [];
  return await new Promise((resolve, reject) => {
    socket.on('close', () => reject(new Error('the server closed the connection')));
    onFrames(socket, ({ type, bytes }) => {
      if (type !== 'Z') return packets.push(bytes);
      // The first ReadyForQuery is that of the connection.
      if (results.push(Buffer.concat(packets)) === 1) socket.write(Buffer.concat(request));
      packets = [];
      if (results.length > texts.length) {
        socket.destroy();
        resolve(results.slice(1));
      }
    });
  });
}

/**
 * Records a connection.
 * @param {import('pg-test-fixtures').Server} server that trusts
 * @param {Buffer[]} messages to send, all at once; then Terminate
 * @returns {Promise<Buffer>} every byte that the server sent
 */
async function record(server, messages) {
  const socket = open(server);
  socket.write(Buffer.concat([...messages, message('X')]));
  const chunks = [];
  for await (const chunk of socket) chunks.push(chunk);
  return Buffer.concat(chunks);
}

module.exports = {
  message,
  rowDescription,
  dataRow,
  commandComplete,
  hex,
  int16,
  int32,
  fetchResults,
  record
};
