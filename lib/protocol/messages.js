'use strict';

const { Buffer } = require('../platform');
const { ConnectionError, FIELDS, protocolError } = require('./errors');

/*
 * Decoders of the backend's small messages. Each is given the buffer, the offset of the message's type byte and
 * the offset after its end, trusts no length and no terminator in it, and throws a protocol violation that names
 * the message. https://www.postgresql.org/docs/current/protocol-message-formats.html
 */

const wrongLength = what => protocolError(`${what} of a wrong length`);

/**
 * @param {number} off where they begin
 * @param {number} [count] how many they must be
 * @returns {string[]} the null-terminated strings up to the end of a message
 */
function stringsOf(buf, off, end, what, count) {
  const strings = buf.toString('utf8', off, end).split('\0');
  const rest = strings.pop();
  if (strings.length < count || (count === undefined && rest !== '')) {
    throw protocolError(`${what} with an unterminated string`);
  }
  if (strings.length > count || rest !== '') throw wrongLength(what);
  return strings;
}

/**
 * Decodes ErrorResponse and NoticeResponse: strings of a type and a text, and an empty one.
 * @returns {Object<string, string>} fields by name
 */
function decodeFields(buf, start, end) {
  const strings = stringsOf(buf, start + 5, end, 'ErrorResponse');
  if (strings.pop() !== '' || strings.includes('')) throw protocolError('ErrorResponse without its terminator');
  const fields = {};
  for (const text of strings) {
    const name = FIELDS[text[0]];
    // V, the untranslated severity, comes after S and replaces it; servers before 9.6 send S alone.
    if (name !== undefined) fields[name] = text.slice(1);
  }
  return fields;
}

/**
 * Decodes ParameterStatus.
 * @returns {[string, string]} name and value
 */
function decodeParameterStatus(buf, start, end) {
  const { 0: name, 1: value } = stringsOf(buf, start + 5, end, 'ParameterStatus', 2);
  if (name === 'client_encoding' && !/^utf-?8$/i.test(value)) {
    throw new ConnectionError(`client_encoding is ${JSON.stringify(value)} now: all text here is UTF8`);
  }
  return [name, value];
}

/**
 * Decodes NotificationResponse.
 * @returns {{processId: number, channel: string, payload: string}}
 */
function decodeNotification(buf, start, end) {
  const [channel, payload] = stringsOf(buf, start + 9, end, 'NotificationResponse', 2);
  return { processId: buf.readInt32BE(start + 5), channel, payload };
}

/**
 * Decodes CommandComplete, whose tag is `SELECT 5`, `INSERT 0 1`, `CREATE TABLE`, ….
 * @returns {{cmd: string, oid: string|undefined, rowCount: number}} `cmd` is the tag without its numbers
 */
function decodeCommandComplete(buf, start, end) {
  if (buf.indexOf(0, start + 5) !== end - 1) stringsOf(buf, start + 5, end, 'CommandComplete', 1); // says what is wrong
  const tag = buf.latin1Slice(start + 5, end - 1);
  const at = tag.lastIndexOf(' ');
  const rowCount = at < 0 ? NaN : Number(tag.slice(at + 1));
  if (!Number.isInteger(rowCount)) return { cmd: tag, oid: undefined, rowCount: 0 };
  if (tag.startsWith('INSERT ')) return { cmd: 'INSERT', oid: tag.slice(7, at) || undefined, rowCount };
  return { cmd: tag.slice(0, at), oid: undefined, rowCount };
}

/**
 * Decodes CopyInResponse, CopyOutResponse and CopyBothResponse.
 * @returns {{format: number, columnCount: number, columnFormats: number[]}} formats: 0 text, 1 binary
 */
function decodeCopyResponse(buf, start, end) {
  const columnCount = end - start < 8 ? 0 : buf.readUInt16BE(start + 6);
  if (end - start !== 8 + 2 * columnCount) throw wrongLength('CopyResponse');
  const columnFormats = Array.from({ length: columnCount }, (_, i) => buf.readUInt16BE(start + 8 + 2 * i));
  return { format: buf[start + 5], columnCount, columnFormats };
}

/**
 * Decodes ReadyForQuery.
 * @returns {string} the transaction status: 'I' idle, 'T' in a transaction, 'E' in a failed one
 */
function decodeReadyForQuery(buf, start, end) {
  const status = String.fromCharCode(buf[start + 5]);
  if (end - start !== 6 || !'ITE'.includes(status)) throw protocolError('ReadyForQuery of a wrong kind');
  return status;
}

/**
 * Decodes the messages whose names begin with Authentication.
 * @returns {{code: number, data: Buffer}} what is asked for, and what follows the code, in the memory of `buf`
 */
function decodeAuthentication(buf, start, end) {
  if (end - start < 9) throw wrongLength('Authentication');
  return { code: buf.readUInt32BE(start + 5), data: buf.subarray(start + 9, end) };
}

/**
 * Decodes BackendKeyData: the process id and a secret of 4 to 256 bytes.
 * @returns {Buffer} a copy of both, as a CancelRequest has them
 */
function decodeBackendKeyData(buf, start, end) {
  if (end - start < 13 || end - start > 265) throw wrongLength('BackendKeyData');
  return Buffer.from(buf.subarray(start + 5, end));
}

/**
 * Decodes NegotiateProtocolVersion.
 * @returns {{version: number, options: string[]}} the newest version that the server has, as in StartupMessage, and
 *   the options that it does not know
 */
function decodeNegotiateProtocolVersion(buf, start, end) {
  if (end - start < 13) throw wrongLength('NegotiateProtocolVersion');
  const newest = buf.readUInt32BE(start + 5);
  const options = stringsOf(buf, start + 13, end, 'NegotiateProtocolVersion', buf.readUInt32BE(start + 9));
  // The documentation says "minor version", PostgreSQL sends both numbers; take either.
  return { version: newest < 0x10000 ? 0x30000 + newest : newest, options };
}

module.exports = {
  decodeAuthentication, decodeBackendKeyData, decodeNegotiateProtocolVersion, decodeReadyForQuery,
  decodeFields, decodeParameterStatus, decodeNotification, decodeCommandComplete, decodeCopyResponse
};
