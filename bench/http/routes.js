'use strict';

// The routes of the HTTP benchmark, the same for every client: what is asked of the database, and what is answered.
// A client's adapter (clients/) says only how its documentation would have it asked.

/** A row is chosen by counting on, so that neither the generator nor the server spends time on randomness. */
const OWNERS = 10000;

let next = 0;
const nextId = of => ((next = (next + 7919) % 1e9) % of) + 1;
const ids = (count, of) => Array.from({ length: count }, () => nextId(of));

/** What the adapters ask. The tables are those of the other benchmarks, see database.js. */
const TEXTS = {
  one: 'SELECT id, data FROM owners WHERE id = $1',
  twelve: 'SELECT id, name, email FROM users ORDER BY id LIMIT 12',
  update: 'UPDATE owners SET data = $1 WHERE id = $2',
  thousand: 'SELECT id, name, email, level, active, created FROM typed LIMIT 1000',
  stream: 'SELECT id, name, email, level, active, created FROM typed LIMIT 100000'
};

const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escape = text => text.replace(/[&<>"']/g, letter => ESCAPES[letter]);

/** A page with a table of rows. */
function page(rows) {
  const lines = rows.map(
    ({ id, name, email }) => `<tr><td>${id}</td><td>${escape(name)}</td><td>${escape(email)}</td></tr>`
  );
  return `<!DOCTYPE html><html><head><title>Users</title></head><body><table>${lines.join('')}</table></body></html>`;
}

/**
 * By path: each gets the adapter's session and what answers, `{ send(type, body), open(type), request, response }`.
 * @type {Object<string, {what: string, answer: function(object, object): Promise}>}
 */
const ROUTES = {
  '/row': {
    what: 'one row as JSON',
    answer: async (db, out) =>
      db.row === undefined
        ? out.send('application/json', JSON.stringify(await db.one(nextId(OWNERS))))
        : db.row(out, nextId(OWNERS))
  },
  '/twelve': {
    what: '12 rows as JSON',
    answer: async (db, out) =>
      db.list === undefined ? out.send('application/json', JSON.stringify(await db.twelve())) : db.list(out)
  },
  '/queries': {
    what: '20 queries at once as JSON',
    answer: async (db, out) => out.send('application/json', JSON.stringify(await db.many(ids(20, OWNERS))))
  },
  '/page': {
    what: '12 rows as HTML',
    answer: async (db, out) => out.send('text/html; charset=utf-8', page(await db.twelve()))
  },
  '/updates': {
    what: '20 updates',
    async answer(db, out) {
      const changes = ids(20, OWNERS)
        .sort((a, b) => a - b)
        .map(id => [`data ${id}`, id]);
      await db.update(changes);
      return out.send('application/json', JSON.stringify({ updated: changes.length }));
    }
  },
  '/rows': { what: '1,000 rows as JSON', answer: (db, out) => db.thousand(out) },
  '/stream': { what: '100,000 rows streamed as ndjson', answer: (db, out) => db.stream(out) }
};

module.exports = { ROUTES, TEXTS };
