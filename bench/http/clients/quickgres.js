'use strict';

const { TEXTS } = require('../routes');

module.exports = {
  label: 'quickgres, Pool of 4',
  async open({ directory, port, user, database }) {
    const { decoders } = require('../../..');
    const { Pool } = require('../../../lib/pool');
    const pool = new Pool({ host: directory, port, user, database, decode: decoders });
    const one = async id => (await pool.query(TEXTS.one, [id])).objects[0];
    return {
      one,
      many: ids => Promise.all(ids.map(one)),
      twelve: async () => (await pool.query(TEXTS.twelve)).rows,
      update: changes => Promise.all(changes.map(values => pool.query(TEXTS.update, values))),
      thousand: out => pool.queryTo(out.open('application/json'), TEXTS.thousand, [], { as: 'json' }),
      stream: out => pool.queryTo(out.open('application/x-ndjson'), TEXTS.stream, [], { as: 'ndjson' })
    };
  }
};
