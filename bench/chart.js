'use strict';

// The chart: for each workload a bar for each client, as long as its CPU per operation.

const WIDTH = 860;
const LABELS = 190;
const BAR = 15;
const GAP = 4;
const COLUMNS = 2;

/** The workloads of the chart, and what they are called there. */
const CHARTED = {
  'select-pipelined': 'A point select, pipelined',
  'select-batch': 'A point select, in batches of 100',
  'rows-untouched': 'A row of ten columns, untouched',
  'rows-one-column': 'A row, one column of ten read',
  'rows-objects': 'A row, as an object',
  'pass-null': 'A row, passed on to a stream',
  'copy-out': 'A row, COPY out',
  'copy-in': 'A row, COPY in'
};

const HEADING = 'Client CPU per operation in µs: shorter is better. The line is the spread of the rounds.';

const COLORS = { ours: '#d9480f', floor: '#868e96', peer: '#74a9d8', text: '#212529', faint: '#6c757d' };

const escape = text => text.replace(/[&<>"]/g, char => `&#${char.charCodeAt(0)};`);

function label(x, y, content, { size = 12, color = COLORS.text, anchor = 'start', bold } = {}) {
  return `<text x="${x}" y="${y}" font-size="${size}" fill="${color}" text-anchor="${anchor}"` +
    `${bold ? ' font-weight="bold"' : ''}>${escape(content)}</text>`;
}

/** The bars of one workload. */
function block(title, clients, ours, x, y, width) {
  const longest = Math.max(...clients.map(({ cpu }) => cpu.high));
  const room = width - LABELS - 60;
  const parts = [label(x, y, title, { size: 13, bold: true })];
  clients.forEach(({ client, label: name, cpu: { median, low, high } }, index) => {
    const top = y + 10 + index * (BAR + GAP);
    const scale = value => value / longest * room;
    const left = x + LABELS;
    const color = client === ours ? COLORS.ours : client === 'floor' ? COLORS.floor : COLORS.peer;
    const from = left + scale(low);
    const to = left + scale(high);
    parts.push(
      label(left - 8, top + 12, name, { anchor: 'end', bold: client === ours }),
      `<rect x="${left}" y="${top}" width="${scale(median).toFixed(1)}" height="${BAR}" fill="${color}"/>`,
      `<path d="M${from.toFixed(1)} ${top + BAR / 2}H${to.toFixed(1)}" stroke="${COLORS.text}" opacity="0.5"/>`,
      label(Math.max(to, left + scale(median)) + 6, top + 12, median.toPrecision(3), { color: COLORS.faint })
    );
  });
  return parts.join('\n');
}

/**
 * Draws the chart.
 * @param {object[]} tables
 * @param {string} ours the client that is ours
 * @returns {string} SVG
 */
function chart(tables, ours) {
  const blocks = tables
    .filter(({ name }) => CHARTED[name])
    .map(({ name, clients }) => ({ title: CHARTED[name], clients: clients.filter(({ runs }) => runs) }))
    .filter(({ clients }) => clients.length);
  const width = WIDTH / COLUMNS;
  const heights = Array(COLUMNS).fill(56);
  const drawn = blocks.map(({ title, clients }) => {
    const column = heights.indexOf(Math.min(...heights));
    const y = heights[column];
    heights[column] += clients.length * (BAR + GAP) + 40;
    return block(title, clients, ours, column * width + 12, y, width - 12);
  });
  const height = Math.max(...heights);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" ` +
      `width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif">`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    label(12, 26, HEADING, { size: 14 }),
    ...drawn,
    '</svg>',
    ''
  ].join('\n');
}

module.exports = { chart };
