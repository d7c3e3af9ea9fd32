'use strict';

const { PostgresError, decoders } = require('../..');
const { OWN: OWN_TYPES, toCamel } = require('../core/rows');
const { tokensOf } = require('../core/scanner');
const { Nullability } = require('./nullable');

/** OIDs of objects from here are the database's own. */
const OWN = 16384;

/** Types of values as `decode: true` makes them, and as parameters; all others are strings. */
const COLUMNS = {
  bool: 'boolean',
  bytea: 'Buffer',
  int2: 'number',
  int4: 'number',
  oid: 'number',
  xid: 'number',
  float4: 'number',
  float8: 'number',
  int8: 'number | string',
  json: 'unknown',
  jsonb: 'unknown',
  timestamptz: 'Date | string'
};
const PARAMS = {
  ...COLUMNS,
  bytea: 'Uint8Array | string',
  int8: 'number | bigint | string',
  numeric: 'number | bigint | string',
  json: 'Value',
  jsonb: 'Value',
  timestamp: 'Date | string',
  timestamptz: 'Date | string',
  unknown: 'Value',
  record: 'Value',
  anyarray: 'Value'
};

/** The system's rows stay text, see the core. */
const OTHERS = type => `(${type}.typtype <> 'c'
  OR ${type}.typnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace))`;

const TYPES = `SELECT t.oid, t.typname AS name, CASE WHEN ${OTHERS('t')} THEN t.typtype ELSE 'p' END AS kind,
    nullif(t.typbasetype, 0) AS base, e.oid AS element,
    (SELECT array_agg(enumlabel::text ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid) AS labels,
    (SELECT json_agg(json_build_array(attname, atttypid::int8) ORDER BY attnum) FROM pg_attribute
      WHERE t.typtype = 'c' AND attrelid = t.typrelid AND attnum > 0 AND NOT attisdropped) AS fields,
    format_type(t.oid, -1) AS sql
  FROM pg_type t LEFT JOIN pg_type e ON e.typarray = t.oid AND ${OTHERS('e')}`;

/**
 * Which columns are surely NOT NULL: not those of foreign tables and of what has such partitions, of parents whose
 * children may differ, of tables with rules that answer something else, nor by a constraint that is not validated.
 */
const NAMES = `SELECT attrelid || '.' || attnum AS id, nspname AS schema, relname || '.' || attname AS name,
    attnotnull AND NOT relhasrules AND (relkind = 'p' OR (relkind = 'r' AND NOT relhassubclass))
      AND attrelid NOT IN (SELECT pg_partition_ancestors(oid) FROM pg_class WHERE relkind = 'f' AND relispartition)
      AND NOT EXISTS (SELECT FROM pg_constraint
        WHERE conrelid = attrelid AND contype = 'n' AND conkey = ARRAY[attnum] AND NOT convalidated) AS sure,
    EXISTS (SELECT FROM pg_trigger WHERE tgrelid = attrelid AND NOT tgisinternal) AS triggers
  FROM pg_attribute JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace
  WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND attnum > 0 AND NOT attisdropped`;

const VIEWS = `SELECT ev_class::text AS id, ev_action::text AS tree FROM pg_rewrite WHERE rulename = '_RETURN'`;

/**
 * Functions that make NULL of NULL alone: a name is not enough, since lower(anyrange) makes it of an empty range. Left
 * out are to_char, which makes it of '', and json's values.
 */
const NEVER_NULL = [
  ...['smallint', 'integer', 'bigint', 'numeric', 'real', 'double precision'].map(type => `abs(${type})`),
  ...['ceil', 'floor', 'round'].flatMap(name => [`${name}(numeric)`, `${name}(double precision)`]),
  ...['btrim', 'ltrim', 'rtrim'].flatMap(name => [`${name}(text)`, `${name}(text, text)`, `${name}(bytea, bytea)`]),
  ...['text', 'character', 'bytea', 'bit', 'tsvector'].map(type => `length(${type})`),
  ...['char_length(text)', 'char_length(character)', 'lower(text)', 'upper(text)', 'replace(text, text, text)'],
  ...['md5(text)', 'md5(bytea)', 'concat("any")', 'concat_ws(text, "any")', 'round(numeric, integer)'],
  ...['now()', 'clock_timestamp()', 'random()', 'gen_random_uuid()', 'to_json(anyelement)', 'to_jsonb(anyelement)'],
  ...['json', 'jsonb'].flatMap(type =>
    ['object', 'array'].flatMap(of => [`${type}_build_${of}()`, `${type}_build_${of}("any")`])
  ),
  ...['timestamptz', 'timestamp', 'interval'].map(type => `date_trunc(text, ${type})`),
  'date_trunc(text, timestamptz, text)',
  ...['text', 'interval'].flatMap(zone =>
    ['timestamptz', 'timestamp', 'timetz'].map(type => `timezone(${zone}, ${type})`)
  )
];

