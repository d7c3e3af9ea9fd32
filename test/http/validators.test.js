'use strict';

const assert = require('node:assert/strict');
const { validate, etagOf, cacheControl } = require('../../lib/http/validators');

/** An answer of a cache whose clock the test sets. */
function answerOf(text, { tags = [], maxAge = 60000, stale = 15000, age = 0, rowCount = 1 } = {}) {
  return { body: Buffer.from(text), etag: undefined, rowCount, settings: { tags, maxAge, stale }, cache: { age: () => age } };
}

/** A response that only has headers. */
function responseOf(headers = {}, statusCode = 200) {
  const set = new Map(Object.entries(headers));
  return { statusCode, set, hasHeader: name => set.has(name), setHeader: (name, value) => set.set(name, value) };
}

const get = (headers = {}, method = 'GET') => ({ method, headers });

describe('The entity tag of an answer', () => {
  it('is that of its bytes', () => {
    const [one, same, other] = ['a', 'a', 'b'].map(text => etagOf(answerOf(text), {}));
    assert.equal(one, same);
    assert.notEqual(one, other);
    assert.match(one, /^W\/"[\w-]{22}"$/);
  });

  it('is another for each form in which it is given', () => {
    const answer = answerOf('a');
    const tags = [{}, { as: 'values' }, { as: 'values', separator: '\n' }, { as: 'values', separator: '"' }].map(form => etagOf(answer, form));
    assert.equal(new Set(tags).size, 4);
    for (const tag of tags) assert.match(tag, /^W\/"[\w.-]+"$/);
  });
});

describe('Cache-Control of an answer', () => {
  it('lets nobody keep it longer than it would be given here', () => {
    for (const [age, header] of [
      [0, 'private, max-age=60, stale-while-revalidate=15'],
      [59001, 'private, max-age=0, stale-while-revalidate=15'],
      [70000, 'private, max-age=0, stale-while-revalidate=5'],
      [80000, 'private, max-age=0, stale-while-revalidate=0']
    ]) assert.equal(cacheControl(answerOf('a', { age })), header);
  });

  it('says what is longer than a cache can count as that', () => {
    assert.equal(cacheControl(answerOf('a', { maxAge: Infinity, stale: 1e30 })),
      'private, max-age=2147483648, stale-while-revalidate=2147483648');
  });

  it('has it asked for each time where it can be invalidated', () => {
    assert.equal(cacheControl(answerOf('a', { tags: ['t'] })), 'private, no-cache');
  });
});

describe('validate', () => {
  it('sets both, and knows when the reader has the answer', () => {
    const answer = answerOf('a');
    const response = responseOf();
    assert.equal(validate(get(), response, answer, {}), false);
    const etag = response.set.get('etag');
    assert.ok(response.set.has('cache-control'));
    for (const [known, method, has] of [
      [etag, 'GET', true], [`"x", ${etag}`, 'GET', true], [etag.slice(2), 'GET', true], ['*', 'GET', true],
      ['"x"', 'GET', false], [etag, 'POST', false], ['', 'GET', false]
    ]) assert.equal(validate(get({ 'if-none-match': known }, method), responseOf(), answer, {}), has, `${method} ${known}`);
  });

  it('leaves alone what the handler has set', () => {
    const response = responseOf({ etag: '"mine"', 'cache-control': 'no-store' });
    assert.equal(validate(get({ 'if-none-match': '"mine"' }), response, answerOf('a'), {}), false);
    assert.deepEqual([...response.set.values()], ['"mine"', 'no-store']);
  });

  it('does nothing for an answer that is none', () => {
    for (const [options, rowCount, does] of [
      [{ status: 404 }, 1, false], [{ emptyStatus: 404 }, 0, false], [{ emptyStatus: 404 }, 1, true], [{ status: 203 }, 1, true]
    ]) {
      const response = responseOf();
      validate(get(), response, answerOf('a', { rowCount }), options);
      assert.equal(response.set.has('etag'), does, JSON.stringify(options));
    }
  });
});
