'use strict';

const { DataTypes, Op, Sequelize } = require('sequelize');

module.exports = async ({ pg, config, kill, tell, persist }) => {
  const { host, port, user, database, password } = config;
  const sequelize = new Sequelize(database, user, password ?? '', {
    host,
    port,
    dialect: 'postgres',
    dialectModule: pg,
    logging: false,
    pool: { max: 4 }
  });
  const User = sequelize.define(
    'user',
    {
      name: { type: DataTypes.STRING, unique: 'names' },
      age: DataTypes.INTEGER,
      data: DataTypes.JSONB,
      tags: DataTypes.ARRAY(DataTypes.TEXT),
      at: DataTypes.DATE,
      day: DataTypes.DATEONLY,
      price: DataTypes.DECIMAL,
      kind: DataTypes.ENUM('a', 'b'),
      big: DataTypes.BIGINT,
      range: DataTypes.RANGE(DataTypes.INTEGER)
    },
    { timestamps: false }
  );
  const Pet = sequelize.define('pet', { name: DataTypes.STRING }, { timestamps: false });
  User.hasMany(Pet);
  await sequelize.sync();
  const plain = each => JSON.parse(JSON.stringify(each));
  tell(
    plain(
      await User.create({
        name: 'Ann',
        age: 5,
        data: { a: [1] },
        tags: ['x', 'y'],
        at: new Date(1e12),
        day: '2020-02-29',
        price: '1.5',
        kind: 'b',
        big: '9007199254740993',
        range: [1, 5]
      })
    )
  );
  tell(plain(await User.bulkCreate([{ name: 'Bob' }, { name: 'Cid', age: 7 }])));
  tell(
    await User.create({ name: 'Ann' }).catch(({ name, fields, errors }) => ({
      name,
      fields,
      errors: errors?.map(({ message }) => message)
    }))
  );
  await Pet.create({ name: 'Rex', userId: 1 });
  tell(plain(await User.findAll({ include: Pet, order: ['id'] })));
  tell(
    plain(await User.findAll({ where: { age: { [Op.gt]: 6 } } })),
    await User.count(),
    await User.update({ age: 9 }, { where: { name: 'Bob' } })
  );
  tell(
    await sequelize
      .transaction(async transaction => {
        await User.destroy({ where: {}, cascade: true, transaction });
        throw new Error('changed my mind');
      })
      .catch(({ message, name }) => [name, message])
  );
  await sequelize.transaction({ isolationLevel: 'SERIALIZABLE' }, async transaction => {
    await User.increment('age', { where: { id: 2 }, transaction });
    await sequelize.transaction({ transaction }, inner => User.destroy({ where: { id: 3 }, transaction: inner }));
  });
  tell(plain(await User.findAll({ order: ['id'], attributes: ['id', 'age'] })));
  tell(
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => sequelize.query('SELECT $1::int AS i', { bind: [i], type: 'SELECT' }))
    )
  );
  await kill();
  tell(await persist(() => User.count()));
  await sequelize.close();
};
