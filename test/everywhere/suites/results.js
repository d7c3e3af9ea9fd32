'use strict';

// Reads the results of test runners: whether each test passed, by its title.

const fs = require('node:fs');
const path = require('node:path');

/** A message in one line. */
const brief = text =>
  String(text ?? '')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 300);

/** Readers by format: each adds `[title, undefined]` for a passed test, and `[title, message]` for a failed one. */
const READERS = {
  mocha(text, add) {
    const { passes, failures } = JSON.parse(text);
    for (const { fullTitle } of passes) add(fullTitle);
    for (const { fullTitle, err } of failures) add(fullTitle, brief(err.message));
  },
  jest(text, add) {
    for (const { name, message, assertionResults } of JSON.parse(text).testResults) {
      const file = path.basename(name);
      if (assertionResults.length === 0 && message) add(file, brief(message));
      for (const { fullName, status, failureMessages } of assertionResults) {
        if (status === 'passed' || status === 'failed')
          add(`${file}: ${fullName}`, status === 'failed' ? brief(failureMessages[0]) : undefined);
      }
    }
  },
  tap(text, add) {
    const line = /^(not )?ok \d+ (?:- )?(.*?)(?: # (SKIP|TODO).*)?$(?:\n {2}---\n([^]*?)\n {2}\.\.\.)?/gm;
    for (const [, failed, title, left, details] of text.matchAll(line)) if (!left) add(title, failed && brief(details));
  },
  junit(text, add) {
    const decode = given =>
      given.replace(
        /&(lt|gt|quot|apos|amp);/g,
        (_, name) => ({ lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' })[name]
      );
    for (const [, suite, name, body] of text.matchAll(
      /<testcase classname="([^"]*)" name="([^"]*)"[^>]*?(?:\/>|>([^]*?)<\/testcase>)/g
    )) {
      const [, failure] = /<failure[^>]*>([^]*?)<\/failure>/.exec(body ?? '') ?? [];
      add(decode(`${suite.replace(/\./g, ' ')} ${name}`), failure && brief(decode(failure)));
    }
  }
};

/**
 * @param {string} format
 * @param {string} place of a file, or of a folder of files
 * @returns {Map<string, string|undefined>} the message of a failed test by title; a title that is there twice gets a number
 */
function readResults(format, place) {
  const files = !fs.existsSync(place)
    ? []
    : fs.statSync(place).isFile()
      ? [place]
      : fs.readdirSync(place).map(name => path.join(place, name));
  const results = new Map();
  const add = (title, message) => {
    let name = title;
    for (let count = 2; results.has(name); count++) name = `${title} (${count})`;
    results.set(name, message);
  };
  for (const file of files) READERS[format](fs.readFileSync(file, 'utf8'), add);
  return results;
}

/** @returns {Array<{title: string, theirs: string, ours: string}>} tests whose outcome differs */
function differences(theirs, ours) {
  const outcome = (results, title) => (!results.has(title) ? 'did not run' : (results.get(title) ?? 'passed'));
  const passed = (results, title) => outcome(results, title) === 'passed';
  return [...new Set([...theirs.keys(), ...ours.keys()])]
    .filter(title => passed(theirs, title) !== passed(ours, title))
    .map(title => ({ title, theirs: outcome(theirs, title), ours: outcome(ours, title) }));
}

module.exports = { differences, readResults };
