'use strict';

const assert = require('node:assert/strict');
const { inspect } = require('node:util');
const { Client } = require('../..');
const { faked, hex, int16, message, rowDescription, dataRow, commandComplete, ANSWER } = require('../support');
const { seeded } = require('../support/kit');

/*
 * Servers that break the protocol: whatever they say, the connection ends, everything that was asked rejects,
 * and nothing is to be seen of bytes that are not those of a column.
 */

const DESCRIBED = ANSWER.described('a', 'b');
const ROW = dataRow('1', 'x');
const SECRET = message('N', "SNOTICE\0VNOTICE\0C00000\0Mthe neighbour's secret\0\0");

/** What comes before a description. */
const DESCRIBING = Buffer.concat([ANSWER.parseComplete, ANSWER.noParameters]);

/** Bytes that are no answer to a query with two columns, and what the error says of them. */
const NO_ANSWERS = [
  ['a DataRow of length 1', /type 0x44 announces 1 bytes/, DESCRIBED, ROW, hex('44 00000001 0002')],
  ['a DataRow of length 0', /type 0x44 announces 0 bytes/, DESCRIBED, hex('44 00000000')],
  ['a message of length 3', /type 0x5a announces 3 bytes/, hex('5a 00000003 49')],
  ['a message of more than a gibibyte', /announces 1073741825 bytes/, DESCRIBED, hex('44 40000001 0002')],
  ['a message of 4 GiB', /announces 4294967295 bytes/, DESCRIBED, hex('44 ffffffff 0002')],
  ['a negative length', /announces 2147483648 bytes/, hex('43 80000000')],

  ['a DataRow before BindComplete', /unexpected DataRow \(state /, ANSWER.parseComplete, ROW],
  ['a DataRow before everything', /unexpected DataRow \(state /, ROW],
  ['a DataRow of a statement without rows', /unexpected DataRow \(state /, ANSWER.described(), ROW],
  ['a DataRow behind CommandComplete', /unexpected DataRow \(state /, DESCRIBED, commandComplete('SELECT 0'), ROW],
  ['CopyData before BindComplete', /unexpected CopyData \(state /, message('d', 'x')],
  [
    'BindComplete before the description, twice',
    /unexpected BindComplete \(state /,
    ANSWER.parseComplete,
    ANSWER.bindComplete,
    ANSWER.bindComplete
  ],
  ['a second BindComplete', /unexpected BindComplete \(state /, DESCRIBED, ANSWER.bindComplete],
  ['ParseComplete behind BindComplete', /unexpected ParseComplete \(state /, DESCRIBED, ANSWER.parseComplete],
  ['a second description', /unexpected RowDescription \(state /, DESCRIBED, rowDescription('c')],
  ['NoData behind BindComplete', /unexpected NoData \(state /, DESCRIBED, ANSWER.noData],
  ['CommandComplete before BindComplete', /unexpected CommandComplete \(state /, commandComplete('SELECT 1')],
  [
    'CommandComplete twice',
    /unexpected CommandComplete \(state /,
    DESCRIBED,
    commandComplete('SELECT 0'),
    commandComplete('SELECT 0')
  ],
  ['EmptyQueryResponse before BindComplete', /unexpected EmptyQueryResponse \(state /, message('I')],
  ['PortalSuspended', /unexpected PortalSuspended \(state /, DESCRIBED, message('s')],
  ['CopyInResponse', /unexpected CopyInResponse \(state /, DESCRIBED, message('G', Buffer.from([0]), int16(0))],
  ['CopyBothResponse', /unexpected CopyBothResponse \(state /, DESCRIBED, message('W', Buffer.from([0]), int16(0))],
  [
    'CopyOutResponse before BindComplete',
    /unexpected CopyOutResponse \(state /,
    message('H', Buffer.from([0]), int16(0))
  ],
  ['Authentication', /unexpected AuthenticationRequest \(state /, message('R', 3)],
  ['BackendKeyData', /unexpected BackendKeyData \(state /, message('K', 1, 2)],
  ['FunctionCallResponse', /unexpected a message of type 0x56 \(state /, message('V', -1)],
  ['a message of no type', /unexpected a message of type 0x3f/, DESCRIBED, message('?', 'x')],
  ['a message of type 0', /unexpected a message of type 0x00/, DESCRIBED, message('\0')],
  ['a message of type 255', /unexpected a message of type 0xff/, hex('ff 00000004')],

  ['ReadyForQuery at once', /unexpected ReadyForQuery \(state /, ANSWER.ready],
  ['ReadyForQuery among the rows', /unexpected ReadyForQuery \(state /, DESCRIBED, ROW, ANSWER.ready],
  [
    'ReadyForQuery of an unknown status',
    /ReadyForQuery of a wrong kind/,
    DESCRIBED,
    commandComplete('SELECT 0'),
    message('Z', 'X')
  ],
  [
    'ReadyForQuery without a status',
    /ReadyForQuery of a wrong kind/,
    DESCRIBED,
    commandComplete('SELECT 0'),
    message('Z')
  ],
  ['a long ReadyForQuery', /ReadyForQuery of a wrong kind/, DESCRIBED, commandComplete('SELECT 0'), message('Z', 'II')],

  [
    'a RowDescription cut short',
    /RowDescription of a wrong length/,
    DESCRIBING,
    hex("54 00000010 0001 'a' 00 00000000 0000 0000")
  ],
  ['a RowDescription without a count', /RowDescription of a wrong length/, DESCRIBING, hex('54 00000005 00')],
  [
    'a RowDescription of 65,535 columns that are not there',
    /RowDescription of a wrong length/,
    DESCRIBING,
    hex("54 00000008 ffff 'a' 00")
  ],
  [
    'a RowDescription longer than its columns',
    /RowDescription of a wrong length/,
    DESCRIBING,
    hex('54 00000008 0000 0000')
  ],
  [
    'a name without an end',
    /RowDescription of a wrong length/,
    DESCRIBING,
    hex("54 0000001a 0001 'abcdefghijklmnopqrst'")
  ],
  ['a CommandComplete without an end', /CommandComplete of a wrong length/, DESCRIBED, message('C', 'SELECT 0')],
  ['an empty CommandComplete', /CommandComplete of a wrong length/, DESCRIBED, message('C')],
  ['an ErrorResponse cut short', /ErrorResponse of a wrong length/, message('E', 'SERROR')],
  ['an empty ErrorResponse', /ErrorResponse of a wrong length/, message('E')],
  ['a NoticeResponse cut short', /of a wrong length/, message('N', 'M')],
  ['a ParameterStatus cut short', /ParameterStatus with an unterminated string/, message('S', 'name\0value')],
  ['a NotificationResponse cut short', /NotificationResponse with an unterminated string/, message('A', 'x')],
  ['a CopyData in answer to a SELECT', /unexpected CopyData \(state /, DESCRIBED, message('d', Buffer.from('x'))],
  ['no ParseComplete', /unexpected ParameterDescription \(state /, ANSWER.described('a').subarray(5)],
  [
    'two ErrorResponses',
    /unexpected ErrorResponse \(state Failed\)/,
    ANSWER.error('22012', 'x'),
    ANSWER.error('22012', 'x')
  ],
  [
    'a CopyOutResponse of more columns than it has',
    /CopyResponse of a wrong length/,
    ANSWER.described(),
    message('H', Buffer.from([0]), int16(2), int16(0))
  ]
];

/** Rows that do not hold what they say, of a query with two columns. */
const BAD_ROWS = [
  ['a column that is longer than the row', hex("44 00000012 0002 00000001 '1' 00000010 'x' 00 00")],
  ['a column of 2 GiB', hex("44 00000010 0002 00000001 '1' 7fffffff 'x'")],
  ['a column of length -2', hex("44 00000010 0002 00000001 '1' fffffffe 'x'")],
  ['a column of length -2^31', hex("44 00000010 0002 00000001 '1' 80000000 'x'")],
  ['one column too few', dataRow('1')],
  ['one column too many', dataRow('1', 'x', 'y')],
  ['no columns', dataRow()],
  ['a count of columns that are not there', hex("44 0000000b 0002 00000001 '1'")],
  ['a length word cut off', hex("44 0000000d 0002 00000001 '1' 0000")],
  ['no count', hex('44 00000004')],
  ['half a count', hex('44 00000005 00')]
];

/** What a server does that answers the first request so, and then waits for its client to go away. */
const saying =
  (...answer) =>
  async conversation => {
    await conversation.request();
    conversation.say(...answer, SECRET);
    await conversation.closed;
  };

describe('A hostile server', () => {
  for (const [name, pattern, ...answer] of NO_ANSWERS) {
    it(`ends the connection and rejects everything with ${name}`, async () => {
      let conversation;
      const client = await faked(given => {
        conversation = given;
        return saying(...answer)(given);
      });
      const notices = [];
      client.on('notice', notice => notices.push(notice));
      const pending = [
        client.query('SELECT 1 AS a, 2 AS b'),
        client.query('SELECT 3'),
        client.simpleQuery('SELECT 4'),
        client.batch(['SELECT 5']),
        client.transaction(() => {}),
        client.sync()
      ];
      for (const promise of pending) {
        const error = await promise.then(
          value => assert.fail(inspect(value)),
          error => error
        );
        assert.equal(error.name, 'ConnectionError', inspect(error));
        assert.equal(error.code, '08P01');
        assert.match(error.message, /^the connection was lost: protocol violation: /);
        assert.match(error.message, pattern);
        assert.doesNotMatch(inspect(error), /secret/);
      }
      assert.equal(client.state, 'closed');
      assert.equal((await client.closed).code, '08P01');
      await conversation.closed;
      assert.deepEqual(notices, [], 'nothing is read any more');
      await assert.rejects(client.query('SELECT 1'), { code: '08003' });
    });
  }

  for (const [name, row] of BAD_ROWS) {
    it(`shows nothing of a row's neighbours with ${name}`, async () => {
      for (const format of [Client.STRING, Client.BINARY]) {
        const client = await faked(
          saying(DESCRIBED, ROW, row, dataRow('the', 'secret'), commandComplete('SELECT 3'), ANSWER.ready)
        );
        const looks = [
          row => row[1],
          row => row.b,
          row => row.get('b'),
          row => row.toObject(),
          row => row.toArray(),
          row => JSON.stringify(row),
          row => inspect(row),
          row => [...row]
        ];
        // Whether it is found at once or when somebody looks, it is found.
        const error = await client.query('SELECT 1 AS a, 2 AS b', [], format).then(
          result => {
            for (const look of looks) {
              assert.throws(
                () => look(result.rows[1]),
                error => {
                  assert.doesNotMatch(inspect(error), /secret/);
                  return error.code === '08P01';
                }
              );
            }
            return { code: '08P01' };
          },
          error => error
        );
        assert.equal(error.code, '08P01', inspect(error));
      }
    });
  }

  it('ends the connection with ReadyForQuery that nobody asked for', async () => {
    const client = await faked(async conversation => conversation.say(ANSWER.ready));
    const error = await client.closed;
    assert.equal(error.code, '08P01');
    assert.match(error.message, /protocol violation: ReadyForQuery without a request$/);
  });

  it('ends the connection with any answer that nobody asked for', async () => {
    for (const [bytes, pattern] of [
      [ROW, /DataRow without a request/],
      [message('d', 'x'), /CopyData without a request/],
      [commandComplete('SELECT 1'), /CommandComplete without a request/],
      [ANSWER.parseComplete, /ParseComplete without a request/],
      [message('R', 0), /AuthenticationRequest without a request/],
      [hex('44 00000001'), /announces 1 bytes/]
    ]) {
      const client = await faked(async conversation => conversation.say(bytes));
      const error = await client.closed;
      assert.equal(error.code, '08P01');
      assert.match(error.message, pattern);
    }
  });

  it("that reports an error nobody asked for is about to go: its error is the connection's", async () => {
    const client = await faked(async conversation =>
      conversation.say(message('E', 'SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0'))
    );
    assert.equal((await client.closed).code, '57P01');
  });

  it('that answers twice gives the second answer to nobody', async () => {
    const answer = [DESCRIBED, ROW, commandComplete('SELECT 1'), ANSWER.ready];
    const client = await faked(saying(...answer, ...answer));
    const { rows } = await client.query('SELECT 1 AS a, 2 AS b');
    assert.equal(rows.length, 1);
    assert.equal((await client.closed).code, '08P01');
  });

  it('that goes away in the middle of a message rejects everything', async () => {
    for (const bytes of [DESCRIBED.subarray(0, 3), DESCRIBED.subarray(0, 20), hex('44 00010000 0002 00008000')]) {
      const client = await faked(async conversation => {
        await conversation.request();
        conversation.socket.end(bytes);
      });
      const pending = [client.query('SELECT 1 AS a, 2 AS b'), client.query('SELECT 1')];
      for (const promise of pending)
        await assert.rejects(promise, { name: 'ConnectionError', code: '08006', sent: true });
    }
  });

  it('with random bytes in its answer breaks nothing but its connection', async function () {
    this.timeout(30_000);
    const { below: random } = seeded(271828);
    const whole = Buffer.concat([
      DESCRIBED,
      ROW,
      dataRow(null, 'y'),
      commandComplete('SELECT 2'),
      ANSWER.ready,
      ANSWER.described(),
      commandComplete('BEGIN'),
      ANSWER.ready
    ]);
    for (let run = 0; run < 100; run++) {
      const bytes = Buffer.from(whole);
      for (let i = random(3); i >= 0; i--) {
        bytes[random(bytes.length)] = random(4) ? random(256) : random(2) * 255;
      }
      const client = await faked(async conversation => {
        await conversation.request();
        await conversation.request();
        conversation.socket.end(bytes);
      });
      const results = await Promise.allSettled([client.query('SELECT 1 AS a, 2 AS b'), client.query('BEGIN')]);
      for (const { value, reason } of results) {
        if (reason !== undefined) {
          assert.match(reason.name, /^(ConnectionError|PostgresError)$/, inspect(reason));
          continue;
        }
        try {
          value.rows.map(row => inspect(row.toArray()));
        } catch (error) {
          assert.equal(error.code, '08P01', inspect(error));
        }
      }
      await client.closed;
      client.destroy();
    }
  });
});
