'use strict';

const { Buffer } = require('#platform');
const { ConnectionError, FIELDS, protocolError } = require('./errors');

/*
 * Decoders of the backend's small messages. Each is given the buffer, the offset of the message's type byte and
 * the offset after its end, trusts no length and no terminator in it, and throws a protocol violation that names
 * the message. https://www.postgresql.org/docs/current/protocol-message-formats.html
 */

/**
 * Finds the end of a null-terminated string inside a message.
 * @returns {number} offset of the terminator
 */
function stringEnd(buf, start, end, what) {
  const at = start < end ? buf.indexOf(0, start) : -1;
  if (at < 0 || at >= end) throw protocolError(`${what} with an unterminated string`);
  return at;
}

/**
 * Decodes ErrorResponse and NoticeResponse.
 * @returns {Object<string, string>} fields by name
 */
function decodeFields(buf, start, end) {
  const fields = {};
  let off = start + 5;
  while (off < end && buf[off] !== 0) {
    const type = String.fromCharCode(buf[off++]);
    const stop = stringEnd(buf, off, end, 'ErrorResponse');
    // V, the untranslated severity, comes after S and replaces it; servers before 9.6 send S alone.
    if (FIELDS[type] !== undefined) fields[FIELDS[type]] = buf.toString('utf8', off, stop);
    off = stop + 1;
  }
  if (off !== end - 1) throw protocolError('ErrorResponse without its terminator');
  return fields;
}

/**
 * Decodes ParameterStatus.
 * @returns {[string, string]} name and value
 */
function decodeParameterStatus(buf, start, end) {
  const nameEnd = stringEnd(buf, start + 5, end, 'ParameterStatus');
  const valueEnd = stringEnd(buf, nameEnd + 1, end, 'ParameterStatus');
  if (valueEnd !== end - 1) throw protocolError('ParameterStatus of a wrong length');
  const name = buf.toString('utf8', start + 5, nameEnd);
  const value = buf.toString('utf8', nameEnd + 1, valueEnd);
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
  if (end - start < 11) throw protocolError('NotificationResponse of a wrong length');
  const channelEnd = stringEnd(buf, start + 9, end, 'NotificationResponse');
  const payloadEnd = stringEnd(buf, channelEnd + 1, end, 'NotificationResponse');
  if (payloadEnd !== end - 1) throw protocolError('NotificationResponse of a wrong length');
  return {
    processId: buf.readInt32BE(start + 5),
    channel: buf.toString('utf8', start + 9, channelEnd),
    payload: buf.toString('utf8', channelEnd + 1, payloadEnd)
  };
}

// The command tag that came last, with its terminator: mostly the next one is the same.
let lastTag = Buffer.from('\0');
let lastCommand = { cmd: '', oid: undefined, rowCount: 0 };

/**
 * Decodes CommandComplete, whose tag is `SELECT 5`, `INSERT 0 1`, `CREATE TABLE`, ….
 * @returns {{cmd: string, oid: string|undefined, rowCount: number}} `cmd` is the tag without its numbers; not to
 *   be changed
 */
function decodeCommandComplete(buf, start, end) {
  const length = end - start - 5;
  let same = length === lastTag.length;
  for (let i = 0; same && i < length; i++) same = buf[start + 5 + i] === lastTag[i];
  if (same) return lastCommand;
  const stop = stringEnd(buf, start + 5, end, 'CommandComplete');
  if (stop !== end - 1) throw protocolError('CommandComplete of a wrong length');
  const tag = buf.toString('latin1', start + 5, stop);
  const [, cmd, oid, rowCount = 0] = /^(.*?)(?: (\d+)(?= \d+$))?(?: (\d+))?$/s.exec(tag);
  lastTag = Buffer.from(buf.subarray(start + 5, end));
  lastCommand = { cmd, oid, rowCount: Number(rowCount) };
  return lastCommand;
}

/**
 * Decodes CopyInResponse, CopyOutResponse and CopyBothResponse.
 * @returns {{format: number, columnCount: number, columnFormats: number[]}} formats: 0 text, 1 binary
 */
function decodeCopyResponse(buf, start, end) {
  if (end - start < 8) throw protocolError('CopyResponse of a wrong length');
  const columnCount = buf.readUInt16BE(start + 6);
  if (end - start !== 8 + 2 * columnCount) throw protocolError('CopyResponse of a wrong length');
  const columnFormats = [];
  for (let i = 0; i < columnCount; i++) columnFormats.push(buf.readUInt16BE(start + 8 + 2 * i));
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
  if (end - start < 9) throw protocolError('Authentication of a wrong length');
  return { code: buf.readUInt32BE(start + 5), data: buf.subarray(start + 9, end) };
}

/**
 * Decodes BackendKeyData: the process id and a secret of 4 to 256 bytes.
 * @returns {Buffer} a copy of both, as a CancelRequest has them
 */
function decodeBackendKeyData(buf, start, end) {
  if (end - start < 13 || end - start > 265) throw protocolError('BackendKeyData of a wrong length');
  return Buffer.from(buf.subarray(start + 5, end));
}

/**
 * Decodes NegotiateProtocolVersion.
 * @returns {{version: number, options: string[]}} the newest version that the server has, as in StartupMessage, and
 *   the options that it does not know
 */
function decodeNegotiateProtocolVersion(buf, start, end) {
  if (end - start < 13) throw protocolError('NegotiateProtocolVersion of a wrong length');
  const newest = buf.readUInt32BE(start + 5);
  const options = [];
  let off = start + 13;
  for (let count = buf.readUInt32BE(start + 9); count > 0; count--) {
    const stop = stringEnd(buf, off, end, 'NegotiateProtocolVersion');
    options.push(buf.toString('latin1', off, stop));
    off = stop + 1;
  }
  if (off !== end) throw protocolError('NegotiateProtocolVersion of a wrong length');
  // The documentation says "minor version", PostgreSQL sends both numbers; take either.
  return { version: newest < 0x10000 ? 0x30000 + newest : newest, options };
}

module.exports = {
  decodeAuthentication, decodeBackendKeyData, decodeNegotiateProtocolVersion, decodeReadyForQuery,
  decodeFields, decodeParameterStatus, decodeNotification, decodeCommandComplete, decodeCopyResponse, stringEnd
};
