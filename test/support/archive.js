'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { packInto } = require('../../.ci/pack');

let made; // the folder of this process

/**
 * An empty project with nothing installed but what is published. It is made once a process, and removed with it.
 * @returns {string} its folder
 */
function archived() {
  if (made !== undefined) return made;
  made = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'archived-')));
  process.once('exit', () => fs.rmSync(made, { recursive: true, force: true }));
  packInto(path.join(made, 'node_modules/quickgres'));
  fs.writeFileSync(path.join(made, 'package.json'), '{ "name": "empty", "private": true }');
  return made;
}

/**
 * Saves a recipe in the project, as its reader does.
 * @param {...string} names of files of test/recipes
 * @returns {string} the path of the first one
 */
function saved(...names) {
  const folder = archived();
  for (const name of names)
    fs.copyFileSync(path.join(folder, 'node_modules/quickgres/test/recipes', name), path.join(folder, name));
  return path.join(folder, names[0]);
}

module.exports = { archived, saved };
