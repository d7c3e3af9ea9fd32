'use strict';

const { drizzle } = require('drizzle-orm/node-postgres');
const { boolean, integer, jsonb, numeric, pgTable, serial, text, timestamp } = require('drizzle-orm/pg-core');
const { eq, relations, sql } = require('drizzle-orm');

const users = pgTable('users', {
  id: serial('id').primaryKey(),
  name: text('name').notNull().unique('names'),
  age: integer('age'),
  ok: boolean('ok').default(true),
  data: jsonb('data'),
  price: numeric('price'),
  at: timestamp('at', { withTimezone: true }),
  tags: text('tags').array()
});
const pets = pgTable('pets', {
  id: serial('id').primaryKey(),
  owner: integer('owner')
    .notNull()
    .references(() => users.id),
  name: text('name')
});
const usersRelations = relations(users, ({ many }) => ({ pets: many(pets) }));
const petsRelations = relations(pets, ({ one }) => ({
  owner: one(users, { fields: [pets.owner], references: [users.id] })
}));

module.exports = async ({ pg, config, kill, tell, errorOf, persist }) => {
  const pool = new pg.Pool({ ...config, max: 4 });
  pool.on('error', () => {});
  const db = drizzle({ client: pool, schema: { users, pets, usersRelations, petsRelations } });
  await db.execute(sql`CREATE TABLE users (id serial PRIMARY KEY, name text NOT NULL CONSTRAINT names UNIQUE, age int, ok bool DEFAULT true,
    data jsonb, price numeric, at timestamptz, tags text[]); CREATE TABLE pets (id serial PRIMARY KEY, owner int REFERENCES users, name text)`);
  tell(
    await db
      .insert(users)
      .values([
        {
          name: 'Ann',
          age: 5,
          data: { a: [1] },
          price: '1.50',
          at: new Date('2020-02-29T12:00:00Z'),
          tags: ['a', 'b"']
        },
        { name: 'Bob' }
      ])
      .returning()
  );
  await db.insert(pets).values([
    { owner: 1, name: 'Rex' },
    { owner: 1, name: 'Tom' }
  ]);
  tell(await db.query.users.findMany({ with: { pets: true }, orderBy: users.id }));
  tell(
    await db
      .select({ name: users.name, pet: pets.name })
      .from(users)
      .leftJoin(pets, eq(pets.owner, users.id))
      .orderBy(users.id, pets.id)
  );
  tell(
    await db
      .insert(users)
      .values({ name: 'Ann' })
      .catch(error => errorOf(error.cause ?? error))
  );
  tell(
    await db.transaction(
      async tx => {
        await tx
          .update(users)
          .set({ age: sql`${users.age} + 1` })
          .where(eq(users.id, 1));
        await tx
          .transaction(async inner => {
            await inner.delete(pets);
            inner.rollback();
          })
          .catch(error => tell(error.name));
        return tx.select().from(users).where(eq(users.id, 1));
      },
      { isolationLevel: 'serializable' }
    )
  );
  tell(
    await db
      .transaction(async tx => {
        await tx.delete(pets);
        throw new Error('changed my mind');
      })
      .catch(({ message }) => message),
    await db.$count(pets)
  );
  tell(
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        i % 2 === 0
          ? db.execute(sql`SELECT ${i}::int AS i`).then(({ rows }) => rows[0].i)
          : db.transaction(tx => tx.execute(sql`SELECT ${i}::int AS i`)).then(({ rows }) => rows[0].i)
      )
    )
  );
  const prepared = db
    .select()
    .from(users)
    .where(eq(users.id, sql.placeholder('id')))
    .prepare('one');
  tell(await prepared.execute({ id: 2 }), await prepared.execute({ id: 1 }));
  await kill();
  tell(await persist(() => db.select().from(users).where(eq(users.id, 2))));
  await pool.end();
};
