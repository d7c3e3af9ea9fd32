'use strict';

/*
 * The first byte of each message, by the message's name in PostgreSQL's documentation.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */

const code = letters =>
  Object.fromEntries(Object.entries(letters).map(([name, letter]) => [name, letter.charCodeAt(0)]));

const backend = code({
  AuthenticationRequest: 'R',
  BackendKeyData: 'K',
  BindComplete: '2',
  CloseComplete: '3',
  CommandComplete: 'C',
  CopyBothResponse: 'W',
  CopyData: 'd',
  CopyDone: 'c',
  CopyInResponse: 'G',
  CopyOutResponse: 'H',
  DataRow: 'D',
  EmptyQueryResponse: 'I',
  ErrorResponse: 'E',
  NegotiateProtocolVersion: 'v',
  NoData: 'n',
  NoticeResponse: 'N',
  NotificationResponse: 'A',
  ParameterDescription: 't',
  ParameterStatus: 'S',
  ParseComplete: '1',
  PortalSuspended: 's',
  ReadyForQuery: 'Z',
  RowDescription: 'T'
});

/** Messages that the client sends. Startup messages have no such byte. */
const frontend = code({
  Bind: 'B',
  Close: 'C',
  CopyData: 'd',
  CopyDone: 'c',
  CopyFail: 'f',
  Describe: 'D',
  Execute: 'E',
  Flush: 'H',
  Parse: 'P',
  PasswordMessage: 'p',
  Query: 'Q',
  Sync: 'S',
  Terminate: 'X'
});

module.exports = { backend, frontend };
