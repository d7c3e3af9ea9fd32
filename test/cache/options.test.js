'use strict';

const assert = require('node:assert/strict');
const { ResponseCache } = require('../../lib/cache');
const { Pool } = require('../../lib/pool');
const { connected } = require('../support');

const CACHE = 'tags, max_age, stale_while_revalidate';
const REST = 'format, cache, paramTypes, signal, statement_timeout, alone, idempotent';

describe('Options of a ResponseCache', () => {
  it("are told by the error for one that there is not: the client's and its own", async () => {
    const pool = new Pool({ host: '127.0.0.1', port: 1 });
    const target = new (require('node:stream').PassThrough)();
    for (const client of [await connected(), pool]) {
      const cache = new ResponseCache(client);
      const message = list => ({ name: 'TypeError', message: `there is no option tag here; the options are ${list}` });
      await assert.rejects(
        cache.query('SELECT 1', [], { tag: ['a'] }),
        message(`format, cache, paramTypes, decode, names, signal, statement_timeout, alone, idempotent, ${CACHE}`)
      );
      await assert.rejects(
        cache.queryTo(target, 'SELECT 1', [], { tag: ['a'] }),
        message(`as, int8, numeric, bytea, separator, end, stall_timeout, buffer, ${REST}, ${CACHE}`)
      );
      assert.throws(
        () => new ResponseCache(client, { tag: 'a' }),
        message('max_bytes, max_answer_bytes, max_age, stale_while_revalidate, now')
      );
      assert.equal(cache.misses, 0);
    }
    assert.equal(pool.stats.waiting, 0);
    await pool.end();
  });
});
