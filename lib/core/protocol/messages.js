'use strict';

const messages = require('../../../client-parser/messages.js');
const { ConnectionError, protocolError } = require('./errors');
const { textAt } = require('./reader');

/*
 * Decoders of the server's small messages. Each takes the buffer, the offset of the message's type byte and the offset
 * behind its end. It trusts no length and no terminator, and throws a protocol violation that names the message.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */

const platform = { text: textAt, error: protocolError };

/** Adapts a decoder that browsers share. */
const shared = decode => (buf, start, end) => decode(buf, start, end, platform);

/** The protocol's first version, as in StartupMessage. */
const VERSION_3_0 = 0x30000;

/** Most parameters that a server may report; PostgreSQL has some 400 in all. */
const MAX_PARAMETERS = 1000;

const wrongLength = what => protocolError(`${what} of a wrong length`);

/** Reads the null-terminated strings from `off` to the end of a message, which must be `count` if it is given. */
function stringsOf(buf, off, end, what, count) {
  const strings = buf.toString('utf8', off, end).split('\0');
  const rest = strings.pop();
  if (strings.length < count || (count === undefined && rest !== '')) {
    throw protocolError(`${what} with an unterminated string`);
  }
  if (strings.length > count || rest !== '') throw wrongLength(what);
  return strings;
}

function decodeParameterStatus(buf, start, end) {
  const text = textAt(buf, start + 5, end);
  const at = text.indexOf('\0');
  // The long way is for an error: a connection begins with some 15 of these messages.
  const isPair = at >= 0 && text.indexOf('\0', at + 1) === text.length - 1;
  const pair = isPair
    ? [text.slice(0, at), text.slice(at + 1, -1)]
    : stringsOf(buf, start + 5, end, 'ParameterStatus', 2);
  if (pair[0] === 'client_encoding' && !/^utf-?8$/i.test(pair[1])) {
    throw new ConnectionError(
      `the server changed client_encoding to ${JSON.stringify(pair[1])}: this library needs UTF8`
    );
  }
  return pair;
}

/**
 * Adds a ParameterStatus to the parameters that the server has reported.
 * @param {number} [count] the number of parameters, or more
 */
function takeParameter(parameters, buf, start, end, count = Object.keys(parameters).length) {
  const pair = decodeParameterStatus(buf, start, end);
  if (count >= MAX_PARAMETERS && !(pair[0] in parameters))
    throw protocolError(`more than ${MAX_PARAMETERS} parameters`);
  parameters[pair[0]] = pair[1];
  return pair;
}

function decodeNotification(buf, start, end) {
  const [channel, payload] = stringsOf(buf, start + 9, end, 'NotificationResponse', 2);
  return { processId: buf.readInt32BE(start + 5), channel, payload };
}

/**
 * Decodes any message whose name begins with Authentication.
 * @returns {{code: number, data: Buffer}} the request, and the rest of the message as a view of `buf`
 */
function decodeAuthentication(buf, start, end) {
  if (end - start < 9) throw wrongLength('Authentication');
  return { code: buf.readUInt32BE(start + 5), data: buf.subarray(start + 9, end) };
}

/** @returns {Buffer} a copy of the process id and the secret of 4 to 256 bytes, as a CancelRequest has them */
function decodeBackendKeyData(buf, start, end) {
  if (end - start < 13 || end - start > 265) throw wrongLength('BackendKeyData');
  return Buffer.from(buf.subarray(start + 5, end));
}

/**
 * @returns {number} the server's newest version; it also names options that it does not know, of which this client has
 * none
 */
function decodeNegotiateProtocolVersion(buf, start, end) {
  if (end - start < 13) throw wrongLength('NegotiateProtocolVersion');
  const newest = buf.readUInt32BE(start + 5);
  stringsOf(buf, start + 13, end, 'NegotiateProtocolVersion', buf.readUInt32BE(start + 9));
  // The documentation says "minor version", but PostgreSQL sends both numbers.
  return newest < 0x10000 ? VERSION_3_0 + newest : newest;
}

module.exports = {
  VERSION_3_0,
  decodeAuthentication,
  decodeBackendKeyData,
  decodeNegotiateProtocolVersion,
  takeParameter,
  decodeParameterStatus,
  decodeNotification,
  decodeFields: shared(messages.decodeFields),
  decodeCommandComplete: shared(messages.decodeCommandComplete),
  decodeCopyResponse: shared(messages.decodeCopyResponse)
};
