'use strict';

// Finds and reads the files of a program.

const fs = require('node:fs');
const path = require('node:path');

const SOURCE = /(?<!\.d)\.[cm]?[jt]sx?$/;
const SKIPPED = /^\.|^node_modules$/;

/**
 * @param {string[]} names of files and folders
 * @returns {{files: string[], folders: string[]}} each once, however many links lead to it
 * @throws {Error} if one of the names is neither
 */
function walk(names) {
  const files = [];
  const folders = [];
  const seen = new Set();
  const take = name => {
    const stats = fs.statSync(name);
    const real = fs.realpathSync(name);
    if (seen.has(real)) return true;
    seen.add(real);
    if (stats.isFile()) return files.push(name);
    if (!stats.isDirectory()) return false; // to read a pipe would wait for its writer
    folders.push(name);
    for (const each of fs.readdirSync(name, { withFileTypes: true })) {
      if (!(each.isDirectory() ? !SKIPPED.test(each.name) : SOURCE.test(each.name))) continue;
      try {
        take(path.join(name, each.name));
      } catch (error) {
        // It has gone meanwhile, or is a link to nothing or to itself, such as an editor's lock.
        if (error.code !== 'ENOENT' && error.code !== 'ELOOP') throw error;
      }
    }
    return true;
  };
  for (const name of names) if (!take(name)) throw new Error(`${name} is neither a file nor a folder`);
  return { files, folders };
}

/** @returns {string} a file without a byte order mark */
const readText = file => new TextDecoder().decode(fs.readFileSync(file));

module.exports = { readText, walk };
