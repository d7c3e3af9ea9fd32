'use strict';

// What does not hold on some runtimes. These tests are not run there, and listed with the reason. Mocha
// requires this file, whose hook skips them.

const path = require('node:path');

const ARGUMENTS = 'a program that is given with -e counts as a module';
const BROWSER = 'in Chromium: the runtime has no part in it';
const BUSY = 'time in which the program was busy counts as that of its queries';
const COMMAND = 'of a command, which npx runs with Node.js';
const REGISTER = 'quickgres/pg/register throws';
const STACKS = 'stacks do not name the async functions that await';
const TIMERS = 'process.getActiveResourcesInfo tells of no timer';
const TLS_CODES = 'errors of TLS have other codes';

const COMMON = {
  'whole/house.test.js': 'of the sources: the runtime has no part in it',
  'whole/pgbouncer.test.js': 'of a server, run with Node.js',
  'types/index.test.js': COMMAND,
  'types/compile.slow.test.js': COMMAND,
  'types/literals.test.js': COMMAND,
  'types/random.slow.test.js': COMMAND,
  'types/scratch.test.js': COMMAND,
  'client-parser/browser.slow.test.js': BROWSER,
  'sockets/page.slow.test.js': BROWSER,
  'pg/register.test.js': REGISTER,
  'whole/ecosystem-pg.slow.test.js': REGISTER,
  ...Object.fromEntries(
    ['ecosystem-rows', 'ecosystem-service', 'ecosystem-services', 'ecosystem-timers', 'service'].map(name => [
      `whole/${name}.slow.test.js`,
      'of programs that Node.js runs'
    ])
  )
};

const COMMON_TESTS = [
  ...['client-parser/browser.slow.test.js', 'whole/demo.slow.test.js'].map(file => [file, /Chromium/, BROWSER]),
  ['whole/package.slow.test.js', /are required and imported/, REGISTER],
  ['whole/typescript.slow.test.js', /from quickgres\/pg\/register/, REGISTER],
  ['whole/readme.test.js', /prints what the README says|slow-queries/, 'console.log prints objects in another form']
];

