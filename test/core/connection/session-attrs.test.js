'use strict';

const assert = require('node:assert/strict');
const { startServer, startStandby } = require('pg-test-fixtures');
const { fits } = require('../../../lib/core/connection/startup');
const { open, failure, message, withFake, SAY } = require('../../support/connecting');

const KINDS = ['read-write', 'read-only', 'primary', 'standby'];

describe('target_session_attrs', () => {
  it('is decided by what the server reports', () => {
    const decide = parameters => KINDS.map(wanted => fits(wanted, parameters));
    const reported = (standby, readOnly) => ({
      in_hot_standby: standby,
      default_transaction_read_only: readOnly
    });
    assert.deepEqual(decide(reported('off', 'off')), [true, false, true, false]);
    assert.deepEqual(decide(reported('off', 'on')), [false, true, true, false]);
    assert.deepEqual(decide(reported('on', 'off')), [false, true, false, true]);
    assert.deepEqual(decide(reported('on', 'on')), [false, true, false, true]);
    assert.deepEqual(decide({}), [undefined, undefined, undefined, undefined]);
    assert.deepEqual(decide({ in_hot_standby: 'off' }), [undefined, undefined, undefined, undefined]);
  });

  it('is asked of servers and poolers that report nothing', async () => {
    const answer = value => [
      message('T', '\0\0'),
      message('D', '\0\x01', value.length, value),
      message('C', 'SHOW\0'),
      SAY.ready
    ];
    for (const [wanted, question, yes, no] of [
      ['read-write', 'SHOW transaction_read_only', 'off', 'on'],
      ['read-only', 'SHOW transaction_read_only', 'on', 'off'],
      ['primary', 'SELECT pg_catalog.pg_is_in_recovery()', 'f', 't'],
      ['standby', 'SELECT pg_catalog.pg_is_in_recovery()', 't', 'f']
    ]) {
      for (const value of [yes, no]) {
        await withFake(
          async conversation => {
            await conversation.first();
            conversation.say(SAY.ok, SAY.key, SAY.ready);
            assert.equal((await conversation.read()).body.toString(), `${question}\0`);
            conversation.say(SAY.parameter('asked', 'yes'), message('N', 'Mhi\0\0'), ...answer(value));
            await conversation.read();
            conversation.socket.end();
          },
          async fake => {
            const config = { ...fake.config, target_session_attrs: wanted };
            if (value === no)
              return assert.match((await failure(config)).message, new RegExp(`target_session_attrs=${wanted}`));
            const session = await open(config);
            assert.equal(session.parameters.asked, 'yes');
            await session.end();
          }
        );
      }
    }
  });

  it('is not decided by an answer that is none', async () => {
    for (const [bytes, expected] of [
      [SAY.ready, /no answer/],
      [message('D', '\0'), /DataRow of a wrong length/],
      [message('G', '\0'), /type 0x47/],
      [message('Z', 'T'), /ReadyForQuery of a wrong kind/],
      [SAY.error('42501', 'not for you'), /not for you/]
    ]) {
      await withFake(
        async conversation => {
          await conversation.first();
          conversation.say(SAY.ok, SAY.ready);
          await conversation.read();
          conversation.say(bytes);
        },
        async fake => {
          const error = await failure({ ...fake.config, target_session_attrs: 'primary' });
          assert.match(error.message, expected);
        }
      );
    }
  });

  describe('with a primary and a standby', () => {
    let primary;
    let standby;
    before(async () => {
      primary = await startServer({ users: { reader: {} }, external: false });
      await primary.sql('ALTER ROLE reader SET default_transaction_read_only = on');
      standby = await startStandby(primary);
      await standby.catchUp();
    });
    after(async () => {
      await standby?.stop();
      await primary?.stop();
    });

    const config = (servers, more) => ({
      host: servers.map(({ host }) => host).join(),
      port: servers.map(({ port }) => port).join(),
      user: 'postgres',
      database: 'postgres',
      connect_timeout: 20,
      ...more
    });

    /** The port of the server that a session is with. */
    async function portOf(options) {
      const session = await open(options);
      const [port] = await session.ask('SHOW port');
      await session.end();
      return Number(port);
    }

    it('finds the server that is wanted, whatever the order', async () => {
      for (const servers of [
        [primary, standby],
        [standby, primary]
      ]) {
        const [first] = servers;
        for (const [wanted, expected] of [
          ['any', first],
          ['read-write', primary],
          ['primary', primary],
          ['read-only', standby],
          ['standby', standby],
          ['prefer-standby', standby]
        ]) {
          assert.equal(await portOf(config(servers, { target_session_attrs: wanted })), expected.port, wanted);
          const sure = config(servers, { target_session_attrs: wanted, require_auth: 'none' });
          assert.equal(await portOf(sure), expected.port, wanted);
        }
      }
    });

    it('counts a read-only default as read-only, but not as a standby', async () => {
      const reader = more => portOf(config([primary], { user: 'reader', ...more }));
      for (const target_session_attrs of ['any', 'read-only', 'primary', 'prefer-standby']) {
        assert.equal(await reader({ target_session_attrs }), primary.port);
      }
      for (const target_session_attrs of ['read-write', 'standby']) {
        await assert.rejects(reader({ target_session_attrs }), { code: '08001' });
      }
    });

    it('takes any with prefer-standby where there is no standby', async () => {
      assert.equal(await portOf(config([primary], { target_session_attrs: 'prefer-standby' })), primary.port);
    });

    it('says of each server why it will not do', async () => {
      const error = await failure(config([standby, standby], { target_session_attrs: 'primary' }));
      assert.ok(error instanceof AggregateError);
      assert.equal(error.code, '08001');
      for (const one of error.errors)
        assert.match(one.message, /the server is not what target_session_attrs=primary asks for/);
    });

    it('sends no requests ahead to a server that may not be the one', async () => {
      const session = await open(config([primary], { target_session_attrs: 'primary', require_auth: 'none' }));
      assert.equal(session.taken, 0);
      await session.end();
    });

    it('finds the new primary after a failover, while clients keep trying', async function () {
      this.timeout(120000);
      const options = config([primary, standby], { target_session_attrs: 'read-write', connect_timeout: 5 });
      assert.equal(await portOf(options), primary.port);
      await standby.catchUp();
      const trying = Array.from({ length: 8 }, async () => {
        const errors = [];
        for (const end = Date.now() + 60000; Date.now() < end;) {
          const port = await portOf(options).catch(error => {
            errors.push(error);
          });
          if (port === standby.port) return errors;
          await new Promise(later => {
            setTimeout(later, 20);
          });
        }
        throw new Error('the new primary was not found');
      });
      await primary.stop({ mode: 'immediate', keep: true });
      await standby.promote();
      for (const errors of await Promise.all(trying)) {
        for (const error of errors)
          assert.ok(
            error.name === 'ConnectionError' || error instanceof AggregateError || error.code?.startsWith('57'),
            String(error)
          );
      }
      assert.equal(await portOf(options), standby.port);
      assert.equal(await portOf({ ...options, target_session_attrs: 'primary' }), standby.port);
    });
  });
});
