'use strict';

// The chart: for each route of the HTTP servers a bar for each client, as long as its requests a second; for each workload
// one as long as its CPU per operation.

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

/** The routes of the HTTP servers, and what they are called there. */
const ROUTES = {
  '/row': 'One row as JSON',
  '/queries': '20 queries at once',
  '/page': '12 rows as HTML',
  '/updates': '20 updates',
  '/rows': '1,000 rows as JSON',
  '/stream': '100,000 rows as ndjson'
};

const RATES = 'Requests a second of an HTTP server: longer is better. The line is the spread of the rounds.';
const CPU = 'Client CPU per operation in µs: shorter is better.';

const COLORS = { ours: '#d9480f', floor: '#868e96', peer: '#74a9d8', text: '#212529', faint: '#6c757d' };

const escape = text => text.replace(/[&<>"]/g, char => `&#${char.charCodeAt(0)};`);

/** A text; size and color are those of the whole unless given. */
function label(x, y, content, { size, color, anchor, bold } = {}) {
  const attributes = {
    'font-size': size,
    fill: color,
    'text-anchor': anchor,
    'font-weight': bold ? 'bold' : undefined
  };
  const given = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return `<text x="${+x.toFixed(1)}" y="${y}"${given.map(([name, value]) => ` ${name}="${value}"`).join('')}>${escape(content)}</text>`;
}

/** The bars of one route or workload: `{ client, name, median, low, high, text }` each. */
function block(title, bars, ours, x, y, width) {
  const longest = Math.max(...bars.map(({ high }) => high));
  const room = width - LABELS - 60;
  const parts = [label(x, y, title, { size: 13, bold: true })];
  bars.forEach(({ client, name, median, low, high, text }, index) => {
    const top = y + 10 + index * (BAR + GAP);
    const scale = value => (value / longest) * room;
    const left = x + LABELS;
    const color = client === ours ? COLORS.ours : client === 'floor' ? COLORS.floor : COLORS.peer;
    const from = left + scale(low);
    const to = left + scale(high);
    parts.push(
      label(left - 8, top + 12, name, { anchor: 'end', bold: client === ours }),
      `<rect x="${left}" y="${top}" width="${scale(median).toFixed(1)}" height="${BAR}" fill="${color}"/>`,
      `<path d="M${from.toFixed(1)} ${top + BAR / 2}H${to.toFixed(1)}"/>`,
      label(Math.max(to, left + scale(median)) + 6, top + 12, text, { color: COLORS.faint })
    );
  });
  return parts.join('\n');
}

/** What the HTTP servers did, by route. */
function ratesOf(http) {
  return Object.entries(ROUTES).map(([route, title]) => ({
    title,
    bars: http
      .filter(each => each.route === route && (each.rtt ?? 0) === 0)
      .map(({ client, rate, rounds }) => {
        const rates = rounds.map(round => round.rate);
        const text = rate < 100 ? rate.toFixed(1) : Math.round(rate).toLocaleString('en');
        return { client, name: client, median: rate, low: Math.min(...rates), high: Math.max(...rates), text };
      })
  }));
}

/** What the workloads cost. */
function costsOf(tables) {
  return tables
    .filter(({ name }) => CHARTED[name])
    .map(({ name, clients }) => ({
      title: CHARTED[name],
      bars: clients
        .filter(({ cpu }) => cpu)
        .map(({ client, label: name, cpu }) => ({ client, name, ...cpu, text: cpu.median.toPrecision(3) }))
    }));
}

/**
 * Draws the chart.
 * @param {object[]} tables of the workloads
 * @param {string} ours the client that is ours
 * @param {object[]} [http] results of the HTTP servers, which come first
 * @returns {string} SVG
 */
function chart(tables, ours, http = []) {
  const width = WIDTH / COLUMNS;
  let top = 0;
  const drawn = [
    [RATES, ratesOf(http)],
    [CPU, costsOf(tables)]
  ].flatMap(([heading, list]) => {
    const blocks = list.filter(({ bars }) => bars.length > 0);
    if (blocks.length === 0) return [];
    const heights = Array(COLUMNS).fill(top + 56);
    const parts = blocks.map(({ title, bars }) => {
      const column = heights.indexOf(Math.min(...heights));
      const y = heights[column];
      heights[column] += bars.length * (BAR + GAP) + 40;
      return block(title, bars, ours, column * width + 12, y, width - 12);
    });
    parts.unshift(label(12, top + 26, heading, { size: 14 }));
    top = Math.max(...heights);
    return parts;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" ` +
      `width="${WIDTH}" height="${top}" font-family="system-ui, sans-serif" font-size="12" fill="${COLORS.text}">`,
    `<style>path{stroke:${COLORS.text};opacity:.5}</style>`,
    `<rect width="${WIDTH}" height="${top}" fill="#ffffff"/>`,
    ...drawn,
    '</svg>',
    ''
  ].join('\n');
}

module.exports = { chart };