/** By runtime: whole files of test/, and tests by file or folder and title, each with the reason. */
const LIMITS = {
  bun: {
    files: {
      ...COMMON,
      'http/http10.test.js': 'fetch takes a body that was cut off for a whole one',
      'pg/beside-tls.slow.test.js': TLS_CODES,
      'rules/stacks.test.js': STACKS,
      'whole/settle.test.js': 'its processes end before their work, with the faulty network in them'
    },
    tests: [
      ...COMMON_TESTS,
      ...['client-parser/index.test.js', 'core/protocol/errors.test.js'].map(file => [
        file,
        /every field/,
        'errors have a column and a line of their own: those of the server are in their place, but not enumerable'
      ]),
      ['whole/typescript.slow.test.js', /the fields of errors/, 'errors have a column and a line of their own'],
      ['sockets/', /holds a bounded amount/, 'bounded memory over its WebSocket was not seen to hold'],
      ...['core/protocol/errors.test.js', 'core/stream/query-to.test.js', 'http/respond.slow.test.js'].map(file => [
        file,
        /stack with the async functions|error on row 50,000/,
        STACKS
      ]),
      ['core/pipeline/errors.test.js', /showCaller|^again/, STACKS],
      ['core/pipeline/pipeline.test.js', /who awaits|shows its caller/, STACKS],
      ['core/pipeline/tracing.test.js', /the awaiting caller/, STACKS],
      ['core/protocol/errors.test.js', /shows? who awaits|stack of the call/, STACKS],
      ['rules/cancel.test.js', /shows the caller/, STACKS],
      ['whole/operators.test.js', /shows the caller/, STACKS],
      ['core/connection/connect.test.js', /shows who awaits/, STACKS],
      ['core/pipeline/errors.test.js', /no frames of its own/, STACKS],
      ['core/connection/index.test.js', /loads at most/, ARGUMENTS],
      ['sql/index.test.js', /loads neither/, ARGUMENTS],
      ['whole/pack.test.js', /loads two files/, ARGUMENTS],
      ['core/connection/dial.test.js', /too many begin at once/, 'a Unix socket that is full takes one more'],
      ['core/protocol/errors.test.js', /has frozen the prototypes/, 'its own modules assign to what is frozen'],
      ['core/rows/index.test.js', /loosely equal/, 'assert compares symbols in loose equality as well'],
      ['rules/causes.test.js', /a name that does not exist/, 'errors of name resolution have no hostname'],
      ['pool/connections.test.js', /what the program itself was busy with/, BUSY],
      ['sockets/stream.test.js', /cuts the WebSocket where/, TIMERS],
      ['cache/limit.test.js', /leaves no timer/, TIMERS],
      ['core/transaction.test.js', /leave no timer/, TIMERS],
      ['pool/connections.test.js', /leave no timer/, TIMERS],
      ['core/connection/tls.test.js', /rejectUnauthorized/, TLS_CODES],
      ['core/rows/index.test.js', /are printed/, 'console.table shows no columns of structs'],
      ...['pg/query.test.js', 'whole/postgres-table.test.js'].map(file => [
        file,
        /DatabaseError, whose numbers|right about: errors/,
        'errors have a column and a line of their own'
      ]),
      ['live/live.test.js', /WHATWG Request until/, 'no garbage collection can be asked for'],
      ...['core/stream/', 'core/cursor', 'core/requests/', 'http/', 'whole/bounds.slow.test.js'].map(file => [
        file,
        /memory/,
        'memory grows by more than the bounds, which are those of Node.js 20'
      ]),
      [
        'whole/liar.test.js',
        /direct TLS for another protocol/,
        'its TLS server hangs up where ALPN has no protocol in common'
      ],
      ['core/connection/targets.test.js', /Workers/, 'navigator cannot be replaced for a test'],
      ['core/connection/tls.test.js', /a self-signed one/, 'a self-signed certificate is not accepted as its own root'],
      [
        'core/connection/socket.test.js',
        /keeps the program running/,
        'sockets do not tell whether they keep the program running'
      ]
    ]
  },
  deno: {
    files: { ...COMMON, 'pg/beside-tls.slow.test.js': TLS_CODES },
    tests: [
      ...COMMON_TESTS,
      ['client-parser/index.test.js', /says where decoders are/, 'a program that is given with -e cannot import()'],
      [
        'pg/beside-streams.slow.test.js',
        /COPY TO STDOUT, as text|COPY goes from one|fails among the rows that are read/,
        'pg itself hangs in these sequences of pg-copy-streams and pg-cursor, or may'
      ],
      ['core/transaction.test.js', /without a descriptor/, 'its command has no -e: child_process makes eval of it'],
      ['rules/stacks.test.js', /without await|copyFrom/, STACKS],
      ['whole/pack.test.js', /one copy of|does on a server/, 'a program that is given with -e cannot import()'],
      ...['core/stream/', 'core/cursor', 'core/requests/', 'http/', 'whole/bounds.slow.test.js'].map(file => [
        file,
        /memory/,
        'memory grows by more than the bounds, which are those of Node.js 20, or is not told'
      ]),
      [
        'pool/connections.test.js',
        /what the program itself was busy with|though the program is always busy/,
        'it does not tell how long its event loop was idle'
      ],
      [
        'core/stream/query-to.test.js',
        /error of a target that has failed/,
        'a target that has failed counts as one that was closed'
      ],
      ['sockets/', /goes over wss/, 'a program that is given with -e cannot import()'],
      [
        'core/connection/tls.test.js',
        /leaves no key|shows neither/,
        'a TLS socket shows its key and password to whoever inspects it'
      ],
      ['core/connection/tls.test.js', /an expired one/, 'an expired certificate is refused with another code'],
      ['core/connection/tls.test.js', /indicates the host's name/, 'a TLS server is told of no name by null'],
      ['core/connection/tls.test.js', /says what is wrong with it/, 'options of TLS that make no sense are ignored'],
      ['whole/demo.test.js', /Ctrl-C/, 'a process that handles SIGINT ends by it all the same']
    ]
  }
};

const limits = LIMITS[process.env.EVERYWHERE_RUNTIME];

module.exports = {
  LIMITS,
  mochaHooks: limits && {
    beforeEach() {
      const test = this.currentTest;
      const place = path.relative(path.join(__dirname, '..'), test.file).replaceAll(path.sep, '/');
      const limit = limits.tests.find(([file, title]) => place.startsWith(file) && title.test(test.fullTitle()));
      if (limit === undefined) return;
      test.title += ` [${limit[2]}]`;
      this.skip();
    }
  }
};
