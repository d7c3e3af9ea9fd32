'use strict';

// Random schemas with NULL wherever it may be, and random queries over them. What a server refuses is a part of it.

/** Values of types, as SQL: those of which functions make NULL, and others. */
const VALUES = {
  int: ['0', '1', '2', '-7'],
  text: ["''", "'a'", "'B'", "'null'"],
  numeric: ['0', '1.5', "'NaN'::numeric"],
  bool: ['true', 'false'],
  timestamptz: ["'2020-01-01 00:00+00'::timestamptz", "'infinity'::timestamptz", "'-infinity'::timestamptz"],
  int4range: ["'empty'::int4range", "'(,)'::int4range", "'[1,5)'::int4range"],
  int4multirange: ["'{}'::int4multirange", "'{(,3)}'::int4multirange"],
  'int[]': ["'{}'::int[]", "'{NULL}'::int[]", "'{1,2}'::int[]"],
  jsonb: ["'null'::jsonb", "'{}'::jsonb", `'{"a": null, "b": 1}'::jsonb`, "'[1]'::jsonb"]
};
const TYPES = Object.keys(VALUES);

/** Expressions of types: `int` and others stand for an expression of the type, `any` for one of the same type each. */
const FORMS = {
  int: [
    'int + int',
    'int - int',
    'int * int',
    'int / int',
    'abs(int)',
    'length(text)',
    'lower(int4range)',
    'upper(int4range)',
    'lower(int4multirange)',
    'upper(int4multirange)',
    '(int[])[1]',
    'cardinality(int[])',
    'array_length(int[], 1)',
    '(jsonb ->> int)::int',
    'numeric::int',
    'bool::int',
    'extract(year FROM timestamptz)::int',
    "(text || '1')::int",
    "date_part('month', timestamptz)::int",
    'nullif(int, int)'
  ],
  text: [
    'text || text',
    'text || int',
    'upper(text)',
    'lower(text)',
    'btrim(text)',
    'md5(text)',
    "replace(text, 'a', text)",
    'concat(text, int)',
    'concat_ws(text, int, text)',
    'int::text',
    'timestamptz::text',
    'jsonb::text',
    'int4range::text',
    "jsonb ->> 'a'",
    'to_char(timestamptz, text)',
    'substr(text, int)',
    'timestamptz::time::text',
    'current_user::text',
    'current_schema::text',
    'split_part(text, text, 1)',
    'substring(text FROM text)'
  ],
  numeric: [
    'numeric + numeric',
    'round(numeric)',
    'int::numeric',
    'floor(numeric)',
    'numeric / int',
    'round(numeric, 2)'
  ],
  bool: [
    'int = int',
    'int > int',
    'text = text',
    'int4range @> int',
    'int4range && int4range',
    'int[] @> int[]',
    'jsonb @> jsonb',
    'any IS NULL',
    'any IS NOT NULL',
    'any IS DISTINCT FROM any',
    'bool IS TRUE',
    'bool AND bool',
    'bool OR bool',
    'NOT bool',
    'int IN (int, int)',
    'int = ANY (int[])',
    'text LIKE text',
    'text ~ text',
    'isempty(int4range)',
    "jsonb ? 'a'",
    'ROW(int, text) = ROW(int, text)',
    'ROW(int, text) IS NULL',
    'int BETWEEN int AND int',
    '(int, int) < (int, int)'
  ],
  timestamptz: [
    "date_trunc('day', timestamptz)",
    "timestamptz + interval '1 day'",
    'now()',
    "(timestamptz AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"
  ],
  int4range: ['int4range * int4range', 'int4range(int, NULL)', 'range_merge(int4range, int4range)'],
  int4multirange: ['int4multirange * int4multirange', 'int4multirange(int4range)'],
  'int[]': ['ARRAY[int, int]', 'int[] || int', 'int[] || int[]', 'array_remove(int[], int)', '(int[])[1:2]'],
  jsonb: [
    'to_jsonb(any)',
    "jsonb -> 'a'",
    'jsonb || jsonb',
    "jsonb_build_object('a', any)",
    "jsonb - 'a'",
    'jsonb_strip_nulls(jsonb)'
  ]
};
const TERM = /(?<!::)\b(?:int\[\]|int4range|int4multirange|timestamptz|numeric|int|text|bool|jsonb|any)(?![\w([])/g;

/** One schema, and queries over it. */
class Program {
  #n = 0;
  #random;
  #tables = [];
  #version;

  /** @param {object} random see `seeded` @param {number} version of the server */
  constructor(random, version) {
    this.#random = random;
    this.#version = version;
  }

  #name(prefix) {
    return `${prefix}${this.#n++}`;
  }

  #value(type, mayBeNull) {
    return mayBeNull && this.#random.chance(0.4) ? `NULL::${type}` : `(${this.#random.pick(VALUES[type])})::${type}`;
  }

  /**
   * Makes tables, what inherits from them, partitions and views, with rows.
   * @param {function(string): Promise<boolean>} run a statement; whether the server has taken it
   */
  async make(run) {
    const random = this.#random;
    for (let i = 0; i < 4; i++) {
      const name = this.#name('t');
      const columns = Array.from({ length: 2 + random.below(5) }, () => ({
        name: this.#name('c'),
        type: random.pick(TYPES),
        isNull: random.chance(0.4)
      }));
      columns.unshift({ name: 'k', type: 'int', isNull: random.chance(0.3) });
      const list = columns.map(each => `${each.name} ${each.type}${each.isNull ? '' : ' NOT NULL'}`).join(', ');
      const kind = random.pick(['', '', '', 'parent', 'partitioned']);
      await run(`CREATE TABLE ${name} (${list})${kind === 'partitioned' ? ' PARTITION BY HASH (k)' : ''}`);
      const into = [name];
      if (kind === 'partitioned') {
        await run(`CREATE TABLE ${name}_p PARTITION OF ${name} FOR VALUES WITH (MODULUS 1, REMAINDER 0)`);
      } else if (kind === 'parent') {
        await run(`CREATE TABLE ${name}_c () INHERITS (${name})`);
        into.push(`${name}_c`);
      }
      for (const to of into) {
        for (let row = 1 + random.below(4); row > 0; row--)
          await run(`INSERT INTO ${to} VALUES (${columns.map(each => this.#value(each.type, each.isNull))})`);
      }
      this.#tables.push({ name, columns, isTable: true });
    }
    for (let i = 0; i < 2; i++) {
      const name = this.#name('v');
      const { text, columns } = this.#select(2, []);
      if (await run(`CREATE VIEW ${name} AS ${text}`)) this.#tables.push({ name, columns });
    }
  }

  /** An expression of a type over columns in scope. */
  #expression(type, scope, depth) {
    const random = this.#random;
    const fitting = scope.filter(each => each.type === type);
    if (depth <= 0 || random.chance(0.35))
      return fitting.length > 0 && random.chance(0.8)
        ? random.pick(fitting).text
        : this.#value(type, random.chance(0.2));
    const inner = (other = type) => this.#expression(other, scope, depth - 1);
    switch (random.below(12)) {
      case 0:
        return `coalesce(${inner()}, ${inner()})`;
      case 1:
        return `CASE WHEN ${inner('bool')} THEN ${inner()} ${random.chance(0.7) ? `ELSE ${inner()} ` : ''}END`;
      case 2:
        return type === 'jsonb' || type === 'bool' ? inner() : `greatest(${inner()}, ${inner()})`;
      case 3:
        return this.#scalar(type, scope, depth);
      default: {
        const any = random.pick(TYPES);
        const form = random.pick(FORMS[type]);
        return `(${form.replace(TERM, term => inner(term === 'any' ? any : term))})`;
      }
    }
  }

  #scalar(type, scope, depth) {
    const random = this.#random;
    const { from, scope: own } = this.#from(depth - 2, scope);
    const all = random.chance(0.5) ? [...own, ...scope] : own;
    const where = random.chance(0.5) ? ` WHERE ${this.#expression('bool', all, 1)}` : '';
    const aggregate = this.#aggregate(all, type);
    const tail = random.pick(['', '', '', ' HAVING false', ' LIMIT 1', ' OFFSET 1', ' GROUP BY ()']);
    switch (random.below(5)) {
      case 0:
        if (type === 'bool') return `EXISTS (SELECT FROM ${from}${where})`;
        if (type === 'int[]') return `ARRAY(SELECT ${this.#expression('int', all, 1)} FROM ${from}${where})`;
        return `(SELECT ${this.#expression(type, all, 1)} FROM ${from}${where} LIMIT 1)`;
      case 1:
        return `(SELECT ${this.#expression(type, all, 1)} FROM ${from}${where} LIMIT 1)`;
      default:
        return `(SELECT ${aggregate} FROM ${from}${where}${tail})`;
    }
  }

  #aggregate(scope, type) {
    const random = this.#random;
    const of = other => this.#expression(other, scope, 1);
    const filter = random.chance(0.2) ? ` FILTER (WHERE ${of('bool')})` : '';
    if (type === 'int')
      return `${random.pick(['count(*)', `count(${of('text')})`, `max(${of('int')})`, `sum(${of('int')})`])}${filter}::int`;
    if (type === 'int[]') return `array_agg(${of('int')})${filter}`;
    if (type === 'jsonb') return `jsonb_agg(${of('text')})${filter}`;
    if (type === 'bool') return `bool_or(${of('bool')})${filter}`;
    if (type === 'text') return `string_agg(${of('text')}, ',')${filter}`;
    if (type === 'int4range' || type === 'int4multirange') return `(array_agg(${of(type)})${filter})[1]`;
    return `max(${of(type)})${filter}`;
  }

  /** A FROM item. @returns {{from: string, scope: Array<{text: string, type: string}>}} */
  #from(depth, outer) {
    const random = this.#random;
    const alias = this.#name('a');
    const scopeOf = columns => columns.map(({ name, type }) => ({ text: `${alias}.${name}`, type }));
    if (depth > 0 && random.chance(0.6)) {
      const left = this.#from(depth - 1, outer);
      const join = random.pick(['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN', 'CROSS JOIN', 'USING', 'LATERAL']);
      if (join === 'LATERAL') {
        const { text, columns } = this.#select(1, [...left.scope, ...outer]);
        const how = random.pick(['CROSS JOIN LATERAL', 'LEFT JOIN LATERAL']);
        const on = how.startsWith('LEFT') ? ' ON true' : '';
        return { from: `${left.from} ${how} (${text}) ${alias}${on}`, scope: [...left.scope, ...scopeOf(columns)] };
      }
      const right = this.#from(depth - 1, outer);
      const scope = [...left.scope, ...right.scope];
      if (join === 'USING') {
        const [one, other] = [left, right].map(each => ({
          ...each,
          alias: this.#name('u'),
          keys: this.#keysOf(each.scope)
        }));
        const how = random.pick(['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN']);
        const list = each => `(SELECT ${each.keys.list} FROM ${each.from}) ${each.alias}`;
        const used = this.#name('j');
        const named = random.chance(0.3) ? ` AS ${used}` : '';
        return {
          from: `${list(one)} ${how} ${list(other)} USING (k)${named && this.#version >= 14 ? named : ''}`,
          scope: [
            { text: 'k', type: 'int' },
            ...(named ? [{ text: `${used}.k`, type: 'int' }] : []),
            ...[one, other].flatMap(each =>
              each.keys.columns.map(({ name, type }) => ({ text: `${each.alias}.${name}`, type }))
            )
          ].filter((each, index) => index > 0 || random.chance(0.8))
        };
      }
      const on =
        join === 'CROSS JOIN' ? '' : ` ON ${random.pick(['true', 'false', this.#expression('bool', scope, 1)])}`;
      return { from: `(${left.from} ${join} ${right.from}${on})`, scope };
    }
    switch (random.below(9)) {
      case 0: {
        const { text, columns } = this.#select(depth, random.chance(0.2) ? [] : []);
        return { from: `(${text}) ${alias}`, scope: scopeOf(columns) };
      }
      case 1: {
        const columns = [0, 1].map(() => ({ name: this.#name('c'), type: random.pick(TYPES) }));
        const rows = [0, 1].map(() => `(${columns.map(({ type }) => this.#value(type, true))})`);
        return { from: `(VALUES ${rows}) ${alias} (${columns.map(({ name }) => name)})`, scope: scopeOf(columns) };
      }
      case 2:
        return {
          from: random.pick([`unnest(ARRAY[1, NULL]) ${alias} (x)`, `generate_series(1, 2) ${alias} (x)`]),
          scope: [{ text: `${alias}.x`, type: 'int' }]
        };
      case 3:
        return {
          from: `unnest(ARRAY[1, NULL], ARRAY['a']) WITH ORDINALITY ${alias} (x, y, z)`,
          scope: [
            { text: `${alias}.x`, type: 'int' },
            { text: `${alias}.y`, type: 'text' }
          ]
        };
      default: {
        const table = random.pick(this.#tables);
        return { from: `${table.name} ${alias}`, scope: scopeOf(table.columns) };
      }
    }
  }

  /** A select list of a scope with a key. */
  #keysOf(scope) {
    const columns = scope.slice(0, 2).map(({ type }) => ({ name: this.#name('c'), type }));
    const list = columns.map(({ name }, index) => `${scope[index].text} AS ${name}`);
    return { columns, list: [`${this.#expression('int', scope, 1)} AS k`, ...list].join(', ') };
  }

  /** A query. @returns {{text: string, columns: Array<{name: string, type: string}>}} */
  #select(depth, outer) {
    const random = this.#random;
    if (depth > 1 && random.chance(0.15)) return this.#union(depth, outer);
    const { from, scope: own } = this.#from(depth, outer);
    const scope = [...own, ...(random.chance(0.3) ? outer : [])];
    const where = random.chance(0.3) ? ` WHERE ${this.#expression('bool', scope, 1)}` : '';
    const list = columns => columns.map(({ name, text }) => `${text} AS ${name}`).join(', ');
    const column = (type, text) => ({ name: this.#name('c'), type, text });
    if (random.chance(0.3)) {
      const keys = Array.from({ length: 1 + random.below(3) }, () => {
        const type = random.pick(TYPES);
        return { type, text: this.#expression(type, scope, random.below(3)) };
      });
      const texts = keys.map(({ text }) => text);
      const sets = random.pick([
        texts,
        `ROLLUP (${texts})`,
        `CUBE (${texts})`,
        `GROUPING SETS ((${texts}), (${texts[0]}), ())`,
        `GROUPING SETS (${texts}), ROLLUP (${texts.at(-1)})`,
        'GROUPING SETS (())'
      ]);
      const columns = Array.from({ length: 1 + random.below(3) }, () => {
        const type = random.pick(TYPES);
        return random.chance(0.4)
          ? column(type, this.#aggregate(scope, type))
          : column(type, this.#expression(type, sets.includes?.('(())') ? [] : keys, 1));
      });
      for (const key of keys)
        if (random.chance(0.7) && sets !== 'GROUPING SETS (())') columns.push(column(key.type, key.text));
      if (random.chance(0.3) && sets !== 'GROUPING SETS (())') columns.push(column('int', `grouping(${texts[0]})`));
      return { text: `SELECT ${list(columns)} FROM ${from}${where} GROUP BY ${sets}`, columns };
    }
    const columns = Array.from({ length: 1 + random.below(4) }, () => {
      const type = random.pick(TYPES);
      return column(type, this.#expression(type, scope, 2));
    });
    for (const each of own) if (random.chance(0.4)) columns.push(column(each.type, each.text));
    if (random.chance(0.1))
      columns.push(
        column('int', `${random.pick(['row_number()', 'rank()', 'count(*)', 'lag(1)', 'ntile(2)'])} OVER ()::int`)
      );
    const distinct = random.chance(0.1) ? 'DISTINCT ' : '';
    const tail = random.pick(['', '', '', ' LIMIT 3', ' OFFSET 1', ' ORDER BY 1']);
    return { text: `SELECT ${distinct}${list(columns)} FROM ${from}${where}${tail}`, columns };
  }

  #union(depth, outer) {
    const random = this.#random;
    const types = [0, 1].map(() => random.pick(TYPES));
    const columns = types.map(type => ({ name: this.#name('c'), type }));
    const part = () => {
      const { from, scope } = this.#from(depth - 2, outer);
      return `SELECT ${columns.map(({ name, type }) => `${this.#expression(type, scope, 2)} AS ${name}`).join(', ')} FROM ${from}`;
    };
    const how = () => random.pick(['UNION ALL', 'UNION', 'INTERSECT', 'EXCEPT', 'EXCEPT ALL']);
    const text = `${part()} ${how()} ${part()}${random.chance(0.3) ? ` ${how()} ${part()}` : ''}`;
    return { text, columns };
  }

  /** WITH, also recursive, and with changes. */
  #with() {
    const random = this.#random;
    const name = this.#name('w');
    const kind = random.below(3);
    if (kind === 0) {
      const types = [0, 1].map(() => random.pick(TYPES));
      const columns = types.map(type => ({ name: this.#name('c'), type }));
      const scope = columns.map(each => ({ text: `${name}.${each.name}`, type: each.type }));
      const base = columns.map(each => `${this.#value(each.type, random.chance(0.3))} AS ${each.name}`);
      const next = columns.map(each => this.#expression(each.type, scope, 1));
      const join = random.pick(['', '', ` LEFT JOIN ${random.pick(this.#tables).name} ON false`]);
      const text = `WITH RECURSIVE ${name} AS (SELECT 1 AS n, ${base} UNION ALL SELECT n + 1, ${next} FROM ${name}${join} WHERE n < 3)`;
      return { text, table: { name, columns: [...columns, { name: 'n', type: 'int' }] } };
    }
    const { text, columns } = kind === 1 ? this.#change() : this.#select(2, []);
    return { text: `WITH ${name} AS (${text})`, table: { name, columns } };
  }

  /** INSERT, UPDATE, DELETE or MERGE with RETURNING. */
  #change() {
    const random = this.#random;
    const table = random.pick(this.#tables.filter(({ isTable }) => isTable));
    const alias = this.#name('a');
    const own = table.columns.map(({ name, type }) => ({ text: `${alias}.${name}`, type }));
    const { from, scope } = this.#from(1, []);
    const set = () => {
      const { name, type } = random.pick(table.columns);
      return `${name} = ${this.#expression(type, [...own, ...scope], 1)}`;
    };
    const values = () => table.columns.map(each => this.#value(each.type, each.isNull));
    let [text, seen] = random.pick([
      () => [`INSERT INTO ${table.name} AS ${alias} VALUES (${values()})`, own],
      () => [`INSERT INTO ${table.name} AS ${alias} VALUES (${values()}) ON CONFLICT DO NOTHING`, own],
      () => [`UPDATE ${table.name} AS ${alias} SET ${set()} FROM ${from}`, [...own, ...scope]],
      () => [`DELETE FROM ${table.name} AS ${alias} USING ${from}`, [...own, ...scope]],
      () => [
        `MERGE INTO ${table.name} AS ${alias} USING ${from} ON ${random.pick(['true', 'false'])} ` +
          `WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (${values()})`,
        [...own, ...scope]
      ]
    ])();
    if (this.#version >= 18 && random.chance(0.5)) {
      const side = random.pick(['old', 'new']);
      seen = [...seen, ...table.columns.map(({ name, type }) => ({ text: `${side}.${name}`, type }))];
    }
    const columns = Array.from({ length: 3 }, () => {
      const each = random.pick(seen);
      return random.chance(0.7)
        ? { name: this.#name('c'), type: each.type, text: each.text }
        : { name: this.#name('c'), type: each.type, text: this.#expression(each.type, seen, 1) };
    });
    text += ` RETURNING ${columns.map(each => `${each.text} AS ${each.name}`).join(', ')}`;
    return { text, columns };
  }

  /** @returns {string} a query, or a statement that answers with rows */
  query() {
    const random = this.#random;
    if (random.chance(0.15)) return this.#change().text;
    if (random.chance(0.2)) {
      const { text, table } = this.#with();
      this.#tables.push(table, table, table);
      const query = this.#select(2, []).text;
      this.#tables.splice(-3);
      return `${text} ${query}`;
    }
    return this.#select(3, []).text;
  }
}

module.exports = { Program };
