'use strict';

// The same tests for Jest and Vitest. Those whose name says so have to fail: what they print is looked at.

const TEXT = `SELECT n AS id, 'name ' || n AS name, NULL AS nothing, '{1,2}'::int[] AS list, timestamptz '2024-02-29 12:34:56+00' AS at
  FROM generate_series(1, 3) n`;
const row = id => ({ id, name: `name ${id}`, nothing: null, list: [1, 2], at: new Date('2024-02-29T12:34:56Z') });

module.exports = ({ expect, test, Client }) => {
  async function ask(text, options) {
    const client = new Client(JSON.parse(process.env.SERVER));
    await client.connect();
    try {
      return await client.query(text, [], options);
    } finally {
      await client.end();
    }
  }

  test('rows are what they look like', async () => {
    const { objects: rows } = await ask(TEXT);
    expect(rows).toEqual([row(1), row(2), row(3)]);
    expect(rows).toStrictEqual([row(1), row(2), row(3)]);
    expect(rows[0]).toMatchObject({ id: 1, name: 'name 1' });
    expect(rows).toContainEqual(row(2));
    expect(rows[0]).toHaveProperty('list', [1, 2]);
    expect(rows[0]).not.toEqual(row(2));
    expect(rows[0]).not.toStrictEqual(rows[1]);
    expect({ ...rows[0], id: 3 }).toEqual({ ...row(1), id: 3 });
  });

  test('fails: another row', async () => {
    const { objects: rows } = await ask(TEXT);
    expect(rows).toEqual([row(1), row(2), { ...row(3), name: 'expected name' }]);
  });

  test('fails: another struct', async () => {
    const { rows } = await ask("SELECT n AS id, 'name ' || n AS name FROM generate_series(1, 3) n");
    expect(rows[0]).toEqual({ id: 1, name: 'expected name' });
  });

  test('fails: a struct that prints the same', async () => {
    const { rows } = await ask("SELECT n AS id, 'name ' || n AS name FROM generate_series(1, 1000) n");
    expect(rows[0]).toStrictEqual({ id: 1, name: 'name 1' });
  });

  test('fails: structs of a large result', async () => {
    const { rows } = await ask("SELECT n AS id, 'name ' || n AS name FROM generate_series(1, 1000) n");
    expect(rows.slice(0, 2)).toStrictEqual([
      { id: 1, name: 'name 1' },
      { id: 2, name: 'name 2' }
    ]);
  });
};
