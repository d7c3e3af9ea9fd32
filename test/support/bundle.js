'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { build } = require('esbuild');

/**
 * Bundles a program with the options that lib/core/connection/README.md prints.
 * @param {string} program
 * @param {string} outfile
 */
async function bundleByGuide(program, outfile) {
  const guide = fs.readFileSync(path.join(__dirname, '../../lib/core/connection/README.md'), 'utf8');
  const [, command] = /^npx esbuild (program\.mjs [^`]*)```/m.exec(guide);
  const options = Object.fromEntries(
    command
      .replace(/\\\n/g, '')
      .match(/--[\w:]+(?:=(?:"[^"]*"|\S+)|:\S+)?/g)
      .map(option => {
        const [, name, value = 'true'] = /^--(\w+(?::js)?)[=:]?"?(.*?)"?$/.exec(option);
        return [name, value];
      })
  );
  const { 'banner:js': js, external, format, platform } = options;
  await build({
    entryPoints: [program],
    outfile,
    bundle: true,
    format,
    platform,
    external: [external],
    banner: { js },
    logLevel: 'error'
  });
}

module.exports = { bundleByGuide };
