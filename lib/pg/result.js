'use strict';

const { hide } = require('./config');
const { types } = require('./types');

/** Commands whose tag counts rows. */
const COUNTED = new Set(['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'MERGE', 'MOVE', 'FETCH', 'COPY']);

const fieldOf = ({ name, tableOid, tableColumnIndex, typeOid, typeLen, typeModifier, binary }) => ({
  name,
  tableID: tableOid,
  columnID: tableColumnIndex,
  dataTypeID: typeOid,
  dataTypeSize: typeLen,
  dataTypeModifier: typeModifier,
  format: binary === 1 ? 'binary' : 'text'
});

/** A result that pg-cursor fills message by message, or `resultOf` at once. */
class Result {
  constructor(rowMode, given, rowParser) {
    /** @type {string|null} the first word of the command; null for an empty text */
    this.command = null;
    /** @type {number|null} null if the command counts no rows */
    this.rowCount = null;
    /** @type {number|null} the OID in the tag of an INSERT */
    this.oid = null;
    this.rows = [];
    this.fields = rowParser === undefined ? [] : rowParser.columns.map(fieldOf);
    this.rowAsArray = rowMode === 'array';
    if (given) hide(this, { _types: given });
  }

  addFields(fields) {
    this.fields = fields;
    const used = this._types ?? types;
    hide(this, { _parsers: fields.map(({ dataTypeID, format = 'text' }) => used.getTypeParser(dataTypeID, format)) });
  }

  parseRow(data) {
    const values = data.map((value, i) => (value === null ? null : this._parsers[i](value)));
    return this.rowAsArray ? values : Object.fromEntries(values.map((value, i) => [this.fields[i].name, value]));
  }

  addRow(row) {
    this.rows.push(row);
  }

  addCommandComplete({ text, command = text }) {
    const [, name, first, second] = /^([A-Z]+)(?: (\d+))?(?: (\d+))?/i.exec(command) ?? [];
    if (name === undefined) return;
    this.command = name;
    if (second !== undefined) [this.oid, this.rowCount] = [Number(first), Number(second)];
    else if (first !== undefined) this.rowCount = Number(first);
  }
}

const rowsOf = (reader, { rowAsArray }) => (rowAsArray ? reader.arrays : reader.objects);

/** @param {Result} [result] which may have rows of the reader */
function resultOf(reader, rowMode, result = new Result(rowMode, undefined, reader.rowParser)) {
  const { cmd, oid, rowParser } = reader;
  if (cmd !== 'EMPTY') result.command = /^\w*/.exec(cmd)[0];
  if (COUNTED.has(cmd)) result.rowCount = reader.rowCount;
  if (oid !== undefined) result.oid = Number(oid);
  if (rowParser !== undefined)
    result.rows = result.rows.length > 0 ? result.rows.concat(rowsOf(reader, result)) : rowsOf(reader, result);
  return result;
}

module.exports = { COUNTED, Result, fieldOf, resultOf, rowsOf };
