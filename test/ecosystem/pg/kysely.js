'use strict';

const Cursor = require('pg-cursor');
const { Kysely, PostgresDialect, sql } = require('kysely');

module.exports = async ({ pg, config, kill, tell, errorOf, persist }) => {
  const pool = new pg.Pool({ ...config, max: 3 });
  pool.on('error', () => {});
  const db = new Kysely({ dialect: new PostgresDialect({ pool, cursor: Cursor }) });
  await db.schema
    .createTable('pets')
    .addColumn('id', 'serial', column => column.primaryKey())
    .addColumn('name', 'text', column => column.notNull().unique())
    .addColumn('tags', 'jsonb')
    .addColumn('born', 'timestamptz')
    .execute();
  const add = (to, name) =>
    to
      .insertInto('pets')
      .values({ name, tags: JSON.stringify({ name }), born: new Date(1e12) })
      .returningAll()
      .executeTakeFirst();
  tell(await add(db, 'Rex'), await add(db, 'Rex').catch(errorOf));
  await db
    .transaction()
    .setIsolationLevel('serializable')
    .execute(async trx => {
      tell(await add(trx, 'inside'), (await db.selectFrom('pets').selectAll().execute()).length); // the outer db does not hang
    });
  tell(
    await db
      .transaction()
      .execute(async trx => {
        await add(trx, 'nobody');
        throw new Error('changed my mind');
      })
      .catch(({ message }) => message)
  );
  const trx = await db.startTransaction().execute();
  const point = await trx.savepoint('before').execute();
  tell(await add(point, 'inside').catch(errorOf));
  await point.rollbackToSavepoint('before').execute();
  await trx.commit().execute();
  let sum = 0;
  for await (const { n } of db.selectNoFrom(sql`generate_series(1, 1000)`.as('n')).stream(100)) {
    sum += n;
    if (n === 500) break;
  }
  tell(sum);
  tell(
    (
      await Promise.all(Array.from({ length: 20 }, (_, i) => db.transaction().execute(each => add(each, `pet ${i}`))))
    ).map(({ name }) => name)
  );
  const { numUpdatedRows } = await db
    .updateTable('pets')
    .set({ name: sql`name || '!'` })
    .executeTakeFirst();
  tell(
    String(numUpdatedRows),
    (await db.introspection.getTables()).map(({ name }) => name)
  );
  await kill();
  tell(
    await persist(() =>
      db
        .selectFrom('pets')
        .select(eb => eb.fn.countAll().as('count'))
        .execute()
    )
  );
  await db.destroy();
};