/**
 * These, and PostgreSQL's own operators and casts of the same kind: not those of geometry, where shapes may not fit,
 * and not the time of an infinite timestamp.
 */
const STRICT = `SELECT oid::text FROM pg_proc
  WHERE pronamespace = 'pg_catalog'::regnamespace AND NOT proretset AND prokind = 'f' AND oid < ${OWN} AND (
    oid IN (SELECT oprcode FROM pg_operator o JOIN pg_type t ON t.oid = oprright WHERE typcategory <> 'G'
      AND o.oid < ${OWN} AND oprname IN ('=', '<>', '<', '>', '<=', '>=', '+', '-', '*', '/', '%', '||',
        '@>', '<@', '&&', '~', '~*', '~~', '~~*', '!~', '!~*', '!~~', '!~~*'))
    OR oid IN (SELECT castfunc FROM pg_cast c JOIN pg_type t ON t.oid = castsource WHERE typcategory <> 'G'
      AND c.oid < ${OWN} AND typname NOT IN ('json', 'jsonb')
      AND casttarget NOT IN ('time'::regtype, 'timetz'::regtype))
    OR oid IN (${NEVER_NULL.map(signature => `to_regprocedure('pg_catalog.${signature}')`)}))`;
const COUNTS = `SELECT oid::text FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace
  AND proname IN ('count', 'row_number', 'rank', 'dense_rank', 'percent_rank', 'cume_dist')`;

/** The tree of a function that this transaction makes, and that is gone with it. */
const TREE = `SELECT prosqlbody::text AS tree FROM pg_proc
  WHERE pronamespace = pg_my_temp_schema() AND proname = 'quickgres'`;

/** What a comment says of columns, which the server cannot know. */
const SAID = /(?:--|\/\*) *not null:([^\n*]*)/g;

/** @returns {Set<string>} the columns that comments of a text call NOT NULL */
function saidIn(text) {
  const names = new Set();
  for (const { kind, start, end } of tokensOf(text))
    if (kind === 'comment')
      for (const [, list] of text.slice(start, end).matchAll(SAID))
        for (const name of list.split(',')) names.add(name.trim());
  return names;
}

class Undone extends Error {}

/** What the database says about SQL, as types of TypeScript. */
class Typing {
  #facts;
  #names;
  #nameOf;
  #sessions;
  #settings;
  #turn = 0;
  #types;
  unsure = undefined; // why the server may not be asked about NULL

  /**
   * @param {Session[]} sessions to ask in turn
   * @param {{columns?: Object<string, string>, types?: Object<string, string>, names?: 'camel'}} settings
   */
  constructor(sessions, settings) {
    this.#sessions = sessions;
    this.#nameOf = settings.names === 'camel' ? toCamel : name => name;
    this.#settings = { columns: {}, types: {}, ...settings };
  }

  async load() {
    const results = await this.#sessions[0].batch([TYPES, NAMES, VIEWS, STRICT, COUNTS]);
    const [types, names, views, strict, counts] = results.map(({ rows }) => rows);
    this.#types = new Map(types.map(each => [each.oid, each]));
    this.#names = new Map(names.map(each => [each.id, each]));
    const trees = new Map(views.map(each => [each.id, each.tree]));
    const known = new Map();
    const nameOf = (table, column) => this.#names.get(`${table}.${column}`);
    this.#facts = {
      isSure: (table, column) => nameOf(table, column)?.sure === true,
      refusesNull: (table, column) => nameOf(table, column)?.sure === true && !nameOf(table, column).triggers,
      view: table => {
        if (!known.has(table)) known.set(table, new Nullability(this.#facts).of(trees.get(table)).columns);
        return known.get(table);
      },
      strict: new Set(strict.map(({ oid }) => oid)),
      counts: new Set(counts.map(({ oid }) => oid))
    };
    const all = {
      column: new Set(names.flatMap(({ schema, name }) => [name, `${schema}.${name}`])),
      type: new Set(types.map(({ name }) => name))
    };
    for (const kind of ['column', 'type']) {
      const missing = Object.keys(this.#settings[`${kind}s`]).find(name => !all[kind].has(name));
      if (missing !== undefined) throw new Error(`the database has no ${kind} ${missing}, which package.json names`);
    }
    await this.#treeOf(this.#sessions[0], 'SELECT 1', [], 'SETOF record').catch(error => {
      this.unsure = error;
    });
  }

