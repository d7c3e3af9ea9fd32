'use strict';

const assert = require('node:assert/strict');
const { State } = require('../../lib/protocol');
const { CloseRequest } = require('../../lib/pipeline/close');
const { hex, ANSWER, message } = require('../support');
const { encoded, give, open } = require('../support/submitted');

describe('CloseRequest', () => {
  it('without names is Sync alone', async () => {
    const request = open(new CloseRequest('P', []));
    assert.equal(encoded(request), '5300000004');
    assert.equal(request.state, State.Done);
    request.ready();
    assert.equal(await request.promise, undefined);
  });

  it('writes Close of each name and one Sync, and is over after as many CloseComplete', async () => {
    const request = open(new CloseRequest('S', ['s1', 's2']));
    assert.equal(encoded(request), hex("43 00000008 53 's1' 00  43 00000008 53 's2' 00  53 00000004").toString('hex'));
    give(request, message('3'));
    assert.equal(request.state, State.Closing);
    give(request, message('3'));
    assert.equal(request.state, State.Done);
    assert.throws(() => give(request, message('3')), { code: '08P01' });
    request.ready();
    await request.promise;
  });

  it('refuses any other answer but an error', async () => {
    const request = open(new CloseRequest('P', ['']));
    encoded(request);
    assert.throws(() => give(request, message('1')), { code: '08P01' });
    give(request, ANSWER.error('22012', 'no'));
    request.ready();
    await assert.rejects(request.promise, { code: '22012' });
  });
});

