'use strict';

const { graphql } = require('graphql');
const { createPostGraphileSchema, withPostGraphileContext } = require('postgraphile');

module.exports = async ({ pg, config, tell }) => {
  const pgPool = new pg.Pool({ ...config, max: 4 });
  await pgPool.query(`CREATE TABLE users (id serial PRIMARY KEY, name text NOT NULL UNIQUE, data jsonb, at timestamptz, tags text[], big bigint);
    CREATE TABLE pets (id serial PRIMARY KEY, owner int NOT NULL REFERENCES users, name text)`);
  const schema = await createPostGraphileSchema(pgPool, ['public']);
  const ask = source => withPostGraphileContext({ pgPool }, contextValue => graphql({ schema, source, contextValue }));
  tell(
    await ask(`mutation { createUser(input: { user: { name: "Ann", data: "{\\"a\\":[1]}", at: "2020-02-29T12:00:00Z", tags: ["x"], big: "9007199254740993" } })
    { user { id name data at tags big } } }`)
  );
  tell(
    await ask('mutation { createPet(input: { pet: { owner: 1, name: "Rex" } }) { pet { name userByOwner { name } } } }')
  );
  tell(await ask('{ allUsers(orderBy: ID_ASC) { totalCount nodes { name petsByOwner { nodes { name } } } } }'));
  const { errors } = await ask('mutation { createUser(input: { user: { name: "Ann" } }) { user { id } } }');
  tell(errors.map(({ message }) => message));
  tell(await Promise.all(Array.from({ length: 10 }, () => ask('{ userById(id: 1) { name } }'))));
  await pgPool.end();
};
