'use strict';

const assert = require('node:assert/strict');
const { Result } = require('../../lib/live/result');
const { commandComplete, dataRow, rowDescription } = require('../support');

const about = { text: 'SELECT', tags: ['a'] };
const limits = { max_bytes: 1000, max_rows: 3 };

/** A result whose answers are these rows, errors or command tags, one after the other. */
function resultOf(...answers) {
  return new Result(async target => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    if (typeof answer === 'string') return { cmd: answer, rowCount: 0 };
    const bytes = Buffer.concat([rowDescription('a'), ...answer.map(value => dataRow(value)), commandComplete(`SELECT ${answer.length}`)]);
    await new Promise((resolve, reject) => {
      target.once('close', () => reject(new Error('closed')));
      target.write(bytes, resolve);
    });
    return { cmd: 'SELECT', rowCount: answer.length };
  }, about, limits);
}

const rejection = promise => promise.then(() => undefined, error => [error.code, error.message]);

describe('A result', () => {
  it('shows a state that differs to its readers', async () => {
    const result = resultOf(['x'], ['x'], ['y']);
    const shown = [];
    result.readers.add({ show: state => shown.push(state) });
    await result.ask();
    await result.begun;
    const first = result.state;
    await result.ask();
    assert.equal(result.state, first);
    await result.ask();
    assert.deepEqual(shown, [first, result.state]);
    assert.notEqual(first, result.state);
  });

  it('knows whether it is asked for, and since when', async () => {
    const result = resultOf(['x'], new Error('no'));
    result.isStale = true;
    const asking = result.ask();
    assert.deepEqual([result.isAsked, result.isStale, performance.now() - result.asked < 1000], [true, false, true]);
    await asking;
    assert.equal(result.isAsked, false);
    await assert.rejects(result.ask(), { message: 'no' });
    assert.equal(result.isAsked, false);
  });

  it('has limits, and is that of a SELECT', async () => {
    assert.deepEqual(await rejection(resultOf(['x'.repeat(1000)]).ask()), ['54000', 'the result has more than 1000 bytes (max_bytes)']);
    assert.deepEqual(await rejection(resultOf(['1', '2', '3', '4']).ask()), ['54000', 'the result has 4 rows, more than 3 (max_rows)']);
    assert.deepEqual(await rejection(resultOf('INSERT').ask()), ['0A000', 'a live result is that of a SELECT, not of INSERT']);
  });

  it('rejects requests for the first state when it fails, and ends readers later', async () => {
    const result = resultOf(['x']);
    let ended = 0;
    result.readers.add({ show() {}, end() { ended++; } });
    result.fail(new Error('no'));
    await assert.rejects(result.begun, { message: 'no' });
    assert.equal(ended, 0);
    await result.ask();
    result.fail(new Error('no'));
    assert.equal(ended, 1);
  });

  it('depends on its tags, or on everything', () => {
    const all = new Result(undefined, { text: '', tags: [] }, limits);
    assert.deepEqual([undefined, 'a', 'b'].map(tag => [resultOf().dependsOn(tag), all.dependsOn(tag)]), [[true, true], [true, true], [false, true]]);
  });
});
