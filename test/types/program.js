'use strict';

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { main } = require('../../lib/types');

const COMMAND = path.join(__dirname, '../../lib/types/index.js');

/** A program in a folder of its own, of which the command makes types. */
class Program {
  folder;
  url; // DATABASE_URL, unless an environment has another

  make() {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'quickgres-types-'));
  }
  remove() {
    fs.rmSync(this.folder, { recursive: true });
  }

  /** @returns {string} a server's config with changes, as libpq's `key=value` */
  urlOf(server, changes) {
    return Object.entries({ ...server.config, ...changes })
      .map(([name, value]) => `${name === 'database' ? 'dbname' : name}='${value}'`)
      .join(' ');
  }

  write(name, text) {
    fs.mkdirSync(path.dirname(path.join(this.folder, name)), { recursive: true });
    fs.writeFileSync(path.join(this.folder, name), text);
  }
  read(name = 'queries.d.ts') {
    return fs.readFileSync(path.join(this.folder, name), 'utf8');
  }

  /**
   * Runs the command in a process of its own.
   * @returns {Promise<{code: number, stdout: string, stderr: string}>} with the process in `child`
   */
  start(args = [], env = {}) {
    const options = { cwd: this.folder, env: { ...process.env, DATABASE_URL: this.url, ...env } };
    let child;
    const ended = new Promise(resolve => {
      child = execFile(process.execPath, [COMMAND, 'types', ...args], options, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stdout, stderr })
      );
    });
    return Object.assign(ended, { child });
  }

  /**
   * Runs the command in this process, where nothing has to be loaded again.
   * @returns {Promise<{code: number, stdout: string, stderr: string}>}
   */
  async run(args = [], env = {}) {
    const { log, error } = console;
    const { exitCode } = process;
    const environment = { ...process.env };
    const home = process.cwd();
    const said = { stdout: '', stderr: '' };
    console.log = text => (said.stdout += `${text}\n`);
    console.error = text => (said.stderr += `${text}\n`);
    Object.assign(process.env, { DATABASE_URL: this.url, ...env });
    process.chdir(this.folder);
    process.exitCode = 0;
    try {
      await main(['types', ...args]);
      return { code: process.exitCode, ...said };
    } finally {
      process.exitCode = exitCode;
      process.chdir(home);
      for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
      Object.assign(process.env, environment);
      Object.assign(console, { log, error });
    }
  }
}

module.exports = { Program };
