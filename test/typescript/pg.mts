// What programs and packages do with the types of pg, given quickgres/pg in its place.

import type pg from 'pg';
import * as ours from 'quickgres/pg';

const pool = new ours.Pool({
  max: 3,
  min: 1,
  maxUses: 3,
  allowExitOnIdle: true,
  maxLifetimeSeconds: 60,
  Promise,
  log: (...messages: any[]) => {
    console.log(messages);
  },
  onConnect: client => {
    client.query('SELECT 1');
  },
  verify: (client, done) => done()
});
const client = new ours.Client();

/** The parameters of drizzle(), graphile-worker's run(), makeWorkerUtils() and runner(), and PrismaPg are these types. */
export const there: [pg.Pool, pg.Client, pg.ClientBase, pg.PoolClient, pg.DatabaseError] = [
  pool,
  client,
  client,
  await pool.connect(),
  new ours.DatabaseError('a message')
];
export const classes: [
  typeof pg.Pool,
  typeof pg.Client,
  typeof pg.Query,
  typeof pg.Result,
  typeof pg.Connection,
  typeof pg.Events,
  typeof pg.TypeOverrides,
  typeof pg.defaults
] = [ours.Pool, ours.Client, ours.Query, ours.Result, ours.Connection, ours.Events, ours.TypeOverrides, ours.defaults];
export const config: pg.PoolConfig = { types: ours.types, Client: ours.Client };
export const ourConfig: ours.PoolConfig = { host: 'localhost' } as pg.PoolConfig;

export const numbers: number[] = [pool.expiredCount, pool.totalCount, there[4].length];
export const flags: boolean[] = [pool.ended, pool.ending, client.pipeline];
export type Interfaces = [
  ours.QueryParse,
  ours.BindConfig,
  ours.ExecuteConfig,
  ours.MessageConfig,
  ours.ResultBuilder,
  ours.QueryConfig,
  ours.QueryArrayConfig,
  ours.FieldDef,
  ours.Submittable,
  ours.CustomTypesConfig,
  ours.PoolOptions,
  ours.Notification
];
client.pauseDrain();
client.resumeDrain();

/** Methods can be overridden as those of pg, and called by `super`. */
class LoggedPool extends ours.Pool {
  override async query(...args: any[]): Promise<any> {
    return (super.query as any)(...args);
  }
  override async connect(): Promise<any> {
    return super.connect();
  }
}
class LoggedClient extends ours.Client {
  override async query(...args: any[]): Promise<any> {
    return (super.query as any)(...args);
  }
  override escapeLiteral(text: string): string {
    return super.escapeLiteral(text);
  }
  override escapeIdentifier(text: string): string {
    return super.escapeIdentifier(text);
  }
}
class OwnError extends ours.DatabaseError {
  constructor(message: string) {
    super(message, message.length, 'error');
  }
}
export const raised: Error = new OwnError('own');
export const logged: [ours.Pool, pg.Pool, ours.Client] = [new LoggedPool(), new LoggedPool(), new LoggedClient()];
