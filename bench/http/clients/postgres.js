'use strict';

const { pipeline } = require('node:stream/promises');

module.exports = {
  label: 'postgres, 10 connections',
  async open({ host, port, user, database }) {
    const sql = require('postgres')({ host, port, user, database, max: 10 });
    const one = async id => (await sql`SELECT id, data FROM owners WHERE id = ${id}`)[0];
    return {
      one,
      many: ids => Promise.all(ids.map(one)),
      twelve: () => sql`SELECT id, name, email FROM users ORDER BY id LIMIT 12`,
      update: changes =>
        Promise.all(changes.map(([data, id]) => sql`UPDATE owners SET data = ${data} WHERE id = ${id}`)),
      async thousand(out) {
        const rows = await sql`SELECT id, name, email, level, active, created FROM typed LIMIT 1000`;
        out.send('application/json', JSON.stringify(rows));
      },
      stream: out =>
        pipeline(async function* () {
          const query = sql`SELECT id, name, email, level, active, created FROM typed LIMIT 100000`;
          for await (const rows of query.cursor(1000)) yield rows.map(row => `${JSON.stringify(row)}\n`).join('');
        }, out.open('application/x-ndjson'))
    };
  }
};
