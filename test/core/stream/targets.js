'use strict';

/** What a reader without earlier state makes of the bytes. */
async function read(bytes, options) {
  const { rows } = await import('../../../client-parser/index.js');
  const source = rows([bytes], options);
  const result = { rows: [], error: undefined };
  try {
    for await (const row of source) result.rows.push(Object.values(row));
    result.columns = source.columns && source.columns.map(column => column.name);
    result.cmd = source.cmd;
    result.rowCount = source.rowCount;
  } catch (error) {
    result.error = error;
  }
  return result;
}

module.exports = { read };
