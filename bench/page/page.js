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
  async read(source, take, module) {
    const result = module.rows(source, typeof options === 'function' ? options(module) : options);
    for await (const batch of result.batches()) take(use(batch), batch.length);
    return result.bytes;
  }
});

/** Makes objects of JSON, all at once. */
const json = use => ({
  as: 'json',
  async read(source, take) {
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of chunksOf(source)) text += decoder.decode(chunk, { stream: true });
    const all = JSON.parse(text);
    use?.(all);
    take(all, all.length);
  }
});

/** Makes objects of lines of JSON. */
const ndjson = use => ({
  as: 'ndjson',
  async read(source, take) {
    for await (const some of lines(chunksOf(source))) {
      const batch = some.filter(Boolean).map(line => JSON.parse(line));
      use?.(batch);
      take(batch, batch.length);
    }
  }
});

const dates = all => {
  for (const row of all) row.created = new Date(row.created);
};

/** Each way is given the source and what takes the rows; what `load` gives is there before. It may return how many bytes came. */
export const ways = {
  bytes: {
    as: 'protocol',
    async read(source, take, module, count) {
      for await (const chunk of chunksOf(source)) take([], 0, chunk);
      take([], count);
    }
  },
  lazy: protocol(batch => batch, { structs: true }),
  two: protocol(
    batch => {
      for (const row of batch) row[0] + row[1];
      return batch;
    },
    { structs: true }
  ),
  objects: protocol(batch => batch, { decode: {} }),
  decoded: protocol(batch => batch, { decode: true }),
  'decoded, exact': protocol(
    batch => batch,
    ({ decoders, exact }) => ({ decode: { ...decoders, ...exact } })
  ),
  ndjson: ndjson(),
  'ndjson, dates': ndjson(dates),
  json: json(),
  'json, dates': json(dates),
  // The objects of `objects`, of one block of bytes and without the parser: what they cost by themselves.
  made: {
    async read(source, take, module, count) {
      const row = `${'0'.repeat(36)}User 123456user123456@example.com${'0'.repeat(32)}1234.56t2026-01-01 00:00:00+00`;
      const block = new TextEncoder().encode(row.repeat(24));
      const decoder = new TextDecoder();
      for (let made = 0; made < count;) {
        const batch = [];
        for (const until = performance.now() + 8; performance.now() < until && made < count;) {
          const text = decoder.decode(block);
          for (let i = 0; i < text.length && made < count; made++, i += row.length) {
            const part = (from, to) => text.substring(i + from, i + to);
            batch.push({
              id: part(0, 36),
              name: part(36, 47),
              email: part(47, 69),
              password: part(69, 101),
              balance: part(101, 108),
              active: part(108, 109),
              created: part(109, 131)
            });
          }
        }
        take(batch, batch.length);
        await new Promise(resolve => setTimeout(resolve));
      }
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
      for await (const batch of await RecordBatchReader.from(chunksOf(source)))
        take(
          batch.toArray().map(row => row.toJSON()),
          batch.numRows
        );
    }
  }
};

let held; // what the page keeps

/** Gets all that is not measured. */
export async function prepare({ way, kind, from, count }) {
  const { as, load } = ways[way];
  const url = `/${kind}.${as}?${count}`;
  const bytes = from === 'memory' ? new Uint8Array(await (await fetch(url)).arrayBuffer()) : undefined;
  const module = await load?.();
  held = { source: () => bytes ?? (as && fetch(url)), module, rows: [] };
  await new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve, 50)));
}

/**
 * @param {object} spec `watch`: whether frames are asked for all the time, which itself costs the page a share of a core
 * @returns {Promise<object>} milliseconds to the first row and the last, of the longest frame, and the number of rows
 */
export async function measure({ way, keep, watch, count: wanted }) {
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
  if (watch) turn();
  const bytes = await ways[way].read(
    source(),
    (some, more) => {
      first ??= performance.now() - start;
      count += more;
      if (keep) for (const each of some) rows.push(each);
    },
    module,
    wanted
  );
  const total = performance.now() - start;
  if (watch) {
    await new Promise(resolve => requestAnimationFrame(resolve));
    longest = Math.max(longest, performance.now() - last);
    cancelAnimationFrame(frame);
  }
  held.source = undefined;
  return { first, last: total, longest, count, bytes };
}
