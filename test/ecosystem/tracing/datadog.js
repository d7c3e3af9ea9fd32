'use strict';

const { channel } = require('node:diagnostics_channel');

const seen = [];
channel('apm:pg:query:start').subscribe(({ query, params }) => seen.push(['start', query.text, params.database]));
channel('apm:pg:query:error').subscribe(({ error }) => seen.push(['error', error.message]));
channel('apm:pg:query:finish').subscribe(({ query, result }) => seen.push(['finish', query.text, result]));
require('dd-trace').init({ startupLogs: false });

require('./work')(require('pg'), JSON.parse(process.argv[2])).then(() => {
  console.log(JSON.stringify(seen));
  process.exit(); // its exporter asks for an agent
});
