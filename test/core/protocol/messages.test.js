'use strict';

const assert = require('node:assert/strict');
const {
  decodeAuthentication,
  decodeBackendKeyData,
  decodeNegotiateProtocolVersion,
  decodeFields,
  decodeParameterStatus,
  decodeNotification,
  decodeCommandComplete,
  decodeCopyResponse,
  takeParameter
} = require('../../../lib/core/protocol/messages');
const { hex } = require('../../support');

/** Decodes a message that has other messages before and behind it in memory. */
function decode(decoder, bytes) {
  const before = hex("45 0000000f 'SFATAL' 00 00");
  const behind = hex("00 00 'neighbour' 00 'secret' 00 00");
  return decoder(Buffer.concat([before, bytes, behind]), before.length, before.length + bytes.length);
}

/** The message with its length word put right. */
function measured(bytes) {
  bytes.writeUInt32BE(bytes.length - 1, 1);
  return bytes;
}

/** Every beginning of a message must be refused: a byte that is missing is not taken from behind. */
function refusesEveryBeginning(decoder, digits, message) {
  const whole = hex(digits);
  decode(decoder, whole);
  for (let length = 5; length < whole.length; length++) {
    assert.throws(
      () => decode(decoder, measured(Buffer.from(whole.subarray(0, length)))),
      { name: 'ConnectionError', code: '08P01', message },
      `${length} bytes`
    );
  }
}

describe('decodeFields', () => {
  const ERROR = `45 00000041
    53 'FEHLER' 00  56 'ERROR' 00  43 '22012' 00  4d 'division by zero ä' 00  46 'int.c' 00  4c '841' 00 00`.replace(
    'ä',
    "' c3a4 '"
  );

  it('gives the fields of an ErrorResponse by name, with the severity that is not translated', () => {
    assert.deepEqual(decode(decodeFields, hex(ERROR)), {
      severity: 'ERROR',
      code: '22012',
      message: 'division by zero ä',
      file: 'int.c',
      line: '841'
    });
  });

  it('knows every field of the protocol', () => {
    const types = 'SVCMDHPpqWstcdnFLR';
    const bytes = Buffer.concat([
      hex('4e 00000000'),
      ...[...types].map(type => Buffer.from(`${type}is ${type}\0`)),
      hex('00')
    ]);
    assert.deepEqual(decode(decodeFields, bytes), {
      severity: 'is V',
      code: 'is C',
      message: 'is M',
      detail: 'is D',
      hint: 'is H',
      position: 'is P',
      internalPosition: 'is p',
      internalQuery: 'is q',
      where: 'is W',
      schema: 'is s',
      table: 'is t',
      column: 'is c',
      dataType: 'is d',
      constraint: 'is n',
      file: 'is F',
      line: 'is L',
      routine: 'is R'
    });
  });

  it('passes over fields it does not know', () => {
    assert.deepEqual(decode(decodeFields, hex("45 00000000 7a 'new' 00 43 '22012' 00 5f 'x' 00 00")), {
      code: '22012'
    });
  });

  it('takes a message without fields', () => {
    assert.deepEqual(decode(decodeFields, hex('45 00000005 00')), {});
  });

  it('refuses a message that is cut short anywhere', () => {
    refusesEveryBeginning(decodeFields, ERROR, /ErrorResponse of a wrong length/);
  });

  it('refuses bytes behind the terminator', () => {
    assert.throws(() => decode(decodeFields, hex("45 00000000 43 '1' 00 00 00")), { code: '08P01' });
  });
});

