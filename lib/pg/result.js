'use strict';

const { hide } = require('./config');
const { types } = require('./types');

/** Commands whose tag counts rows. */
const COUNTED = new Set(['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'MERGE', 'MOVE', 'FETCH', 'COPY']);

const fieldOf = ({ name, tableOid, tableColumnIndex, typeOid, typeLen, typeModifier, binary }) => ({
  name, tableID: tableOid, columnID: tableColumnIndex, dataTypeID: typeOid, dataTypeSize: typeLen,
  dataTypeModifier: typeModifier, format: binary === 1 ? 'binary' : 'text'
});

/** A result that pg-cursor fills message by message, or `resultOf` at once. */
class Result {
  constructor(rowMode, given) {
    /** @type {string|null} the first word of the command; null for an empty text */
    this.command = null;
    /** @type {number|null} null if the command counts no rows */
    this.rowCount = null;
    /** @type {number|null} the OID in the tag of an INSERT */
    this.oid = null;
    this.rows = [];
    this.fields = [];
    this.rowAsArray = rowMode === 'array';
    if (given) hide(this, { _types: given });
  }

  addFields(fields) {
    this.fields = fields;
    const used = this._types ?? types;
    hide(this, { _parsers: fields.map(({ dataTypeID, format = 'text' }) => used.getTypeParser(dataTypeID, format)) });
  }

  parseRow(data) {
    const values = data.map((value, i) => value === null ? null : this._parsers[i](value));
    return this.rowAsArray ? values : Object.fromEntries(values.map((value, i) => [this.fields[i].name, value]));
  }

  addRow(row) { this.rows.push(row); }

  addCommandComplete({ text, command = text }) {
    const [, name, first, second] = /^([A-Za-z]+)(?: (\d+))?(?: (\d+))?/.exec(command) ?? [];
    if (name === undefined) return;
    this.command = name;
    if (second !== undefined) [this.oid, this.rowCount] = [Number(first), Number(second)];
    else if (first !== undefined) this.rowCount = Number(first);
  }
}

function resultOf(reader, rowMode) {
  const { cmd, oid, rowParser } = reader;
  const result = new Result(rowMode);
  if (cmd !== 'EMPTY') result.command = /^\w*/.exec(cmd)[0];
  if (COUNTED.has(cmd)) result.rowCount = reader.rowCount;
  if (oid !== undefined) result.oid = Number(oid);
  if (rowParser === undefined) return result;
  result.rows = result.rowAsArray ? reader.arrays : reader.objects;
  result.fields = rowParser.columns.map(fieldOf);
  return result;
}

module.exports = { COUNTED, Result, fieldOf, resultOf };
