'use strict';

const {
  State,
  backend: { NoData, ParameterDescription, RowDescription }
} = require('../protocol');
const { Flight } = require('../pipeline');
const { RowParser } = require('../rows');

/** Parse and Describe of an unnamed statement: what the server knows of it without running it. */
class DescribeRequest extends Flight {
  /** @param {number[]} [paramTypes] OIDs; 0 where the server is to infer a type */
  constructor(text, paramTypes = []) {
    super();
    this.text = text;
    this.paramTypes = paramTypes;
    this.receiver = { params: [], columns: [] };
  }

  write(writer, statements, flight) {
    flight.checkStatement(this.text);
    writer.parse('', this.text, this.paramTypes);
    writer.describe('S', '');
    this.state = State.Parsing;
  }

  message(pipeline, type, buf, start, end) {
    super.message(pipeline, type, buf, start, end);
    if (type === ParameterDescription) {
      for (let off = start + 7; off + 4 <= end; off += 4) this.receiver.params.push({ oid: buf.readUInt32BE(off) });
    } else if (type === RowDescription) {
      this.receiver.columns = RowParser.of(buf.subarray(start, end)).columns.map(column => ({
        name: column.name,
        oid: column.typeOid,
        modifier: column.typeModifier,
        tableOid: column.tableOid,
        column: column.tableColumnIndex
      }));
    }
    if (type === RowDescription || type === NoData) this.state = State.Done;
  }
}

module.exports = { DescribeRequest };
