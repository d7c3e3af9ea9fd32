'use strict';

const { array, checkText, isDate, kindOf, quoted } = require('../protocol');

/** Larger pieces make their text when it is read, so that nesting stays linear. */
const SMALL = 256;

/** What to write instead of a value that is not supported. */
const REMEDIES = [
  [Function, 'call it, and pass what it returns'],
  [Map, 'pass sql.json(Object.fromEntries(map)), or a list: [...map.keys()]'],
  [Promise, 'await it'],
  [Set, 'pass a list: [...set]'],
  [undefined, 'pass null for NULL, or leave it out'],
  [Object, 'pass String(value), or sql.json(value) for JSON']
];

/** A piece in a string would lose its values, or show them. */
const NO_TEXT = { value() { refuse('what is put into a string', this, 'put it into sql`…`, and that into query(...sql`…`)'); } };

/** Marks an array as a piece by a private field, which nothing else can have or copy. A WeakMap is slower. */
class Mark extends function (object) { return object; } {
  #node;

  /** @param {object} node `{ strings, parts, parameters, size }`; parts are pieces and values */
  constructor(array, node) { Object.defineProperty(super(array), 'toString', NO_TEXT).#node = node; }

  /** @returns {object|undefined} the node of a piece */
  static node(value) { return typeof value === 'object' && value !== null && #node in value ? value.#node : undefined; }
}

const isPiece = value => Mark.node(value) !== undefined;

/** @throws {TypeError} with the value's kind, and what to write instead */
function refuse(what, value, remedy = REMEDIES.find(([type]) => type === value || (type && value instanceof type))?.[1] ?? 'pass a string') {
  throw new TypeError(`${what} is ${isPiece(value) ? 'a piece of SQL' : kindOf(value)}: ${remedy}`);
}

/** @returns {[string, Array]} a node's text, with parameters numbered from $1, and its values */
function render(root) {
  const values = [];
  const outer = []; // the nodes around the current one, and their positions
  let text = '', behindParameter = false;
  for (let node = root, at = 0; ;) {
    const string = node.strings[at];
    if (string !== '') {
      text += behindParameter && /^\d/.test(string) ? ` ${string}` : string; // $1 followed by 0 is not $10
      behindParameter = false;
    }
    if (at === node.parts.length) {
      if (outer.length === 0) return [text, Object.freeze(values)];
      [node, at] = outer.pop();
    } else {
      const part = node.parts[at++];
      if (isPiece(part)) {
        outer.push([node, at]);
        [node, at] = [Mark.node(part), 0];
      } else {
        text += `$${values.push(part)}`;
        behindParameter = true;
      }
    }
  }
}

function checkParameters(count) {
  if (count > 65535) throw new RangeError(`${count} parameters: a query takes at most 65535; use copyFrom, or unnest with a list for each column`);
}

/** @returns {Array} a frozen `[text, values]` */
function piece(strings, parts = []) {
  const node = { strings, parts, parameters: 0, size: strings.length };
  for (const part of parts) {
    const nested = Mark.node(part);
    node.parameters += nested?.parameters ?? 1;
    node.size += nested?.size ?? 0;
  }
  checkParameters(node.parameters);
  if (node.size <= SMALL) return Object.freeze(new Mark(render(node), node));
  let rendered;
  const element = index => ({ enumerable: true, get: () => (rendered ??= render(node))[index] });
  return Object.freeze(new Mark(Object.defineProperties([], { 0: element(0), 1: element(1) }), node));
}

function jsonText(value, what) {
  let text, cause;
  try { text = value instanceof Map || value instanceof Set ? undefined : JSON.stringify(value); } catch (error) { cause = error; }
  return text ?? refuse(what(), value, cause?.message);
}

/** Whether an object has no class, in any realm. */
const isPlain = object => Object.getPrototypeOf(Object.getPrototypeOf(object) ?? Object.prototype) === null;

/**
 * The part of a node for a value: the value as `query` takes it, or a piece.
 * @param {function(): string} what its name in an error
 */
function partOf(value, what) {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return value;
  if (value === null || isPiece(value) || isDate(value) || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return array(elements(value, what));
  if (value instanceof URL) return value.href;
  return typeof value === 'object' && isPlain(value) ? jsonText(value, what) : refuse(what(), value);
}

function elements(list, what, depth = 1) {
  if (depth > 6) throw new TypeError(`${what()} is nested deeper than the 6 dimensions of a PostgreSQL array`);
  return Array.from(list, (value, index) => {
    const place = () => `${what()}[${index}]`;
    if (isPiece(value)) refuse(place(), value, 'a list has values; make a list of pieces a piece by sql.join');
    return Array.isArray(value) ? elements(value, place, depth + 1) : partOf(value ?? null, place);
  });
}

/** @returns {Array} a copy of a list; throws a TypeError */
function listOf(list, what, least = 0) {
  if (!Array.isArray(list) || isPiece(list)) refuse(what, list, 'it must be a list');
  if (list.length < least) throw new TypeError(`${what} is an empty list`);
  return [...list];
}

const identifiers = (names, what) => names.map((name, index) => {
  checkText(name, `${what}[${index}]`);
  return name === '' ? refuse(`${what}[${index}]`, name, 'a name cannot be empty') : quoted(name);
});

function piecesOf(list, what) {
  const pieces = listOf(list, what);
  const wrong = pieces.findIndex(each => !isPiece(each));
  return wrong < 0 ? pieces : refuse(`${what}[${wrong}]`, pieces[wrong], 'it must be a piece: sql`${value}` for a value, sql.empty for nothing');
}

/** @returns {string[]} the columns of an object; throws a TypeError */
function columnsOf(object, what) {
  if (object === null || typeof object !== 'object' || Array.isArray(object)) refuse(what, object, 'it must be an object');
  return Object.keys(object);
}

function cells(object, columns, what) {
  columnsOf(object, what);
  return columns.map(name => // inherited properties are no columns
    partOf(Object.hasOwn(object, name) ? object[name] : undefined, () => `column ${JSON.stringify(name)} of ${what}`));
}

/** Whether the strings around a value are those of `IN (${value})` or `IN ${value}`; a list there is one parameter, no list of SQL. */
const isInList = (before, behind) => /\bin\s*$/i.test(before.slice(-20)) || (/\bin\s*\(\s*$/i.test(before.slice(-20)) && /^\s*\)/.test(behind));

function combine(list, what, word, nothing) {
  const pieces = piecesOf(list, what).filter(each => each !== sql.empty);
  return pieces.length === 0 ? piece([nothing]) : piece(['((', '))'], [sql.join(pieces, piece([`) ${word} (`]))]);
}

/**
 * Makes SQL from pieces; all other values become parameters: a list a PostgreSQL array, a plain object JSON, a URL its href.
 * @returns {[string, Array]} a frozen piece, to be spread: `query(...piece)`
 */
function sql(strings, ...values) {
  if (!Array.isArray(strings?.raw) || !Object.isFrozen(strings) || !Object.isFrozen(strings.raw)) {
    throw new TypeError('sql is a template tag: write sql`…`, or sql.raw(text) for text that you have written yourself, sql.values([object]) or sql.set(object) for columns, = ANY(${list}) for a list');
  }
  const wrong = strings.indexOf(undefined);
  if (wrong >= 0) throw new TypeError(`"${strings.raw[wrong].trim()}" has an invalid escape: write \\\\ for \\`);
  return piece(strings, values.map((value, index) => {
    const place = () => `placeholder ${index + 1} (behind "${strings[index].trim().slice(-30)}")`;
    if (Array.isArray(value) && !isPiece(value) && isInList(strings[index], strings[index + 1])) {
      refuse(place(), value, 'write = ANY(${list}) in place of IN, <> ALL(${list}) in place of NOT IN');
    }
    return partOf(value, place);
  }));
}

sql.empty = piece(['']);
sql.id = (...names) => piece([identifiers(listOf(names, 'sql.id', 1), 'sql.id').join('.')]);
sql.json = value => piece(['', ''], [jsonText(value, () => 'the value of sql.json')]);
sql.and = pieces => combine(pieces, 'sql.and', 'AND', 'TRUE');
sql.or = pieces => combine(pieces, 'sql.or', 'OR', 'FALSE');

sql.raw = text => { checkText(text, 'the text of sql.raw'); return piece([text]); };

sql.join = (pieces, separator = piece([', '])) => {
  if (!isPiece(separator)) refuse('separator', separator, 'it must be a piece, sql`…`');
  const parts = [];
  for (const each of piecesOf(pieces, 'sql.join')) parts.push(separator, each);
  return piece(Array(Math.max(parts.length, 1)).fill(''), parts.slice(1));
};

sql.values = (list, columns) => {
  const rows = listOf(list, 'rows', 1);
  const names = columns === undefined ? listOf(columnsOf(rows[0], 'rows[0]'), 'Object.keys(rows[0])', 1) : listOf(columns, 'columns', 1);
  const head = identifiers(names, 'columns').join(', ');
  checkParameters(rows.length * names.length);
  const parts = rows.flatMap((row, index) => {
    const other = columns === undefined && columnsOf(row, `rows[${index}]`).find(name => !Object.hasOwn(rows[0], name));
    if (typeof other !== 'string') return cells(row, names, `rows[${index}]`);
    throw new TypeError(`column ${JSON.stringify(other)} of rows[${index}] is not in rows[0]: name the columns`);
  });
  const strings = parts.map((part, index) => index % names.length === 0 ? '), (' : ', ');
  return piece([`(${head}) VALUES (`, ...strings.slice(1), ')'], parts);
};

sql.set = (object, columns) => {
  const names = columns === undefined ? listOf(columnsOf(object, 'the object'), 'Object.keys(object)', 1) : listOf(columns, 'columns', 1);
  const strings = identifiers(names, 'columns').map((name, index) => `${index === 0 ? '' : ', '}${name} = `);
  return piece([...strings, ''], cells(object, names, 'the object'));
};

module.exports = { sql: Object.freeze(sql) };
