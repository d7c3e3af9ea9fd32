'use strict';

const { PGBOUNCER, STAND_INS } = require('../support/poolers');
const { sharedServer } = require('../support');
const { stranger } = require('../support/stranger');

stranger({ name: 'PostgreSQL', start: async () => ({ config: (await sharedServer()).config, stop() {} }) });

for (const pooler of [...Object.values(PGBOUNCER), ...STAND_INS]) stranger(pooler);
