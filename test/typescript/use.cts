// The same types for modules that `require`.

import quickgres = require('quickgres');
import { Client, type Row } from 'quickgres';

const client: quickgres.Client = new quickgres.Client('postgresql://localhost/db');
const same: Client = client;
export const names = async (): Promise<string[]> =>
  (await same.query<{ name: string }>('SELECT name')).structs.map((row: Row<{ name: string }>) => row.name);
