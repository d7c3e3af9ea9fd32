'use strict';

module.exports = {
  label: 'Bun.sql, 10 connections, with Bun.serve',
  async open({ host, port, user, database }) {
    const { SQL } = require('bun');
    const sql = new SQL({ adapter: 'postgres', hostname: host, port, username: user, database, max: 10 });
    const one = async id => (await sql`SELECT id, data FROM owners WHERE id = ${id}`)[0];
    return {
      one,
      many: ids => Promise.all(ids.map(one)),
      twelve: () => sql`SELECT id, name, email FROM users ORDER BY id LIMIT 12`,
      update: changes =>
        Promise.all(changes.map(([data, id]) => sql`UPDATE owners SET data = ${data} WHERE id = ${id}`)),
      async thousand(out) {
        const rows = await sql`SELECT id, name, email, level, active, created FROM typed LIMIT 1000`;
        return out.send('application/json', JSON.stringify(rows));
      },
      // Bun.sql has no cursor: the rows are there at once, and are written in pieces.
      stream: async out =>
        out.stream(async function* () {
          const rows = await sql`SELECT id, name, email, level, active, created FROM typed LIMIT 100000`;
          for (let i = 0; i < rows.length; i += 1000) {
            yield rows
              .slice(i, i + 1000)
              .map(row => `${JSON.stringify(row)}\n`)
              .join('');
          }
        })
    };
  }
};
