'use strict';

const v8 = require('node:v8');
const vm = require('node:vm');

/** Collects all garbage, at once: so that memory can be measured. */
function collector() {
  if (typeof Bun === 'object') return () => Bun.gc(true);
  v8.setFlagsFromString('--expose-gc');
  return vm.runInNewContext('gc');
}

module.exports = { gc: collector() };
