'use strict';
// prototype
const { launchBrowser, startServer } = require('pg-test-fixtures');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { serve } = require('./server');
const { values: o } = parseArgs({ options: { rows: { type: 'string', default: '300000' }, rounds: { type: 'string', default: '3' },
  ways: { type: 'string' }, kinds: { type: 'string', default: 'text' }, from: { type: 'string', default: 'memory,server' },
  keep: { type: 'string', default: 'kept' }, parser: { type: 'string', default: path.join(__dirname, '../../client-parser') }, prof: {type: 'string'} } });
const median = l => [...l].sort((a, b) => a - b)[l.length >> 1];
(async () => {
  const db = await startServer({ auth: 'trust' });
  const server = await serve(db.config, path.resolve(o.parser), +o.rows);
  const browser = await launchBrowser({args: ['--js-flags=--expose-gc']});
  try {
    const list = [];
    for (const kind of o.kinds.split(',')) for (const from of o.from.split(',')) for (const keep of o.keep.split(','))
      for (const way of (o.ways || 'lazy,two,objects,decoded,ndjson,json,arrow, lazy,arrow').replace('arrow, lazy', 'arrow; lazy').split(',').map(s => s.replace(';', ','))) list.push({ kind, from, keep: keep === 'kept', way, runs: [] });
    for (let r = 0; r < +o.rounds; r++) for (const one of list) {
      const page = await browser.newPage();
      await page.goto(server.url);
      const cdp = await page.context().newCDPSession(page);
      await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
      const metrics = async () => Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map(m => [m.name, m.value]));
      const spec = { way: one.way, kind: one.kind, from: one.from, keep: one.keep };
      await page.evaluate(async spec => { window.m = await import('/page.js'); await window.m.prepare(spec); }, spec);
      await cdp.send('HeapProfiler.collectGarbage');
      const h0 = await cdp.send('Runtime.getHeapUsage');
      if (o.prof) { await cdp.send('Profiler.enable'); await cdp.send('Profiler.setSamplingInterval', {interval: 100}); await cdp.send('Profiler.start'); }
      const a = await metrics();
      const result = await page.evaluate(spec => window.m.measure(spec), spec);
      const b = await metrics();
      if (o.prof) { const {profile} = await cdp.send('Profiler.stop'); require('fs').writeFileSync(o.prof, JSON.stringify(profile)); const lines = new Map(); for (const n of profile.nodes) for (const t of n.positionTicks||[]) { const k=n.callFrame.functionName+' '+n.callFrame.url.split('/').pop()+':'+t.line; lines.set(k,(lines.get(k)||0)+t.ticks); } console.log([...lines].sort((x,y)=>y[1]-x[1]).slice(0,30).map(([k,v])=>v+' '+k).join('\n')); const self = new Map(); const byId = new Map(profile.nodes.map(n=>[n.id,n])); profile.samples.forEach((s,i)=>{const n=byId.get(s); const k=n.callFrame.functionName+' '+n.callFrame.url.split('/').pop()+':'+n.callFrame.lineNumber; self.set(k,(self.get(k)||0)+profile.timeDeltas[i]/1000);}); console.log([...self].sort((x,y)=>y[1]-x[1]).slice(0,18).map(([k,v])=>v.toFixed(0).padStart(6)+' '+k).join('\n')); }
      await cdp.send('HeapProfiler.collectGarbage');
      const h1 = await cdp.send('Runtime.getHeapUsage');
      one.runs.push({ ...result, busy: (b.TaskDuration - a.TaskDuration) * 1000, cpu: (b.ProcessTime - a.ProcessTime) * 1000,
        heap: (h1.usedSize + (h1.backingStorageSize || 0) + h1.embedderHeapUsedSize- h0.usedSize - (h0.backingStorageSize || 0)- h0.embedderHeapUsedSize) / 1e6 });
      await page.close();
    }
    for (const { kind, from, keep, way, runs } of list) {
      const m = k => median(runs.map(r => r[k])).toFixed(0).padStart(6);
      if (runs[0].q) console.log(JSON.stringify(runs[0].q)); console.log(`${kind} ${from} ${keep ? 'kept' : 'dropped'} ${way.padEnd(12)} busy ${m('busy')} cpu ${m('cpu')} first ${m('first')} last ${m('last')} longest ${m('longest')} heap ${m('heap')}  n ${m('count')}`);
    }
  } finally { await browser.close(); await server.stop(); await db.stop(); }
})();
