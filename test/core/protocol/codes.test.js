'use strict';

const assert = require('node:assert/strict');
const { backend, frontend } = require('../../../lib/core/protocol');

// https://www.postgresql.org/docs/current/protocol-message-formats.html
const BACKEND =
  'R AuthenticationRequest, K BackendKeyData, 2 BindComplete, 3 CloseComplete, C CommandComplete, ' +
  'W CopyBothResponse, d CopyData, c CopyDone, G CopyInResponse, H CopyOutResponse, D DataRow, I EmptyQueryResponse, ' +
  'E ErrorResponse, v NegotiateProtocolVersion, n NoData, N NoticeResponse, A NotificationResponse, ' +
  't ParameterDescription, S ParameterStatus, 1 ParseComplete, s PortalSuspended, Z ReadyForQuery, T RowDescription';
const FRONTEND =
  'B Bind, C Close, d CopyData, c CopyDone, f CopyFail, D Describe, E Execute, H Flush, P Parse, ' +
  'p PasswordMessage, Q Query, S Sync, X Terminate';

const list = codes =>
  Object.entries(codes)
    .map(([name, code]) => `${String.fromCharCode(code)} ${name}`)
    .join(', ');

describe('The codes of messages', () => {
  it('are those that PostgreSQL documents', () => {
    assert.equal(list(backend), BACKEND);
    assert.equal(list(frontend), FRONTEND);
  });
});
