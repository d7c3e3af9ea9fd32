import { createRequire } from 'node:module';
import { expect, test } from 'vitest';

const require = createRequire(import.meta.url);

require('./define')({ expect, test, Client: require('../../..').Client });
