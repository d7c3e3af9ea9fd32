'use strict';

const { TEXTS } = require('../routes');

module.exports = {
  label: 'quickgres, Pool',
  async open({ host, port, user, database }) {
    const { decoders } = require('../../..');
    const { respond } = require('../../../lib/http');
    const { Pool } = require('../../../lib/pool');
    const pool = new Pool({ host, port, user, database, decode: decoders });
    const asJson = (out, text, values) => respond(pool, out.request, out.response, text, values, { as: 'json' });
    return {
      row: (out, id) => asJson(out, TEXTS.one, [id]),
      list: out => asJson(out, TEXTS.twelve),
      many: ids => Promise.all(ids.map(async id => (await pool.query(TEXTS.one, [id])).rows[0])),
      twelve: async () => (await pool.query(TEXTS.twelve)).rows,
      update: changes => Promise.all(changes.map(values => pool.query(TEXTS.update, values))),
      thousand: out => asJson(out, TEXTS.thousand),
      stream: out => respond(pool, out.request, out.response, TEXTS.stream, [], { as: 'ndjson' })
    };
  }
};
