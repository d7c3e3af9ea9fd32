'use strict';

const assert = require('node:assert/strict');
const { Pipeline } = require('../../../lib/core/pipeline');
const { Phase, Scope, Scopes } = require('../../../lib/core/pipeline/scope');

const entry = name => ({ name, next: null });

/** The scopes of a connection, and what they have settled. */
function make() {
  const settled = [];
  const pipeline = {
    head: null,
    holds: 0,
    isOpen: true,
    maxPipeline: Infinity,
    unanswered: 0,
    mayStart: Pipeline.prototype.mayStart,
    status: 'I',
    statements: { control: undefined },
    reject: (request, error) => settled.push([request.name, error.message])
  };
  const scopes = (pipeline.scopes = new Scopes(pipeline));
  /** What comes next where the last answer had this status, and this was sent since. */
  const next = (status = 'I', { control, head = control ?? null } = {}) => {
    Object.assign(pipeline, { head, status, statements: { control } });
    return scopes.next();
  };
  const scope = (name, options, parent = scopes.root) => new Scope(pipeline, parent, name, options);
  return { scopes, next, settled, scope, root: scopes.root };
}

describe('A scope', () => {
  it('gives what waits in it in its order', () => {
    const { scope, root } = make();
    for (const name of ['a', 'b', 'c']) root.push(entry(name));
    const first = root.shift();
    assert.deepEqual([first.name, first.next], ['a', null]);
    root.push(scope('d'));
    assert.deepEqual([root.shift().name, root.shift().name, root.shift().name], ['b', 'c', 'd']);
    assert.deepEqual([root.first, root.last], [null, null]);
    root.push(entry('e'));
    assert.equal(root.shift().name, 'e');
  });

  it('lies inside its parent and whatever that lies in', () => {
    const { scope, root } = make();
    const outer = scope('outer');
    const inner = scope('inner', {}, outer);
    assert.deepEqual(
      [inner.isInside(outer), inner.isInside(root), outer.isInside(inner), inner.isInside(inner)],
      [true, true, false, false]
    );
  });
});

describe('The scopes of a connection', () => {
  it('give one entry after another, of the innermost scope that was entered', () => {
    const { scopes, next, root, scope } = make();
    const owner = scope('owner');
    for (const each of [entry('a'), owner, entry('b')]) root.push(each);
    owner.push(entry('inside'));
    assert.equal(next().name, 'a');
    assert.equal(next(), owner);
    assert.equal(scopes.active, owner);
    assert.equal(next().name, 'inside');
    assert.equal(next(), null, 'what waits outside waits');
    assert.equal(scopes.leave(owner, new Error('over')), true);
    assert.equal(next().name, 'b');
  });

  it('let a scope that is to be alone wait until all has been answered', () => {
    const { scopes, next, root, scope } = make();
    const alone = scope('alone', { whenIdle: true });
    root.push(alone);
    root.push(entry('behind'));
    assert.deepEqual([next('I', { head: entry('sent') }), scopes.root.first !== null], [null, true]);
    assert.equal(next(), alone);
  });

  it('refuse a block inside one that a query has begun, and queries go on', () => {
    const { next, root, scope } = make();
    const errors = [];
    root.push(scope('block', { block: true, onlose: error => errors.push(error().message) }));
    root.push(entry('query'));
    assert.equal(next('T').name, 'query');
    assert.deepEqual(errors, [
      'block cannot begin in the block that a query has begun: end that first by COMMIT or ROLLBACK'
    ]);
  });

  it('let a block wait until it is known whether a query has begun one, and not behind the end of another', () => {
    const { next, root, scope } = make();
    const block = scope('block', { block: true });
    root.push(block);
    root.push(entry('query'));
    assert.equal(next('I', { control: { endsScope: false } }), null);
    assert.equal(next('T', { control: { endsScope: true } }), block);
  });

  it('leave one that is ending when all that waited in it has been sent', () => {
    const { scopes, next, root, scope } = make();
    const block = scope('block', { block: true });
    root.push(block);
    root.push(entry('outside'));
    block.push(entry('COMMIT'));
    assert.equal(next(), block);
    block.phase = Phase.ENDING;
    assert.deepEqual([next().name, block.isOver], ['COMMIT', false]);
    assert.deepEqual(
      [next('T', { control: { endsScope: true } }).name, block.isOver, scopes.active],
      ['outside', true, root]
    );
  });

  it('reject what waits in a scope that is over, and all that comes later', () => {
    const { scopes, next, root, scope, settled } = make();
    const lost = [];
    const owner = scope('owner');
    root.push(owner);
    assert.equal(next(), owner);
    owner.push(entry('inside'));
    owner.push(scope('nested', { onlose: next => lost.push(next().message) }, owner));
    const over = new Error('over');
    assert.equal(scopes.leave(owner, over), true);
    assert.equal(scopes.leave(owner, new Error('again')), false);
    assert.deepEqual([settled, lost], [[['inside', 'over']], ['over']]);
    assert.throws(() => scopes.check(owner), over);
    assert.throws(() => scopes.check(owner, { endsScope: true }), over);
    scopes.check(root);
  });

  it('pass over a scope that was left before its turn', () => {
    const { scopes, next, root, scope } = make();
    const left = scope('left');
    root.push(left);
    root.push(entry('a'));
    assert.equal(scopes.leave(left, new Error('over')), false, 'it owned nothing');
    assert.equal(next().name, 'a');
  });

  it('let what ends a block into one that takes no other requests', () => {
    const { scopes, scope } = make();
    const block = scope('block');
    block.refused = () => new Error('over');
    assert.throws(() => scopes.check(block, { endsScope: false }), { message: 'over' });
    scopes.check(block, { endsScope: true });
  });

  it('end all savepoints with the block that they are in', () => {
    const { scopes, next, root, scope } = make();
    const block = scope('block', { block: true });
    const savepoint = scope('savepoint', { block: true }, block);
    root.push(block);
    block.push(savepoint);
    next();
    next('T');
    scopes.leaveBlock(savepoint, new Error('ended'));
    assert.deepEqual([block.isOver, savepoint.isOver, root.isOver], [true, true, false]);
    assert.equal(scopes.active, root);
  });

  it('are all lost with the connection', () => {
    const { scopes, next, root, scope, settled } = make();
    const lost = [];
    const entered = scope('entered', { onlose: () => lost.push('entered') });
    const block = scope('block', { whenIdle: true, block: true, onlose: () => lost.push('block') });
    root.push(entered);
    next();
    entered.push(entry('inside'));
    root.push(block);
    root.push(entry('outside'));
    let count = 0;
    scopes.lose(() => new Error(`gone ${++count}`));
    assert.deepEqual(
      settled.map(([name]) => name),
      ['inside', 'outside']
    );
    assert.notEqual(settled[0][1], settled[1][1], 'each has an error of its own');
    assert.deepEqual(lost, ['entered', 'block']);
    assert.throws(() => scopes.check(root), { message: /^gone \d$/ });
  });
});
