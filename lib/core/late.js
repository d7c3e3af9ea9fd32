'use strict';

/*
 * What connecting and querying may need is loaded by the first use, and by that alone, or all at once by `loadAll`.
 * Jest takes `require` away from a program when its test file is over, and the program may still be connecting then.
 */

const parts = [];

/**
 * @param {Object<string, function(): *>} loaders functions that require, by the names of properties
 * @returns {object} with properties that load when they are first read
 */
function late(loaders) {
  const part = {};
  for (const name of Object.keys(loaders)) {
    const get = () => {
      const value = loaders[name]();
      Object.defineProperty(part, name, { value, enumerable: true });
      return value;
    };
    Object.defineProperty(part, name, { get, enumerable: true, configurable: true });
  }
  parts.push(part);
  return part;
}

/** Loads everything at once. */
function loadAll() {
  for (const part of parts) Object.values(part); // which may add parts
}

module.exports = { late, loadAll };
