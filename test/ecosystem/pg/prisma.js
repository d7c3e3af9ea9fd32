'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const modules = path.join(__dirname, '..', 'node_modules');
const folder = path.join(modules, '.prisma-test');

const SCHEMA = `generator client {
  provider = "prisma-client-js"
  output   = "./client"
}
datasource db {
  provider = "postgresql"
}
model User {
  id    Int       @id @default(autoincrement())
  name  String    @unique
  data  Json?
  tags  String[]
  at    DateTime? @db.Timestamptz
  price Decimal?
  big   BigInt?
  bytes Bytes?
  pets  Pet[]
}
model Pet {
  id      Int    @id @default(autoincrement())
  name    String
  ownerId Int
  owner   User   @relation(fields: [ownerId], references: [id])
}
`;

/** Generates the client. Its schema engine, which would be downloaded, is not needed for that. */
function generated() {
  const client = path.join(folder, 'client');
  if (!fs.existsSync(client)) {
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, 'schema.prisma'), SCHEMA);
    const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' };
    execFileSync(
      process.execPath,
      [path.join(modules, 'prisma', 'build', 'index.js'), 'generate', '--schema', 'schema.prisma'],
      { cwd: folder, env, stdio: 'pipe' }
    );
  }
  return require(client);
}

module.exports = async ({ pg, config, kill, tell, persist }) => {
  const { PrismaPg } = require('@prisma/adapter-pg');
  const { PrismaClient } = generated();
  const pool = new pg.Pool({ ...config, max: 4 });
  await pool.query(`CREATE TABLE "User" (id serial PRIMARY KEY, name text NOT NULL UNIQUE, data jsonb, tags text[], at timestamptz,
    price numeric, big bigint, bytes bytea); CREATE TABLE "Pet" (id serial PRIMARY KEY, name text NOT NULL, "ownerId" int NOT NULL REFERENCES "User")`);
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
  const plain = value =>
    JSON.parse(JSON.stringify(value, (key, each) => (typeof each === 'bigint' ? `${each}n` : each)));
  tell(
    plain(
      await prisma.user.create({
        data: {
          name: 'Ann',
          data: { a: [1] },
          tags: ['x', 'y"'],
          at: new Date(1e12),
          price: '1.50',
          big: 9007199254740993n,
          bytes: new Uint8Array([1, 255]),
          pets: { create: [{ name: 'Rex' }, { name: 'Tom' }] }
        },
        include: { pets: true }
      })
    )
  );
  await prisma.user.create({ data: { name: 'Bob' } });
  tell(
    plain(
      await prisma.user.findMany({ where: { name: { contains: 'n' } }, include: { pets: { orderBy: { id: 'desc' } } } })
    )
  );
  tell(
    await prisma.user.create({ data: { name: 'Ann' } }).catch(({ name, code, meta }) => [name, code, meta?.modelName])
  );
  tell(
    await prisma.$transaction(
      async tx => {
        await tx.user.update({ where: { name: 'Bob' }, data: { name: 'Cid' } });
        return tx.pet.count();
      },
      { isolationLevel: 'Serializable' }
    )
  );
  tell(
    await prisma
      .$transaction(async tx => {
        await tx.pet.deleteMany();
        throw new Error('changed my mind');
      })
      .catch(({ message }) => message),
    await prisma.pet.count()
  );
  tell(await Promise.all(Array.from({ length: 20 }, (_, i) => prisma.$queryRaw`SELECT ${i}::int AS i`)));
  tell(plain(await prisma.$queryRaw`SELECT count(*), now() > ${new Date(0)} AS later, ${'x'}::text AS x FROM "User"`));
  await kill();
  tell(await persist(() => prisma.user.count()));
  await prisma.$disconnect();
};