describe('decodeParameterStatus', () => {
  it('gives name and value', () => {
    assert.deepEqual(decode(decodeParameterStatus, hex("53 0000000f 'TimeZone' 00 'UTC' 00")), ['TimeZone', 'UTC']);
    assert.deepEqual(decode(decodeParameterStatus, hex('53 00000006 00 00')), ['', '']);
  });

  it('takes no client_encoding but UTF8', () => {
    assert.deepEqual(decode(decodeParameterStatus, hex("53 00000019 'client_encoding' 00 'UTF8' 00")), [
      'client_encoding',
      'UTF8'
    ]);
    assert.throws(() => decode(decodeParameterStatus, hex("53 0000001b 'client_encoding' 00 'LATIN1' 00")), {
      name: 'ConnectionError',
      message: /the server changed client_encoding to "LATIN1"/
    });
  });

  it('refuses a message that is cut short anywhere, or longer than its strings', () => {
    refusesEveryBeginning(decodeParameterStatus, "53 0000000f 'TimeZone' 00 'UTC' 00", /ParameterStatus with/);
    assert.throws(() => decode(decodeParameterStatus, hex("53 00000009 'a' 00 'b' 00 'c'")), {
      code: '08P01',
      message: /ParameterStatus of a wrong length/
    });
  });
});

describe('decodeNotification', () => {
  const NOTIFICATION = "41 00000010 00001267 'jobs' 00 '42' 00";

  it('gives process, channel and payload', () => {
    assert.deepEqual(decode(decodeNotification, hex(NOTIFICATION)), {
      processId: 4711,
      channel: 'jobs',
      payload: '42'
    });
    assert.deepEqual(decode(decodeNotification, hex('41 0000000a 00000001 00 00')), {
      processId: 1,
      channel: '',
      payload: ''
    });
  });

  it('refuses a message that is cut short anywhere, or longer than its strings', () => {
    refusesEveryBeginning(decodeNotification, NOTIFICATION, /NotificationResponse (with|of)/);
    assert.throws(() => decode(decodeNotification, hex("41 0000000b 00000001 00 00 'x'")), { code: '08P01' });
  });
});

describe('decodeCommandComplete', () => {
  const decodeTag = tag => decode(decodeCommandComplete, measured(Buffer.from(`C\0\0\0\0${tag}\0`)));

  it('gives the command and its row count', () => {
    for (const [tag, cmd, rowCount] of [
      ['SELECT 5', 'SELECT', 5],
      ['UPDATE 0', 'UPDATE', 0],
      ['DELETE 12345678901', 'DELETE', 12345678901],
      ['MERGE 3', 'MERGE', 3],
      ['COPY 7', 'COPY', 7],
      ['FETCH 1', 'FETCH', 1],
      ['MOVE 2', 'MOVE', 2]
    ])
      assert.deepEqual(decodeTag(tag), { cmd, oid: undefined, rowCount }, tag);
  });

  it('gives the oid of an INSERT', () => {
    assert.deepEqual(decodeTag('INSERT 0 3'), { cmd: 'INSERT', oid: '0', rowCount: 3 });
    assert.deepEqual(decodeTag('INSERT 16403 1'), { cmd: 'INSERT', oid: '16403', rowCount: 1 });
  });

  it('gives the whole tag of a command that counts no rows', () => {
    for (const tag of ['BEGIN', 'CREATE TABLE', 'DISCARD ALL', 'SELECT', 'ALTER TEXT SEARCH CONFIGURATION', '']) {
      assert.deepEqual(decodeTag(tag), { cmd: tag, oid: undefined, rowCount: 0 });
    }
  });

  it('gives the same for the same tag again, and another for one that only begins alike', () => {
    for (const tag of ['SELECT 1', 'SELECT 1', 'SELECT 12', 'SELECT 1', 'INSERT 0 1', 'INSERT 0 1']) {
      assert.equal(decodeTag(tag).rowCount, tag === 'SELECT 12' ? 12 : 1);
      assert.equal(decodeTag(tag).cmd, tag.split(' ')[0]);
    }
  });

  it('refuses a message that is cut short anywhere, or longer than its string', () => {
    refusesEveryBeginning(decodeCommandComplete, "43 0000000d 'SELECT 1' 00", /CommandComplete of a wrong length/);
    assert.throws(() => decodeTag('SELECT 1\0x'), { code: '08P01', message: /CommandComplete of a wrong length/ });
    assert.throws(() => decode(decodeCommandComplete, hex('43 00000004')), { code: '08P01' });
  });
});

