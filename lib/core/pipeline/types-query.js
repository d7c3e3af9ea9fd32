'use strict';

const { State } = require('../protocol');
const { RowReader } = require('../rows');
const { NAME, textOf } = require('./learn');
const { InternalQuery, UNCACHED } = require('./query');
const { Statement } = require('./statements');

/**
 * A question in a flight, in front of a query that needs its answer, so it is no simple Query: what was executed in the
 * flight stays. That query may have the unnamed statement.
 */
class TypesQuery extends InternalQuery {
  /** @param {number[]} oids */
  constructor(oids) {
    super(textOf(`t.oid IN (${oids.join()})`), [], UNCACHED, new RowReader({ decode: false }));
  }

  write(writer) {
    const { bindNames, name } = (this.statement = new Statement(NAME, this.text, [], '', ''));
    this.parses = true;
    writer.close('S', name);
    writer.parse(name, this.text, []);
    writer.describe('S', name);
    writer.bind(bindNames, [], 0);
    writer.execute('', 0);
    writer.flush();
    this.state = State.ClosingFirst;
  }

  message(pipeline, ...given) {
    super.message(pipeline, ...given);
    if (this.state === State.Done) pipeline.common.types.take(this.receiver.arrays);
  }
}

module.exports = { TypesQuery };
