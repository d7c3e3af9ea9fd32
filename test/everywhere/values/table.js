'use strict';

// What the table of test/rules/values.test.js holds, in whatever environment this file is loaded: its globals are the
// program's, which need not be those of Node.js.

/** Each way a value goes out: the text of what the server gets for it. */
const methodsOf = (sql, theirs) => ({
  query: async (client, type, value) => (await client.query(`SELECT $1::${type}::text AS v`, [value])).rows[0].v,
  batch: async (client, type, value) => (await client.batch([[`SELECT $1::${type}::text AS v`, [value]]]))[0].rows[0].v,
  'sql`…`': async (client, type, value) =>
    (await client.query(sql`SELECT ${value}::${sql.raw(type)}::text AS v`)).rows[0].v,
  'sql`…` of another copy': async (client, type, value) =>
    (await client.query(sql`SELECT ${theirs`${value}::${theirs.raw(type)}`}::text AS v`)).rows[0].v,
  'sql.values': (client, type, value) =>
    inTable(client, type, name => client.query(sql`INSERT INTO ${sql.id(name)} ${sql.values([{ v: value }])}`)),
  copyFrom: (client, type, value) =>
    inTable(
      client,
      type,
      name =>
        new Promise((resolve, reject) => {
          const stream = client.copyFrom(`COPY ${name} FROM STDIN`, { columns: ['v'] });
          stream.on('error', reject).on('finish', resolve).end([value]);
        })
    )
});

async function inTable(client, type, store) {
  const name = `of_${type.replace('[]', '_list')}`;
  await client.query(`CREATE TEMP TABLE IF NOT EXISTS ${name} (v ${type})`);
  await client.query(`TRUNCATE ${name}`);
  await store(name);
  return (await client.query(`SELECT v::text FROM ${name}`)).rows[0].v;
}

/**
 * @param {object} given the library, `theirs`, sql of another copy of it, the kinds, their realms by name, and the config of a server
 * @returns {Promise<{cells: number, wrong: string[]}>}
 */
async function check({ Client, sql, theirs, kinds: { JSON_LISTS, KINDS }, realms, config }) {
  const client = new Client({ ...config, TimeZone: 'UTC', IntervalStyle: 'postgres' });
  await client.connect();
  const wrong = [];
  let cells = 0;
  const textOf = (method, type, value) =>
    Promise.resolve()
      .then(() => method(client, type, value))
      .catch(({ name, message }) => `${name}: ${message}`);
  for (const [by, method] of Object.entries(methodsOf(sql, theirs))) {
    for (const [realm, G] of Object.entries(realms)) {
      for (const [name, [type, make, expected]] of Object.entries(KINDS)) {
        const text = await textOf(method, type, make(G));
        const isRight =
          typeof expected?.test === 'function' ? /^TypeError: /.test(text) && expected.test(text) : text === expected;
        cells++;
        if (!isRight) wrong.push(`${by}, ${realm}, ${name}: ${text}`);
      }
      if (by === 'copyFrom') continue; // a list is an array there
      for (const [name, make] of Object.entries(JSON_LISTS)) {
        const value = make(G);
        const text = await textOf(method, 'json', value);
        cells++;
        if (text !== JSON.stringify(value)) wrong.push(`${by}, ${realm}, ${name} for json: ${text}`);
      }
    }
  }
  await client.end();
  return { cells, wrong };
}

module.exports = { check };
