'use strict';

/** Each workload: `operations` of one turn, and `turn(session, ids)`. */
module.exports = {
  'select-pipelined': {
    title: 'Point select, pipelined: 1,000 in flight, a Sync each',
    operations: 1000,
    async turn(session, { ids }) {
      if (session.selects) return session.selects(ids);
      const results = await Promise.all(ids.map(id => session.select(id)));
      if (session.value(results[999]) !== ids[999]) throw new Error('wrong row');
    }
  },
  'select-batch': {
    title: 'Point select, batch of 100',
    operations: 1000,
    needs: 'batch',
    async turn(session, { ids }) {
      for (let i = 0; i < 1000; i += 100) {
        await session.batch(ids.slice(i, i + 100));
      }
    }
  },
  'rows-untouched': {
    title: '300,000 ten-column rows, untouched',
    operations: 'rows',
    needs: 'readRows',
    async turn(session, { rows }) {
      const result = await session.readRows();
      if ((result.length ?? result) !== rows) throw new Error(`${result.length} rows`);
    }
  },
  'rows-objects': {
    title: '300,000 ten-column rows, as objects',
    operations: 'rows',
    needs: 'readObjects',
    async turn(session, { rows }) {
      const result = await session.readObjects();
      if (result.length !== rows || result[rows - 1].c1 === undefined) throw new Error(`${result.length} rows`);
    }
  },
  'rows-one-column': {
    title: '300,000 ten-column rows, one column read',
    operations: 'rows',
    needs: 'value',
    async turn(session, { rows }) {
      let length = 0;
      for (const row of await session.readRows()) length += row.c5.length;
      if (!(length > 0)) throw new Error('nothing read');
    }
  }
};
