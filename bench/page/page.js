// What the page does that is measured: reads the rows in one way, from the server or from memory.

const parser = () => import('/client-parser/index.js');

/** Whole lines of a source, some at a time. */
async function* lines(chunks) {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop();
    yield parts;
  }
}

/** The chunks of a body, or of memory. */
async function* chunksOf(source) {
  if (source instanceof Uint8Array) return yield source;
  const reader = (await source).body.getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    yield value;
  }
}

/** A way of protocol bytes: what it makes of an array of rows. */
const protocol = (use, options) => ({
  as: 'protocol',
  load: parser,
  async read(source, take, { rows }) {
    for await (const batch of rows(source, options).batches()) take(use(batch), batch.length);
  }
});

/** Each way is given the source and what takes the rows; what `load` gives is there before. */
export const ways = {
  lazy: protocol(batch => batch),
  two: protocol(batch => {
    for (const row of batch) row[0] + row[1];
    return batch;
  }),
  objects: protocol(batch => batch.map(row => row.toObject())),
  decoded: protocol(batch => batch, { decode: true }),
  ndjson: {
    as: 'ndjson',
    async read(source, take) {
      for await (const some of lines(chunksOf(source))) take(some.filter(Boolean).map(line => JSON.parse(line)), some.length);
    }
  },
  json: {
    as: 'json',
    async read(source, take) {
      const decoder = new TextDecoder();
      let text = '';
      for await (const chunk of chunksOf(source)) text += decoder.decode(chunk, { stream: true });
      const all = JSON.parse(text);
      take(all, all.length);
    }
  },
  'arrow, lazy': {
    as: 'arrow',
    load: () => import('/arrow.js'),
    async read(source, take, { RecordBatchReader }) {
      for await (const batch of await RecordBatchReader.from(chunksOf(source))) take([batch], batch.numRows);
    }
  },
  arrow: {
    as: 'arrow',
    load: () => import('/arrow.js'),
    async read(source, take, { RecordBatchReader }) {
      for await (const batch of await RecordBatchReader.from(chunksOf(source))) take(batch.toArray().map(row => row.toJSON()), batch.numRows);
    }
  }
};

let held; // what the page keeps

/** Gets all that is not measured. */
export async function prepare({ way, kind, from }) {
  const { as, load } = ways[way];
  const url = `/${kind}.${as}`;
  const bytes = from === 'memory' ? new Uint8Array(await (await fetch(url)).arrayBuffer()) : undefined;
  const module = await load?.();
  held = { source: () => bytes ?? fetch(url), module, rows: [] };
  await new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve, 50)));
}

/** @returns {Promise<object>} milliseconds to the first row and the last, of the longest frame, and the number of rows */
export async function measure({ way, keep }) {
  const { source, module, rows } = held;
  let frame, first;
  let count = 0;
  let longest = 0;
  const start = performance.now();
  let last = start;
  const turn = now => {
    now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    frame = requestAnimationFrame(turn);
  };
  turn();
  await ways[way].read(source(), (some, more) => {
    first ??= performance.now() - start;
    count += more;
    if (keep) for (const each of some) rows.push(each);
  }, module);
  const total = performance.now() - start;
  await new Promise(resolve => requestAnimationFrame(resolve));
  longest = Math.max(longest, performance.now() - last);
  cancelAnimationFrame(frame);
  held.source = undefined;
  return { first, last: total, longest, count };
}
