'use strict';

const pgp = require('pg-promise')({ noWarnings: true });

const db = pgp(process.env.DATABASE_URL);

(async () => {
  await db.none('CREATE TABLE promise_users (id int PRIMARY KEY, name text, born date, tags text[], data jsonb)');
  const users = Array.from({ length: 100 }, (_, id) => ({
    id,
    name: `User ${id}`,
    born: new Date(2000, 0, 1 + id),
    tags: ['a', `"${id}"`],
    data: { id }
  }));
  await db.none(pgp.helpers.insert(users, ['id', 'name', 'born', 'tags', 'data'], 'promise_users'));
  console.log(await db.one('SELECT * FROM promise_users WHERE id = $<id>', { id: 7 }));
  console.log(await db.any('SELECT id FROM promise_users WHERE name LIKE $1 ORDER BY id', ['User 1%'], row => row.id));
  console.log(await db.one('SELECT 1 WHERE false').catch(({ name, code, received }) => [name, code, received]));
  console.log(
    await db.tx(async t => {
      await t.none('UPDATE promise_users SET name = $1 WHERE id = $2', ['Ann', 1]);
      await t
        .tx(async inner => {
          await inner.none('DELETE FROM promise_users');
          throw new Error('undone');
        })
        .catch(({ message }) => console.log(message));
      return t.batch([
        t.one('SELECT count(*) FROM promise_users'),
        t.one('SELECT name FROM promise_users WHERE id = 1')
      ]);
    })
  );
  console.log(
    await db.tx(t => t.none('INSERT INTO promise_users VALUES (1)')).catch(({ code, constraint }) => [code, constraint])
  );
  console.log(await db.multi('SELECT 1 AS a; SELECT 2 AS b'));
  console.log(await db.result('DELETE FROM promise_users', null, ({ rowCount }) => rowCount));
  await db.$pool.end();
})();
