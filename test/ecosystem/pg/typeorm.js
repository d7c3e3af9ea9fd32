'use strict';

require('reflect-metadata');
const { DataSource, EntitySchema } = require('typeorm');

const User = new EntitySchema({
  name: 'User',
  tableName: 'users',
  columns: {
    id: { type: Number, primary: true, generated: true },
    name: { type: 'text', unique: true },
    data: { type: 'jsonb', nullable: true },
    tags: { type: 'text', array: true, nullable: true },
    at: { type: 'timestamptz', nullable: true },
    day: { type: 'date', nullable: true },
    price: { type: 'numeric', nullable: true },
    big: { type: 'bigint', nullable: true },
    bytes: { type: 'bytea', nullable: true }
  },
  relations: { pets: { type: 'one-to-many', target: 'Pet', inverseSide: 'owner' } }
});
const Pet = new EntitySchema({
  name: 'Pet',
  columns: { id: { type: Number, primary: true, generated: true }, name: { type: 'text' } },
  relations: { owner: { type: 'many-to-one', target: 'User', inverseSide: 'pets' } }
});

module.exports = async ({ pg, config, kill, tell, errorOf, persist }) => {
  const { host, port, user: username, database, password } = config;
  const source = new DataSource({
    type: 'postgres',
    driver: pg,
    host,
    port,
    username,
    database,
    password,
    synchronize: true,
    entities: [User, Pet],
    poolSize: 4,
    poolErrorHandler: () => {}
  });
  await source.initialize();
  const users = source.getRepository('User');
  const [ann] = await users.save([
    {
      name: 'Ann',
      data: { a: [1] },
      tags: ['x'],
      at: new Date(1e12),
      day: '2020-02-29',
      price: '1.50',
      big: '9007199254740993',
      bytes: Buffer.from('é')
    },
    { name: 'Bob' }
  ]);
  await source.getRepository('Pet').save({ name: 'Rex', owner: ann });
  tell(await users.find({ relations: { pets: true }, order: { id: 'ASC' } }));
  tell(await users.insert({ name: 'Ann' }).catch(({ driverError, name }) => [name, errorOf(driverError).code]));
  tell(
    await source.transaction('SERIALIZABLE', async manager => {
      await manager.update('User', { name: 'Bob' }, { name: 'Cid' });
      await manager
        .transaction(async inner => {
          await inner.delete('Pet', {});
          throw new Error('inner');
        })
        .catch(({ message }) => tell(message));
      return manager.count('Pet');
    })
  );
  tell(
    await source
      .transaction(async manager => {
        await manager.delete('Pet', {});
        throw new Error('changed my mind');
      })
      .catch(({ message }) => message),
    await source.getRepository('Pet').count()
  );
  tell(await Promise.all(Array.from({ length: 20 }, (_, i) => source.query('SELECT $1::int AS i', [i]))));
  tell(await source.createQueryBuilder('User', 'u').where('u.name = :name', { name: 'Cid' }).getMany());
  const names = [];
  const stream = await source.createQueryBuilder('User', 'u').orderBy('u.id').stream();
  for await (const row of stream) names.push(row.u_name);
  tell(names, await source.query('DELETE FROM pet'), await source.query('SELECT current_schema() AS s'));
  await kill();
  tell(await persist(() => users.count()));
  await source.destroy();
};
