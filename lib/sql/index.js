'use strict';

const {
  Piece,
  checkText,
  isDate,
  isPiece,
  isRow,
  jsonText,
  quoted,
  readValue,
  refuse,
  refuseLost
} = require('../core/protocol');

/** Larger pieces make their text when it is read, so that nesting stays linear. */
const SMALL = 256;

/**
 * Pieces that were not sent: in a string or JSON, a piece would lose its values, or show them; `await` would ignore it.
 */
const NOT_SENT = {
  then: {
    value(resolve, reject) {
      reject(
        new TypeError(
          'a piece of SQL was awaited, which does not send it: write await client.query(sql`…`); ' +
            'to return it from an async function, return { piece }'
        )
      );
    }
  },
  toJSON: {
    value() {
      refuse('what is made JSON', this, 'put it into sql`…`, and that into query(sql`…`)');
    }
  },
  toString: {
    value() {
      refuse('what is put into a string', this, 'put it into sql`…`, and that into query(sql`…`)');
    }
  }
};

const isBlank = string => !/\S/.test(string);

Piece.share(NOT_SENT.toJSON.value);

/** @returns {[string, Array]} a node's text, with parameters numbered from $1, and its values */
function render(root, isCamel = false) {
  const values = [];
  const outer = []; // the nodes around the current one, and their positions
  let text = '',
    behindParameter = false;
  for (let node = root, at = 0; ;) {
    const string = ((isCamel && node.columns) || node.strings)[at];
    if (string !== '') {
      if (behindParameter && /^\d/.test(string)) text += ' '; // $1 followed by 0 is not $10
      text += string;
      behindParameter = false;
    }
    if (at === node.parts.length) {
      if (outer.length === 0) return [text, Object.freeze(values)];
      [node, at] = outer.pop();
    } else {
      const part = node.parts[at++];
      const nested = Piece.node(part);
      if (nested !== undefined) {
        outer.push([node, at]);
        [node, at] = [nested, 0];
      } else {
        text += `$${values.push(part)}`;
        behindParameter = true;
      }
    }
  }
}

/**
 * @param {string[]} [columns] in place of the strings, where names are in camel case: with those of the server
 * @returns {Array} a frozen `[text, values]`
 */
function piece(strings, parts = [], columns = undefined) {
  let isEmpty = true,
    isRenamed = columns !== undefined,
    parameters = 0,
    size = strings.length;
  for (const part of parts) {
    const nested = Piece.node(part);
    if (nested?.isEmpty !== true) isEmpty = false;
    if (nested === undefined) parameters++;
    else {
      isRenamed ||= nested.renamed !== undefined;
      parameters += nested.parameters;
      size += nested.size;
    }
  }
  isEmpty &&= strings.every(isBlank);
  if (parameters > 65535)
    throw new RangeError(
      `${parameters} parameters: a query takes at most 65535; use copyFrom, or unnest with a list for each column`
    );
  const renamed = isRenamed ? () => render(node, true) : undefined;
  const node = { strings, parts, columns, isEmpty, parameters, size, renamed };
  if (size <= SMALL) return Object.freeze(new Piece(Object.defineProperties(render(node), NOT_SENT), node));
  let rendered;
  const element = index => ({ enumerable: true, get: () => (rendered ??= render(node))[index] });
  return Object.freeze(new Piece(Object.defineProperties([], { 0: element(0), 1: element(1), ...NOT_SENT }), node));
}

/**
 * The part of a node for a value: the value as it is sent, or a piece.
 * @param {function(): string} what its name in an error
 */
function partOf(value, what) {
  const type = typeof value;
  if (type === 'string' || type === 'number' || type === 'boolean' || type === 'bigint' || value === null) return value;
  if (isPiece(value)) return value;
  if (isDate(value)) return new Date(value.getTime()); // quickgres/pg sends local time
  const read = readValue(value, what());
  return ArrayBuffer.isView(read) ? Buffer.from(read) : read;
}

/** @returns {Array} a copy of a list; throws a TypeError */
function listOf(list, what, least = 0) {
  if (!Array.isArray(list) || isPiece(list)) refuse(what, list, 'it must be a list');
  if (list.length < least)
    throw new TypeError(`${what} is an empty list, for which there is no SQL: check its length first`);
  return [...list];
}

const identifiers = (names, what) =>
  names.map((name, index) => {
    checkText(name, `${what}[${index}]`);
    return name === '' ? refuse(`${what}[${index}]`, name, 'a name cannot be empty') : quoted(name);
  });

/** What `names: 'camel'` makes of a name, undone. */
const snake = name => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);

/**
 * @param {function(string[]): string[]} stringsOf makes the strings of a piece of the quoted names
 * @returns {string[][]} the strings; and those where `names` is 'camel', if they differ
 */
function stringsFor(names, stringsOf) {
  const strings = stringsOf(identifiers(names, 'columns'));
  const isCamel = names.some(name => /[A-Z]/.test(name));
  return [strings, isCamel ? stringsOf(names.map(name => quoted(snake(name)))) : undefined];
}

/** @returns {Array} the pieces of a list that are not empty */
function piecesOf(list, what) {
  return listOf(list, what).filter((each, index) => {
    const node = Piece.node(each);
    if (node !== undefined) return !node.isEmpty;
    const hint = 'it must be a piece: sql`${value}` for a value, sql.empty for nothing';
    return refuse(`${what}[${index}]`, each, hint);
  });
}

/** @param {function(): string} what its name in an error */
function checkObject(object, what) {
  if (object === null || typeof object !== 'object' || Array.isArray(object))
    refuse(what(), object, 'it must be an object');
  if (isRow(object)) refuse(what(), object, 'it is a row of a result: pass its toObject()');
}

