'use strict';

// A mocha reporter for the table: a line of JSON for each test as soon as it is over, so that a runtime that
// dies leaves what it has done.

const fs = require('node:fs');

class Reporter {
  /**
   * @param {import('mocha').Runner} runner
   * @param {{reporterOptions: {output: string}}} options output: the file that is written
   */
  constructor(runner, { reporterOptions: { output } }) {
    const tell = line => fs.appendFileSync(output, `${JSON.stringify(line)}\n`);
    const of = (test, result, more) => tell({ result, file: test.file, title: test.fullTitle(), ...more });
    runner.on('pass', test => of(test, 'passed'));
    runner.on('pending', test => of(test, 'skipped'));
    runner.on('fail', (test, error) => of(test, 'failed', { error: error.stack ?? String(error) }));
    runner.on('end', () => tell({ result: 'end' }));
  }
}

module.exports = Reporter;
