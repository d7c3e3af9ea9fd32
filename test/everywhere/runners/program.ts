// By tsx and ts-node.

import pg from 'pg';
import made from './work.js';

async function main(): Promise<void> {
  if (pg.Pool !== made.pg.Pool) throw new Error('import and require differ');
  await made.work();
  console.log('1 passed');
}

main();
