'use strict';

// What does not hold on some runtimes. These tests are not run there, and listed with the reason. Mocha
// requires this file, whose hook skips them.

const BROWSER = 'in Chromium: the runtime has no part in it';
const FIXTURES = 'of the fixtures, not of the client';

const COMMON = {
  'fixtures.test.js': FIXTURES,
  'pgbouncer.test.js': 'of a server, run with Node.js',
  'client-parser-browser.test.js': BROWSER
};

/** By runtime: whole files, and tests by file and title, each with the reason. */
const LIMITS = {
  bun: {
    files: { ...COMMON, 'settle.test.js': 'its processes end before their work, with the faulty network in them' },
    tests: [
      ...['client-parser.test.js', 'errors.test.js'].map(file => [file, /every field/,
        'errors have a column and a line of their own: those of the server are in their place, but not enumerable']),
      ['typescript.test.js', /the fields of errors/, 'errors have a column and a line of their own'],
      ...['browser.test.js', 'demo.test.js'].map(file => [file, /Chromium/, BROWSER]),
      ['websocket.test.js', /holds a bounded amount/, 'bounded memory over its WebSocket was not seen to hold'],
      ...['errors.test.js', 'query-to.test.js'].map(file => [file, /stack with the async functions|error on row 50,000/,
        'stacks do not name the async functions that await']),
      ...['copy-stream.test.js', 'cursor-streams.test.js', 'http.test.js', 'bounds.test.js'].map(file => [file,
        /memory/, 'memory grows by more than the bounds, which are those of Node.js 20']),
      ['copy-writer.test.js', /refuses/, 'an error of a Transform in a pipeline is also thrown where nobody catches it'],
      ['liar.test.js', /direct TLS for another protocol/, 'its TLS server hangs up where ALPN has no protocol in common'],
      ['runtime.test.js', /./, 'navigator cannot be replaced for a test'],
      ['tls.test.js', /a self-signed one/, 'a self-signed certificate is not accepted as its own root'],
      ['transport.test.js', /keeps the program running/, 'sockets do not tell whether they keep the program running']
    ]
  },
  deno: {
    files: { ...COMMON },
    tests: [
      ...['copy-stream.test.js', 'cursor-streams.test.js', 'http.test.js', 'bounds.test.js'].map(file => [file,
        /memory/, 'memory grows by more than the bounds, which are those of Node.js 20, or is not told']),
      ...['browser.test.js', 'demo.test.js'].map(file => [file, /Chromium/, BROWSER]),
      ['client.test.js', /keeps it running/, 'a program that is given with -e finds its arguments elsewhere'],
      ['query-to.test.js', /error of a target that has failed/, 'a target that has failed counts as one that was closed'],
      ['replication.test.js', /process is killed/, 'a program that is given with -e finds its arguments elsewhere'],
      ['websocket.test.js', /goes over wss/, 'a program that is given with -e cannot import()'],
      ['tls.test.js', /leaves no key|shows neither/, 'a TLS socket shows its key and password to whoever inspects it'],
      ['tls.test.js', /an expired one/, 'an expired certificate is refused with another code'],
      ['tls.test.js', /indicates the host's name/, 'a TLS server is told of no name by null'],
      ['tls.test.js', /says what is wrong with it/, 'options of TLS that make no sense are ignored'],
      ['demo.test.js', /Ctrl-C/, 'a process that handles SIGINT ends by it all the same']
    ]
  }
};

const limits = LIMITS[process.env.EVERYWHERE_RUNTIME];

module.exports = {
  LIMITS,
  mochaHooks: limits && {
    beforeEach() {
      const test = this.currentTest;
      const limit = limits.tests.find(([file, title]) => test.file.endsWith(`/${file}`) && title.test(test.fullTitle()));
      if (limit === undefined) return;
      test.title += ` [${limit[2]}]`;
      this.skip();
    }
  }
};
