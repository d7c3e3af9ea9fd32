'use strict';

const {
  hexText,
  isList,
  isPiece,
  isRow,
  isText,
  kindOf,
  listText,
  numberText,
  placed,
  readValue,
  refuse,
  textAt
} = require('../protocol');
const { columnLength } = require('../rows');

/** Characters that the text format of COPY escapes. */
const ESCAPES = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Options of COPY that change the text format. */
const OTHER_FORMAT = /\b(?:csv|binary|delimiters?|null|header|default|encoding)\b/i;

/** What the options of COPY follow. With a comment between the words, they follow the first STDIN. */
const FROM_STDIN = /\bfrom\s+stdin\b/i;

const WHAT = 'the value';

function fieldOf(value) {
  if (value === null) return '\\N';
  if (typeof value === 'number') return numberText(value);
  const text = isText(value) ? value : otherText(value);
  return /[\\\n\r\t]/.test(text) ? text.replace(/[\\\n\r\t]/g, character => ESCAPES[character]) : text;
}

function otherText(value) {
  if (Array.isArray(value) && isPiece(value))
    refuse(WHAT, value, 'COPY takes values and no SQL: for json, pass JSON.stringify(value)');
  const read = readValue(value, WHAT);
  return typeof read === 'string' ? read : isList(read) ? listText(read, undefined, WHAT) : hexText(read);
}

/** @returns {Array<string|null>} the texts of a struct's columns, as the server has sent them */
function textsOf({ rowBuffer, dataFormat }) {
  if (dataFormat === 1) throw new TypeError('the row is in binary format: query it as text, or pass row.toArray()');
  const texts = [];
  for (let off = 7; off < rowBuffer.length;) {
    const length = columnLength(rowBuffer, off, rowBuffer.length);
    const start = off + 4;
    off = start + Math.max(0, length);
    texts.push(length < 0 ? null : textAt(rowBuffer, start, off));
  }
  return texts;
}

/**
 * Encodes rows in the text format of COPY: objects, arrays of values, or rows of a result.
 * https://www.postgresql.org/docs/current/sql-copy.html
 */
class RowEncoder {
  #columns;
  #rows = 0;

  /**
   * @param {string} text COPY … FROM STDIN
   * @param {string[]} columns keys of the objects, in the order of the COPY
   */
  constructor(text, columns) {
    if (!(Array.isArray(columns) && columns.length > 0 && columns.every(each => typeof each === 'string'))) {
      throw new TypeError('columns must be a list of names');
    }
    const [, ...behind] = text.split(FROM_STDIN.test(text) ? FROM_STDIN : /\bstdin\b/i);
    const other = OTHER_FORMAT.exec(behind.join(' ').split(/\bwhere\b/i)[0]);
    if (other !== null) throw new TypeError(`columns are sent in the text format of COPY: leave out ${other[0]}`);
    this.#columns = columns.slice();
  }

  /** @returns {string} the line of a row; throws a TypeError or RangeError that names row and column */
  lineOf(row) {
    const columns = this.#columns;
    let i = -1; // of the column
    try {
      if (isPiece(row)) refuse('a row', row, 'COPY takes values and no SQL');
      const list = Array.isArray(row) ? row : isRow(row) ? textsOf(row) : undefined;
      if (list !== undefined && list.length !== columns.length)
        throw new RangeError(`${list.length} values for ${columns.length} columns`);
      if (typeof row !== 'object' || row === null || ArrayBuffer.isView(row))
        throw new TypeError(`a row must be an object or an array, not ${kindOf(row)}`);
      let line = '';
      for (i = 0; i < columns.length; i++) {
        if (list === undefined && !Object.hasOwn(row, columns[i]))
          throw new TypeError('the object does not have this key: write null for NULL');
        const field = fieldOf(list === undefined ? row[columns[i]] : list[i]);
        line += i === 0 ? field : `\t${field}`;
      }
      this.#rows++;
      return `${line}\n`;
    } catch (error) {
      throw placed(error, columns[i] === undefined ? `row ${this.#rows}` : `row ${this.#rows}, column ${columns[i]}`);
    }
  }
}

module.exports = { RowEncoder };
