'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { SERVER_VERSION } = require('pg-test-fixtures');
const { ALONE, FAULTS, CONNECTED, CONNECTING } = require('../support/settling');

/** How long a process may go on once it has nothing more to do, in milliseconds. */
const EXIT = 20000;

/** What versions of OpenSSL say of bytes that are not TLS. */
const BROKEN_TLS = ['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_BAD_RECORD_TYPE', 'ERR_SSL_UNEXPECTED_MESSAGE'];

/** Before it knows the version of the protocol, a server older than PostgreSQL 14 tells of its end in the one of 7.3. */
const UNREADABLE = SERVER_VERSION < 14 ? ['08P01'] : [];

/** Codes that promises may reject with; and `resolved`, for what was over or was to end. */
const CODES = {
  FIN: ['08001', '08006', 'ECONNRESET', 'ECONNREFUSED'],
  RST: ['08001', '08006', 'ECONNRESET', 'ECONNREFUSED'],
  silence: ['08001', '57014', '08003'],
  SIGKILL: ['57P01', '57P02', '08001', '08006', 'ECONNRESET', 'ECONNREFUSED', 'EPIPE', ...UNREADABLE],
  pg_terminate_backend: ['57P01', '08006', 'ECONNRESET', 'EPIPE', '08001', 'ECONNREFUSED'],
  'garbage bytes': ['08P01', '28000', ...BROKEN_TLS, 'ECONNREFUSED'],
  'a message out of order': ['08P01', '28000', ...BROKEN_TLS, 'ECONNREFUSED'],
  'destroy()': ['08003'],
  'destroy(error)': ['08006', 'ABORT_ERR']
};

/** Faults that have a process and a server to themselves, since they end it or wait. */
const APART = [['silence'], ['SIGKILL', 'pg_terminate_backend']];

/** Runs faults in every state, in a process of their own. */
async function settle(faults, children) {
  const child = spawn(process.execPath, [path.join(__dirname, '../support/settling.js'), ...faults], {
    stdio: ['ignore', 'pipe', 'inherit']
  });
  children.push(child);
  let output = '';
  let done = 0;
  child.stdout.setEncoding('utf8').on('data', text => {
    output += text;
    if (/^done$/m.test(output)) done = done || Date.now();
  });
  const [status, signal] = await once(child, 'close');
  assert.ok(done > 0, `the process was over before its work: ${output}`);
  assert.ok(Date.now() - done < EXIT, 'the process ends by itself');
  const results = output
    .trim()
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line));
  for (const { unhandled, failed } of results) assert.equal(unhandled ?? failed, undefined);
  assert.deepEqual([status, signal], [0, null]);
  return results;
}

describe('Whatever happens to the connection, every promise settles, once, and nothing is left', function () {
  this.timeout(300000);
  const all = {};
  const children = [];

  before(() => {
    const rest = Object.keys(FAULTS).filter(fault => !APART.flat().includes(fault));
    for (const faults of [rest, ...APART]) {
      const settled = settle(faults, children);
      settled.catch(() => {});
      for (const fault of faults) all[fault] = settled;
    }
  });

  after(() => {
    for (const child of children) child.kill('SIGKILL');
  });

  for (const fault of Object.keys(FAULTS)) {
    it(fault, async () => {
      const results = (await all[fault]).filter(result => result.fault === fault);
      assert.deepEqual(results.pop(), { fault, handles: 0 });
      assert.deepEqual(
        results.map(({ state }) => state).sort(),
        [...Object.keys(CONNECTING), ...Object.keys(CONNECTED)].sort()
      );
      for (const { state, codes, handles, errors, alone } of results) {
        assert.deepEqual(
          codes.filter(code => ![...CODES[fault], 'resolved', 'ABORT_ERR'].includes(code)),
          [],
          state
        );
        assert.equal(handles ?? 0, 0, `handles left in the state ${state}`);
        const lost = !(state in CONNECTING) && fault !== 'silence' && fault !== 'destroy()';
        assert.equal(errors, lost ? 1 : 0, `'error' events in the state ${state}`);
        assert.equal(alone, fault === 'silence' ? ALONE[state] : undefined, state);
      }
    });
  }
});
