'use strict';

// Each version of TypeScript compiles a program that uses every entry point of the installed archive, however it finds modules.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { archived } = require('../../support/archive');

const MODULES = path.join(__dirname, '../node_modules');

const VERSIONS = fs
  .readdirSync(MODULES)
  .filter(name => name.startsWith('ts-') && /\d$/.test(name))
  .map(name => name.slice(3));

const STRICT = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  skipLibCheck: false,
  target: 'es2022',
  lib: ['es2023', 'dom'],
  types: ['node'],
  declaration: true,
  outDir: 'out'
};

/** @type {Object<string, object>} how a program finds modules, with what each way allows beside it */
const RESOLUTIONS = {
  node10: { module: 'commonjs', moduleResolution: 'node10' },
  node16: { module: 'node16', moduleResolution: 'node16' },
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext', verbatimModuleSyntax: true },
  bundler: { module: 'esnext', moduleResolution: 'bundler', verbatimModuleSyntax: true, isolatedDeclarations: true }
};

/** Cells that TypeScript does not have. */
const isNone = (version, resolution) => resolution === 'node10' && version >= '7';

/** What a cell is given beside the options above. */
const extra = (version, { isolatedDeclarations, ...options }) => ({
  ...options,
  ...(isolatedDeclarations && version >= '5.5' ? { isolatedDeclarations } : {}), // 5.4 has none
  ...(options.moduleResolution === 'node10' && version >= '6' ? { ignoreDeprecations: '6.0' } : {})
});

const USES = `import { Client, type Session, type Transaction } from 'quickgres';
import { Pool } from 'quickgres/pool';
import { sql } from 'quickgres/sql';

/** A program exports its pool. */
export const pool: Pool = new Pool({ connectionString: 'postgres://localhost/app' }, { size: 5 });
export const client: Client = new Client({ host: 'localhost', user: 'me' });

export interface User { id: number; name: string | null }

export async function find(session: Session, id: number): Promise<User | undefined> {
  const { rows: [user] } = await session.query<User>('SELECT id, name FROM users WHERE id = $1', [id]);
  return user;
}

export const save = (user: User): Promise<number> =>
  pool.transaction(async (tx: Transaction): Promise<number> => {
    const { rowCount } = await tx.query(sql\`UPDATE users SET name = \${user.name} WHERE id = \${user.id}\`);
    return rowCount;
  });

// @ts-expect-error a config has no such option
export const wrong: Client = new Client({ hots: 'localhost' });
`;

describe('TypeScript', function () {
  this.timeout(120_000);
  let folder, entries;
  before(() => {
    folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'typescript-')));
    fs.cpSync(path.join(archived(), 'node_modules'), path.join(folder, 'node_modules'), { recursive: true });
    for (const name of ['@types/node', 'undici-types'])
      fs.cpSync(path.join(MODULES, name), path.join(folder, 'node_modules', name), { recursive: true });
    entries = Object.keys(require('../../../package.json').exports).filter(name => !/\*|json$/.test(name));
  });
  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  it('is here in each version from 5.4 on', () =>
    assert.deepEqual(VERSIONS.sort(), ['5.4', '5.5', '5.6', '5.7', '5.8', '5.9', '6.0', '7.0']));

  for (const version of VERSIONS.sort()) {
    for (const [resolution, options] of Object.entries(RESOLUTIONS)) {
      if (isNone(version, resolution)) continue;
      it(`${version} compiles a program with moduleResolution ${resolution}`, async () => {
        const project = path.join(folder, `${version}-${resolution}`);
        // A CommonJS program imports no ES modules: TypeScript's rule TS1479.
        const type = options.verbatimModuleSyntax ? 'module' : 'commonjs';
        const names = entries.filter(name => type === 'module' || !(resolution === 'node16' && /parser/.test(name)));
        fs.mkdirSync(project);
        fs.writeFileSync(path.join(project, 'package.json'), JSON.stringify({ type }));
        fs.writeFileSync(path.join(project, 'program.ts'), USES);
        fs.writeFileSync(
          path.join(project, 'entries.ts'),
          names
            .map((name, i) => `import * as entry${i} from 'quickgres${name.slice(1)}';\nvoid entry${i};`)
            .join('\n') + '\nexport {};\n'
        );
        fs.writeFileSync(
          path.join(project, 'tsconfig.json'),
          JSON.stringify({
            compilerOptions: { ...STRICT, ...extra(version, options) },
            files: ['program.ts', 'entries.ts']
          })
        );
        const tsc = path.join(MODULES, `ts-${version}/bin/tsc`);
        const { stdout = '' } = await promisify(execFile)(process.execPath, [
          tsc,
          '--pretty',
          'false',
          '-p',
          project
        ]).catch(error => error);
        assert.equal(stdout, '');
      });
    }
  }
});
