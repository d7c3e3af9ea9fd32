'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { build } = require('esbuild');

/** @returns {object} the options of esbuild that lib/core/connection/README.md prints */
function guideOptions() {
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
  const { 'banner:js': js, format, platform } = options;
  return { format, platform, banner: { js } };
}

/** Bundles a program with these options. */
const bundleByGuide = (program, outfile) =>
  build({ ...guideOptions(), entryPoints: [program], outfile, bundle: true, logLevel: 'error' });

module.exports = { bundleByGuide, guideOptions };