/** @returns {string[]} the given columns, or an object's own */
function namesOf(object, columns, what) {
  if (columns !== undefined) return listOf(columns, 'columns', 1);
  checkObject(object, what);
  const names = Object.keys(object);
  if (names.length === 0) throw new TypeError(`${what()} has no properties, whose names would be the columns`);
  return names;
}

/**
 * Appends the values of an object's columns to a list. Only objects and errors need a name for a value: a closure for
 * each value doubles the time of 1,000 objects.
 * @param {string} hint for a column that is missing, or undefined
 */
function addCells(parts, object, columns, what, hint) {
  for (let i = 0; i < columns.length; i++) {
    const name = columns[i];
    const value = Object.hasOwn(object, name) ? object[name] : undefined; // inherited properties are no columns
    parts.push(typeof value === 'string' || typeof value === 'number' ? value : cell(value, name, what, hint));
  }
}

function cell(value, name, what, hint) {
  const place = () => `column ${JSON.stringify(name)} of ${what()}`;
  return value === undefined ? refuse(place(), value, hint) : partOf(value, place);
}

/**
 * Whether the strings around a value are those of `IN (${value})` or `IN ${value}`; a list there is one parameter, no
 * list of SQL.
 */
const isInList = (before, behind) =>
  /\bin\s*$/i.test(before.slice(-20)) || (/\bin\s*\(\s*$/i.test(before.slice(-20)) && /^\s*\)/.test(behind));

function combine(list, what, word, nothing) {
  const pieces = piecesOf(list, what);
  return pieces.length === 0 ? piece([nothing]) : piece(['((', '))'], [sql.join(pieces, piece([`) ${word} (`]))]);
}

/**
 * Makes SQL from pieces; all other values become parameters: a list a PostgreSQL array, a plain object JSON, a URL its
 * href.
 * @returns {[string, Array]} a frozen piece, to be spread: `query(...piece)`
 */
function sql(strings, ...values) {
  if (!Array.isArray(strings?.raw) || !Object.isFrozen(strings) || !Object.isFrozen(strings.raw)) {
    throw new TypeError(
      'sql is a template tag: write sql`…`, or sql.raw(text) for text that you have written yourself, ' +
        'sql.values([object]) or sql.set(object) for columns, = ANY(${list}) for a list'
    );
  }
  const wrong = strings.indexOf(undefined);
  if (wrong >= 0) throw new TypeError(`"${strings.raw[wrong].trim()}" has an invalid escape: write \\\\ for \\`);
  return piece(
    strings,
    values.map((value, index) => {
      const place = () => `placeholder ${index + 1} (behind "${strings[index].trim().slice(-30)}")`;
      if (Array.isArray(value) && !isPiece(value) && isInList(strings[index], strings[index + 1])) {
        refuse(place(), value, 'write = ANY(${list}) in place of IN, <> ALL(${list}) in place of NOT IN');
      }
      return partOf(value, place);
    })
  );
}

sql.empty = piece(['']);
sql.id = (...names) => piece([identifiers(listOf(names, 'sql.id', 1), 'sql.id').join('.')]);
sql.json = value => {
  refuseLost(value, 'the value of sql.json');
  return piece(['', ''], [jsonText(value, 'the value of sql.json')]);
};
sql.and = pieces => combine(pieces, 'sql.and', 'AND', 'TRUE');
sql.or = pieces => combine(pieces, 'sql.or', 'OR', 'FALSE');

sql.raw = text => {
  checkText(text, 'the text of sql.raw');
  return piece([text]);
};

sql.join = (pieces, separator = piece([', '])) => {
  if (!isPiece(separator)) refuse('separator', separator, 'it must be a piece, sql`…`');
  const parts = [];
  for (const each of piecesOf(pieces, 'sql.join')) parts.push(separator, each);
  return piece(Array(Math.max(parts.length, 1)).fill(''), parts.slice(1));
};

sql.values = (list, columns) => {
  const rows = listOf(list, 'rows', 1);
  const names = namesOf(rows[0], columns, () => 'rows[0]');
  const [head, snakes] = stringsFor(names, all => [all.join(', ')]);
  const parts = [piece(head, [], snakes)];
  rows.forEach((row, index) => {
    const what = () => `rows[${index}]`;
    checkObject(row, what);
    const other = columns === undefined ? Object.keys(row).find(name => !Object.hasOwn(rows[0], name)) : undefined;
    if (other !== undefined)
      throw new TypeError(`column ${JSON.stringify(other)} of ${what()} is not in rows[0]: name the columns`);
    addCells(parts, row, names, what, 'pass null for NULL, or sql`DEFAULT` for the default of the column');
  });
  const strings = ['(', ') VALUES ('];
  for (let i = 1; i < parts.length - 1; i++) strings.push(i % names.length === 0 ? '), (' : ', ');
  return piece([...strings, ')'], parts);
};

sql.set = (object, columns) => {
  const what = () => 'the object';
  checkObject(object, what);
  const names = namesOf(object, columns, what);
  const [strings, snakes] = stringsFor(names, all => [
    ...all.map((name, index) => `${index === 0 ? '' : ', '}${name} = `),
    ''
  ]);
  const parts = [];
  addCells(parts, object, names, what, 'pass null for NULL, or leave the column out of the list');
  return piece(strings, parts, snakes);
};

/** SQL for logs: other texts in the place of its literals. */
function withoutLiterals(text, string = '?', number = string) {
  for (const [name, given] of Object.entries({ text, string, number }))
    if (typeof given !== 'string') refuse(name, given, 'withoutLiterals(text, string, number) takes strings');
  return require('../core/scanner').withoutLiterals(text, string, number);
}

module.exports = { withoutLiterals, sql: Object.freeze(sql) };