describe('decodeCopyResponse', () => {
  it('gives the format of the whole and of each column', () => {
    assert.deepEqual(decode(decodeCopyResponse, hex('47 0000000b 01 0002 0000 0001')), {
      format: 1,
      columnCount: 2,
      columnFormats: [0, 1]
    });
    assert.deepEqual(decode(decodeCopyResponse, hex('57 00000007 00 0000')), {
      format: 0,
      columnCount: 0,
      columnFormats: []
    });
  });

  it('refuses a message that is cut short anywhere, or has another length than its count of columns', () => {
    refusesEveryBeginning(decodeCopyResponse, '48 0000000b 00 0002 0000 0000', /CopyResponse of a wrong length/);
    assert.throws(() => decode(decodeCopyResponse, hex('48 0000000b 00 0001 0000 0000')), { code: '08P01' });
    assert.throws(() => decode(decodeCopyResponse, hex('48 00000007 00 ffff')), { code: '08P01' });
  });
});

describe('takeParameter', () => {
  it('takes a thousand parameters, and each of them again', () => {
    const parameters = Object.create(null);
    const take = name =>
      decode((...message) => takeParameter(parameters, ...message), measured(hex(`53 00000000 '${name}' 00 'x' 00`)));
    for (let i = 0; i < 1000; i++) assert.deepEqual(take(`p${i}`), [`p${i}`, 'x']);
    take('p999');
    assert.throws(() => take('one more'), { code: '08P01', message: /more than 1000 parameters/ });
    assert.equal(Object.keys(parameters).length, 1000);
  });
});

describe('decodeAuthentication', () => {
  it('gives the code and what follows it', () => {
    const { code, data } = decode(decodeAuthentication, hex("52 0000000c 00000005 'salt'"));
    assert.deepEqual([code, data.toString()], [5, 'salt']);
    assert.equal(decode(decodeAuthentication, hex('52 00000008 00000000')).data.length, 0);
    refusesEveryBeginning(decodeAuthentication, '52 00000008 00000000', /Authentication/);
  });
});

describe('decodeBackendKeyData', () => {
  it('gives a copy of process id and secret', () => {
    const message = hex("4b 0000000c 00001267 'key!'");
    const key = decodeBackendKeyData(message, 0, message.length);
    message.fill(0);
    assert.deepEqual(key, hex("00001267 'key!'"));
    refusesEveryBeginning(decodeBackendKeyData, "4b 0000000c 00001267 'key!'", /BackendKeyData/);
  });

  it('refuses a secret of more than 256 bytes', () => {
    for (const [length, valid] of [
      [256, true],
      [257, false]
    ]) {
      const work = () => decode(decodeBackendKeyData, measured(Buffer.alloc(9 + length, 75)));
      if (valid) assert.equal(work().length, 4 + length);
      else assert.throws(work, { code: '08P01', message: /BackendKeyData of a wrong length/ });
    }
  });
});

describe('decodeNegotiateProtocolVersion', () => {
  it('gives the version, with or without its major number', () => {
    assert.deepEqual(decode(decodeNegotiateProtocolVersion, hex('76 0000000c 00030000 00000000')), 0x30000);
    assert.deepEqual(
      decode(decodeNegotiateProtocolVersion, hex("76 00000014 00000002 00000002 '_pq_.a' 00 'b' 00")),
      0x30002
    );
    refusesEveryBeginning(
      decodeNegotiateProtocolVersion,
      "76 00000014 00000002 00000002 '_pq_.a' 00 'b' 00",
      /NegotiateProtocolVersion/
    );
  });

  it('refuses more than it announces, and a count that it cannot hold', () => {
    for (const digits of ['76 0000000d 00030000 00000000 00', "76 0000000e 00030000 ffffffff 'x' 00"]) {
      assert.throws(() => decode(decodeNegotiateProtocolVersion, hex(digits)), { code: '08P01' });
    }
  });
});
