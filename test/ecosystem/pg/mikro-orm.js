'use strict';

const { EntitySchema, MikroORM } = require('@mikro-orm/postgresql');

const User = new EntitySchema({
  name: 'User',
  tableName: 'users',
  properties: {
    id: { primary: true, type: 'number', autoincrement: true },
    name: { type: 'string', unique: true },
    data: { type: 'json', nullable: true },
    tags: { type: 'string[]', nullable: true },
    at: { type: 'datetime', nullable: true },
    price: { type: 'decimal', precision: 10, scale: 2, nullable: true },
    big: { type: 'bigint', nullable: true },
    bytes: { type: 'blob', nullable: true },
    pets: { kind: '1:m', entity: 'Pet', mappedBy: 'owner' }
  }
});
const Pet = new EntitySchema({
  name: 'Pet',
  tableName: 'pets',
  properties: {
    id: { primary: true, type: 'number', autoincrement: true },
    name: { type: 'string' },
    owner: { kind: 'm:1', entity: 'User' }
  }
});

module.exports = async ({ config, kill, tell, persist }) => {
  const { host, port, user, database: dbName, password } = config;
  const orm = await MikroORM.init({
    entities: [User, Pet],
    host,
    port,
    user,
    dbName,
    password,
    discovery: { disableDynamicFileAccess: true },
    pool: { min: 0, max: 4 }
  });
  await orm.schema.createSchema();
  const em = orm.em.fork();
  const ann = em.create('User', {
    name: 'Ann',
    data: { a: [1] },
    tags: ['x', 'y"'],
    at: new Date(1e12),
    price: '1.50',
    big: '9007199254740993',
    bytes: Buffer.from('é')
  });
  em.create('Pet', { name: 'Rex', owner: ann });
  em.create('User', { name: 'Bob' });
  await em.flush();
  tell(await orm.em.fork().find('User', {}, { populate: ['pets'], orderBy: { id: 1 } }));
  tell(
    await orm.em
      .fork()
      .insert('User', { name: 'Ann' })
      .catch(({ name, code, constraint }) => ({ name, code, constraint }))
  );
  tell(
    await orm.em.fork().transactional(async tx => {
      await tx.nativeUpdate('User', { name: 'Bob' }, { name: 'Cid' });
      await tx
        .transactional(async inner => {
          await inner.nativeDelete('Pet', {});
          throw new Error('inner');
        })
        .catch(({ message }) => tell(message));
      return tx.count('Pet');
    })
  );
  tell(
    await orm.em
      .fork()
      .transactional(async tx => {
        await tx.nativeDelete('Pet', {});
        throw new Error('changed my mind');
      })
      .catch(({ message }) => message),
    await orm.em.fork().count('Pet')
  );
  tell(
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => orm.em.fork().getConnection().execute('SELECT ?::int AS i', [i]))
    )
  );
  await kill();
  tell(await persist(() => orm.em.fork().count('User')));
  await orm.close();
};
