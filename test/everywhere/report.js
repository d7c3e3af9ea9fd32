'use strict';

// The table, and what is behind its numbers.

const of = (cell, result) => cell.tests.filter(test => test.result === result);

/** A skipped test says why in brackets at the end of its title. */
const reasonOf = ({ title }) => /\[([^[\]]+)\]$/.exec(title)?.[1] ?? title;

/** @returns {Map<string, number>} how many tests were skipped for which reason */
function skipped(cell) {
  const reasons = new Map();
  for (const test of of(cell, 'skipped')) reasons.set(reasonOf(test), (reasons.get(reasonOf(test)) ?? 0) + 1);
  for (const [file, reason] of Object.entries(cell.left ?? {})) reasons.set(`${file}, all of it: ${reason}`, 0);
  return reasons;
}

/** @returns {string} what one cell has done, failures with their errors */
function summary(cell) {
  const counts = `${of(cell, 'passed').length} passed, ${of(cell, 'failed').length} failed in ${cell.seconds} s`;
  const lines = [`${cell.runtime} × ${cell.server}: ${counts}`];
  for (const { title, error } of of(cell, 'failed'))
    lines.push(`  FAILED ${title}\n    ${error.replaceAll('\n', '\n    ')}`);
  if (cell.error !== undefined) lines.push(`  FAILED: ${cell.error}`);
  return lines.join('\n');
}

/** @returns {string} the table of all cells; below it why tests were skipped */
function table(cells) {
  const rows = [['runtime', 'server', 'passed', 'failed', 'skipped', 'seconds', '']];
  for (const cell of cells) {
    const counts = ['passed', 'failed', 'skipped'].map(result => of(cell, result).length);
    const verdict = cell.error !== undefined ? 'BROKE OFF' : counts[1] > 0 ? 'FAILED' : 'ok';
    rows.push([cell.runtime, cell.server, ...counts, cell.seconds, verdict].map(String));
  }
  const widths = rows[0].map((_, column) => Math.max(...rows.map(row => row[column].length)));
  const lines = rows.map(row =>
    row
      .map((value, column) => value.padEnd(widths[column]))
      .join('  ')
      .trimEnd()
  );
  for (const cell of cells) {
    const reasons = skipped(cell);
    if (reasons.size === 0) continue;
    lines.push('', `Skipped with ${cell.runtime} × ${cell.server}:`);
    for (const [reason, count] of reasons) lines.push(`  ${count > 0 ? `${count} × ` : ''}${reason}`);
  }
  return lines.join('\n');
}

/**
 * Puts the results of cells in the place of their earlier ones.
 * @param {string} text of the file of results
 * @param {string} date of this run
 * @returns {string} the new text
 */
function recorded(text, cells, date) {
  const rows = new Map(
    Array.from(text.matchAll(/^\| ([^|]+ × [^|]+) \|.*$/gm), ([row, name]) => [name, row]) // heading and rule have no ×
  );
  for (const cell of cells) {
    const name = `${cell.runtime} × ${cell.server}`;
    const counts = ['passed', 'failed', 'skipped'].map(result => of(cell, result).length);
    rows.set(name, `| ${[name, ...counts, date].join(' | ')} |`);
  }
  const [heading] = text.split(/^\| /m);
  const list = [...rows.keys()].sort().map(name => rows.get(name));
  return `${heading}| | passed | failed | skipped | on |\n|---|---|---|---|---|\n${list.join('\n')}\n`;
}

module.exports = { recorded, summary, table };
