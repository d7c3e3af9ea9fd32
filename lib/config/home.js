'use strict';

const { process, os, path } = require('#platform');

/**
 * The path of one of the files that libpq looks for in the user's home directory.
 *
 * @param {Object<string, string>} env the environment: HOME comes before what the system knows
 * @param {string} name the file, from the home directory on
 * @param {string} [windowsName] from the directory "postgresql" of the application data on, on Windows
 * @returns {string} its path
 */
function homeFile(env, name, windowsName = name) {
  if (process.platform === 'win32') return path.join(env.APPDATA ?? '', 'postgresql', windowsName);
  return path.join(env.HOME || os.homedir(), name);
}

module.exports = { homeFile };
