'use strict';

const makeKnex = require('knex');
const Dialect = require('knex/lib/dialects/postgres');

module.exports = async ({ pg, config, kill, tell, errorOf, persist }) => {
  const client = class extends Dialect {
    _driver() {
      return pg;
    }
  };
  const knex = makeKnex({ client, connection: config, pool: { min: 0, max: 4 } });
  await knex.schema.createTable('users', table => {
    table.increments('id');
    table.string('name').notNullable().unique();
    table.jsonb('data');
    table.timestamp('at');
    table.decimal('price');
  });
  tell(
    await knex('users').insert([{ name: 'Ann', data: { a: 1 }, at: new Date(1e12), price: 1.5 }, { name: 'Bob' }], '*')
  );
  tell(await knex('users').insert({ name: 'Ann' }).catch(errorOf));
  tell(
    await knex.transaction(async trx => {
      await trx('users').update({ name: 'Cid' }).where({ id: 2 });
      await trx
        .transaction(async inner => {
          await inner('users').delete();
          throw new Error('inner');
        })
        .catch(({ message }) => tell(message));
      return trx('users').count();
    })
  );
  tell(
    await knex
      .transaction(async trx => {
        await trx('users').delete();
        throw new Error('changed my mind');
      })
      .catch(({ message }) => message)
  );
  tell(
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        knex.raw('SELECT ?::int AS i', [i]).then(({ rows, rowCount }) => [rows, rowCount])
      )
    )
  );
  let sum = 0;
  for await (const { n } of knex.select(knex.raw('generate_series(1, 1000) AS n')).stream()) sum += n;
  tell(sum);
  tell(
    await knex
      .raw('SELECT pg_sleep(100)')
      .timeout(100, { cancel: true })
      .catch(({ name }) => name)
  );
  await kill();
  tell(await persist(() => knex('users').select('id', 'name').orderBy('id')));
  await knex.destroy();
};
