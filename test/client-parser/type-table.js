'use strict';

// The type table, and what Node's client makes of all its values.

const { Client, decoders, exact } = require('../..');
const { sharedServer } = require('../support');
const { STRINGS, NUMBERS, OTHERS, RECORDS } = require('./values');

const SETTINGS = { TimeZone: 'UTC', DateStyle: 'ISO', IntervalStyle: 'postgres', bytea_output: 'hex' };
const literals = values => `ARRAY[${values.map(text => `'${text.replaceAll("'", "''")}'`)}]::text[]`;

/** The type table: of each type its values as one writes them, and how what psql prints becomes what is decoded. */
const TYPES = [
  ...Object.entries(STRINGS).map(([type, values]) => ({ type, values, make: text => text })),
  ...Object.entries(NUMBERS).map(([type, [make, values]]) => ({ type, values, make })),
  ...Object.entries(OTHERS).map(([type, pairs]) => {
    let next = 0;
    return { type, values: pairs.map(([text]) => text), make: () => pairs[next++ % pairs.length][1] };
  })
];
/** One column, a row for each value; and for what is no array itself, one array of all values and NULL, and one of two of it. */
const COLUMNS = TYPES.map(
  ({ type, values }) => `SELECT x::${type} FROM unnest(${literals(values)}) WITH ORDINALITY AS _(x, i) ORDER BY i`
);
const SCALARS = TYPES.filter(({ type }) => !type.endsWith('[]'));
const ARRAYS = SCALARS.map(
  ({ type, values }) =>
    `SELECT a, ARRAY[a, a] FROM (SELECT array_agg(x::${type} ORDER BY i) || NULL::${type} AS a
    FROM unnest(${literals(values)}) WITH ORDINALITY AS _(x, i)) AS _`
);
const TEXTS = [...COLUMNS, ...ARRAYS, ...RECORDS.map(text => `SELECT ${text}`)];

/** Values as text that keeps them all apart. */
function show(value) {
  if (value instanceof Uint8Array) return `bytes ${value.join()}`;
  if (Array.isArray(value)) return value.map(show);
  if (typeof value === 'object') return JSON.stringify(value);
  return Object.is(value, -0) ? '-0' : `${typeof value} ${value}`;
}

/**
 * @returns {Promise<{client: Client, decoded: Array[], bytes: Buffer[][]}>} a client; of TEXTS, from text and from binary,
 *   what is decoded and the bytes that a browser gets
 */
async function readTypeTable() {
  const client = new Client({ ...(await sharedServer()).config, ...SETTINGS });
  await client.connect();
  const both = read =>
    Promise.all([Client.STRING, Client.BINARY].map(format => Promise.all(TEXTS.map(text => read(text, format)))));
  return {
    client,
    decoded: await both(
      async (text, format) => (await client.query(text, [], { format, decode: { ...decoders, ...exact } })).arrays
    ),
    bytes: await both(async (text, format) => {
      const chunks = [];
      await client.queryTo(
        new WritableStream({
          write(chunk) {
            chunks.push(Buffer.from(chunk));
          }
        }),
        text,
        [],
        { format }
      );
      return Buffer.concat(chunks);
    })
  };
}

module.exports = { SETTINGS, TYPES, COLUMNS, SCALARS, ARRAYS, TEXTS, show, readTypeTable };
