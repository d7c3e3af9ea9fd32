'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { resolve } = require('../../../lib/core/config');

/** What dashboards show, with names and passwords made up, and what it comes to. */
const URLS = [
  [
    'RDS',
    'postgresql://postgres:p%40ss@mydb.c9akciq32rgh.us-east-1.rds.amazonaws.com:5432/postgres',
    {
      host: 'mydb.c9akciq32rgh.us-east-1.rds.amazonaws.com',
      user: 'postgres',
      password: 'p@ss',
      database: 'postgres',
      sslmode: 'prefer'
    }
  ],
  [
    'Cloud SQL, address',
    'postgresql://app:secret@34.72.1.2:5432/shop?sslmode=verify-ca',
    { host: '34.72.1.2', database: 'shop', sslmode: 'verify-ca' }
  ],
  [
    'Cloud SQL, Cloud Run',
    'postgresql://app:secret@/shop?host=/cloudsql/my-project:europe-west1:main',
    { host: '/cloudsql/my-project:europe-west1:main', user: 'app', database: 'shop', sslmode: 'disable' }
  ],
  ['Azure', 'postgresql://app@contoso:secret@contoso.postgres.database.azure.com/postgres?sslmode=require', /two "@"/],
  [
    'Azure, encoded',
    'postgresql://app%40contoso:secret@contoso.postgres.database.azure.com/postgres?sslmode=require',
    { host: 'contoso.postgres.database.azure.com', user: 'app@contoso', sslmode: 'require' }
  ],
  [
    'Azure, key=value',
    'host=contoso.postgres.database.azure.com port=5432 dbname=postgres user=app password=secret sslmode=require',
    { host: 'contoso.postgres.database.azure.com', user: 'app', database: 'postgres', sslmode: 'require' }
  ],
  [
    'Neon',
    'postgresql://neondb_owner:npg_x@ep-cool-darkness-a1b2c3d4-pooler.us-east-2.aws.neon.tech/neondb?sslmode=require&channel_binding=require',
    {
      host: 'ep-cool-darkness-a1b2c3d4-pooler.us-east-2.aws.neon.tech',
      max_pipeline: 0,
      database: 'neondb',
      sslmode: 'require',
      channel_binding: 'require'
    }
  ],
  [
    'Neon, endpoint',
    'postgresql://u:p@ep-x.us-east-2.aws.neon.tech/neondb?sslmode=require&options=endpoint%3Dep-x',
    { options: 'endpoint=ep-x', max_pipeline: 0 }
  ],
  [
    'Neon, with max_pipeline',
    'postgresql://u:p@ep-x.us-east-2.aws.neon.tech/neondb?sslmode=require&max_pipeline=2',
    { max_pipeline: 2 }
  ],
  [
    'a host that is named like Neon’s',
    'postgresql://u:p@neon.tech.example/neondb',
    { host: 'neon.tech.example', max_pipeline: undefined }
  ],
  [
    'Hyperdrive',
    'postgresql://u:p@0123456789abcdef0123456789abcdef.hyperdrive.local:5432/postgres?sslmode=disable',
    { port: 5432, max_pipeline: 0, statement_cache: 256 }
  ],
  [
    'Supabase, direct',
    'postgresql://postgres:secret@db.abcdefghijklmnop.supabase.co:5432/postgres',
    { user: 'postgres', port: 5432, max_pipeline: undefined }
  ],
  [
    'Supabase, session',
    'postgresql://postgres.abcdefghijklmnop:secret@aws-0-eu-central-1.pooler.supabase.com:5432/postgres',
    {
      user: 'postgres.abcdefghijklmnop',
      host: 'aws-0-eu-central-1.pooler.supabase.com',
      port: 5432,
      max_pipeline: undefined,
      statement_cache: 256
    }
  ],
  [
    'Supabase, transaction',
    'postgresql://postgres.abcdefghijklmnop:secret@aws-0-eu-central-1.pooler.supabase.com:6543/postgres',
    { port: 6543, max_pipeline: 1, statement_cache: 0 }
  ],
  [
    'Supabase, transaction, with options',
    'postgresql://u:p@aws-0-eu-central-1.POOLER.supabase.com:6543/postgres?max_pipeline=0&statement_cache=9',
    { max_pipeline: 0, statement_cache: 9 }
  ],
  [
    'Supabase, for Prisma',
    'postgresql://postgres.abc:secret@aws-0-eu-central-1.pooler.supabase.com:6543/postgres?pgbouncer=true',
    /"pgbouncer": remove it, and set statement_cache to 0/
  ],
  [
    'Supabase, by Vercel',
    'postgres://postgres.abc:secret@aws-0-us-east-1.pooler.supabase.com:6543/postgres?sslmode=require&supa=base-pooler.x',
    /"supa": remove it$/
  ],
  [
    'Heroku',
    'postgres://u4jk2:p9cd@ec2-34-194-40-194.compute-1.amazonaws.com:5432/d8v1n',
    { user: 'u4jk2', database: 'd8v1n', sslmode: 'prefer' }
  ],
  [
    'Railway',
    'postgresql://postgres:secret@roundhouse.proxy.rlwy.net:34567/railway',
    { host: 'roundhouse.proxy.rlwy.net', port: 34567, database: 'railway' }
  ],
  [
    'Railway, private',
    'postgresql://postgres:secret@postgres.railway.internal:5432/railway',
    { host: 'postgres.railway.internal' }
  ],
  [
    'Render',
    'postgresql://app_user:secret@dpg-abc123-a.oregon-postgres.render.com/app_db',
    { host: 'dpg-abc123-a.oregon-postgres.render.com', port: 5432 }
  ],
  ['Render, internal', 'postgresql://app_user:secret@dpg-abc123-a/app_db', { host: 'dpg-abc123-a' }],
  [
    'Fly',
    'postgres://app:secret@app-db.flycast:5432/app?sslmode=disable',
    { host: 'app-db.flycast', sslmode: 'disable' }
  ],
  [
    'Fly, managed',
    'postgresql://fly-user:secret@pgbouncer.abc123.flympg.net/fly-db',
    { host: 'pgbouncer.abc123.flympg.net', database: 'fly-db', sslmode: 'prefer' }
  ],
  [
    'Aiven',
    'postgres://avnadmin:AVNS_x@pg-1.myproject.aivencloud.com:12691/defaultdb?sslmode=require',
    { port: 12691, user: 'avnadmin', sslmode: 'require' }
  ],
  [
    'Crunchy',
    'postgres://application:secret@p.q5n6abc.db.postgresbridge.com:5432/postgres',
    { host: 'p.q5n6abc.db.postgresbridge.com' }
  ],
  [
    'Timescale',
    'postgres://tsdbadmin:secret@a1b2c3.x9y8.tsdb.cloud.timescale.com:35177/tsdb?sslmode=require',
    { port: 35177, database: 'tsdb', sslmode: 'require' }
  ],
  [
    'CockroachDB',
    'postgresql://maria:secret@blue-dog-1234.g8z.gcp-us-east1.cockroachlabs.cloud:26257/defaultdb?sslmode=verify-full',
    { port: 26257, sslmode: 'verify-full' }
  ],
  [
    'CockroachDB, old',
    'postgresql://maria:secret@free-tier.gcp-us-central1.cockroachlabs.cloud:26257/defaultdb?sslmode=verify-full&options=--cluster%3Dblue-dog-1234',
    { options: '--cluster=blue-dog-1234' }
  ]
];