  /** @param {Object<string, string>} given what package.json says of types, which may be the database's own */
  #typeOf(oid, given, isParam) {
    const { name, base, labels, element: elementOid, fields, kind } = this.#types.get(oid) ?? {};
    const builtIn = oid >= OWN_TYPES ? {} : isParam ? PARAMS : COLUMNS;
    for (const types of [given, builtIn]) if (Object.hasOwn(types, name)) return types[name];
    if (base) return this.#typeOf(base, given, isParam);
    if (labels) return labels.map(label => JSON.stringify(label)).join(' | ');
    if (kind === 'c' && !isParam) {
      const types = (fields ?? []).map(
        ([field, type]) => `${JSON.stringify(this.#nameOf(field))}: ${this.#typeOf(type, given, false)} | null`
      );
      return `{ ${types.join('; ')} }`;
    }
    if (!elementOid) return 'string';
    const isText = oid < OWN_TYPES && decoders[oid] === undefined;
    if (isText && !isParam) return 'string';
    if (isParam && this.#types.get(this.#below(elementOid)).element) return 'Value'; // of a domain of lists
    // The decoder of a built-in array is one of its own.
    const ofElement = isParam || oid >= OWN_TYPES ? given : {};
    return `${isParam ? 'readonly ' : ''}(${this.#typeOf(elementOid, ofElement, isParam)} | null)[]`;
  }

  /** @returns {number} the type below domains */
  #below(oid) {
    const { base } = this.#types.get(oid);
    return base ? this.#below(base) : oid;
  }

  #columnType({ oid, tableOid, column }) {
    const { schema, name } = this.#names.get(`${tableOid}.${column}`) ?? {};
    const { columns, types } = this.#settings;
    return columns[`${schema}.${name}`] ?? columns[name] ?? this.#typeOf(oid, types, false);
  }

  /** @returns {Promise<{values: string[], row: string[]}>} rejects with the server's error */
  async of(text) {
    const session = this.#sessions[this.#turn++ % this.#sessions.length];
    const { params, columns } = await session.describe(text);
    const sure = await this.#sure(session, text, params, columns);
    const said = saidIn(text);
    const row = new Map(
      columns.map((column, index) => {
        const name = this.#nameOf(column.name); // of several columns with a name, a row has the last one
        const isSure = sure.columns[index] || said.has(column.name);
        return [name, `${JSON.stringify(name)}: ${this.#columnType(column)}${isSure ? '' : ' | null'}`];
      })
    );
    const wrong = [...said].find(name => !columns.some(column => column.name === name));
    if (wrong !== undefined) throw new TypeError(`the comment "not null" names ${wrong}, which is no column`);
    return {
      values: params.map(
        ({ oid }, index) => this.#typeOf(oid, {}, true) + (sure.params.has(index + 1) ? '' : ' | null')
      ),
      row: [...row.values()]
    };
  }

  /** What is never NULL: nothing, if the text is no query or has more than 100 parameters. */
  async #sure(session, text, params, columns) {
    const nothing = { columns: [], params: new Set() };
    if (this.unsure || params.length + columns.length === 0) return nothing;
    const types = params.map(({ oid }) => this.#types.get(oid)?.sql);
    try {
      const tree = await this.#treeOf(session, text, types, columns.length > 0 ? 'SETOF record' : 'void');
      return new Nullability(this.#facts).of(tree);
    } catch (error) {
      if (error instanceof PostgresError) return nothing;
      throw error;
    }
  }

  /**
   * The tree of a function with this body. The function never runs, and its transaction is rolled back. The text is
   * that of one statement, since describe() took it; if it closed the body and went on, Parse would refuse it, as it
   * does any two statements.
   */
  async #treeOf(session, text, types, result) {
    const head = `CREATE FUNCTION pg_temp.quickgres(${types.join(', ')}) RETURNS ${result}`;
    let found;
    try {
      await session.transaction(async tx => {
        [, found] = await Promise.all([
          tx.query(`${head} BEGIN ATOMIC\n${text}\n;END`, [], { cache: false }),
          tx.query(TREE)
        ]);
        throw new Undone();
      });
    } catch (error) {
      if (!(error instanceof Undone)) throw error;
    }
    return found.one().tree;
  }
}

module.exports = { STRICT, Typing };