/** What a URL comes to, by the names of the table. */
function read(url) {
  const config = resolve(url, undefined, {});
  const [{ host, port, sslmode }] = config.hosts;
  const {
    user,
    database,
    password,
    channel_binding,
    parameters: { options },
    max_pipeline,
    statement_cache,
    sslrootcert
  } = config;
  return {
    host,
    port,
    sslmode,
    user,
    database,
    password,
    channel_binding,
    options,
    max_pipeline,
    statement_cache,
    sslrootcert
  };
}

describe('The URL of a provider', () => {
  for (const [name, url, expected] of URLS) {
    it(`is taken as its dashboard shows it, or refused with what to do: ${name}`, () => {
      if (expected instanceof RegExp) return assert.throws(() => read(url), { name: 'TypeError', message: expected });
      const found = read(url);
      for (const option in expected) assert.equal(found[option], expected[option], option);
    });
  }

  it('takes each line of the guide', () => {
    const guide = fs.readFileSync(path.join(__dirname, '../../../lib/core/connection/README.md'), 'utf8');
    const [section] = /^## Providers$[^]*?^## /m.exec(guide);
    const lines = [...section.matchAll(/`(sslmode=[^`]*)`/g)].map(([, line]) => line);
    assert.ok(lines.length > 15);
    for (const line of lines) {
      const { sslmode, sslrootcert, statement_cache } = read(`postgresql://u:p@db.example/shop?${line}`);
      const given = new URLSearchParams(line);
      assert.deepEqual([sslmode, sslrootcert], [given.get('sslmode'), given.get('sslrootcert') ?? undefined], line);
      assert.equal(statement_cache, Number(given.get('statement_cache') ?? 256));
    }
  });
});
