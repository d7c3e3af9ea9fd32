'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const net = require('node:net');
const tls = require('node:tls');
const { failed } = require('./attempt');
const { homeFile } = require('../config');

/*
 * libpq's TLS options for Node.js, and the data for channel binding.
 * https://www.postgresql.org/docs/current/libpq-ssl.html
 */

/**
 * Options of tls.connect that must not be overridden, and those that only the context may have, since a logged
 * TLSSocket shows its options.
 */
const NOT_PASSED_ON = [
  'socket',
  'host',
  'port',
  'path',
  'onread',
  'lookup',
  'ca',
  'cert',
  'key',
  'passphrase',
  'pfx',
  'crl',
  'dhparam',
  'ticketKeys'
];

/**
 * Makes the options for tls.connect, without the address. The option `ssl` verifies the certificate as tls.connect
 * does, unless `rejectUnauthorized` is false. Without `ssl`, verify-ca and verify-full verify it, and so do weaker
 * modes if there is a root certificate; only verify-full checks the name. `server` keeps the context
 * for cancel requests, since a new one is a seventh of their CPU.
 * @throws {ConnectionError} 08001 for files that are missing, unreadable or, with a key, readable by other users
 */
function tlsOptions(config, server) {
  const own = config.ssl ?? {};
  const { host, sslmode } = server;
  const full = sslmode === 'verify-full';
  if (full && !host) throw failed('sslmode verify-full needs a host name, not only an address');
  // The default of `ssl` is that of tls.connect, which obeys this variable.
  const verifies = { rejectUnauthorized: process.env.NODE_TLS_REJECT_UNAUTHORIZED !== '0', ...own }.rejectUnauthorized;
  const asNode = config.ssl !== undefined && verifies !== false;
  const ca = rootCertificates(config, sslmode);
  const byNames = full || (asNode && sslmode !== 'verify-ca');
  const check = own.checkServerIdentity ?? (byNames ? tls.checkServerIdentity : () => {});
  // RFC 6066 allows no addresses.
  const named = config.sslsni && host && !net.isIP(host) && !/^[/@]/.test(host);
  return {
    ...Object.fromEntries(Object.entries(own).filter(([name]) => !NOT_PASSED_ON.includes(name))),
    rejectUnauthorized: full || sslmode === 'verify-ca' || asNode || (!config.ssl && ca !== undefined),
    checkServerIdentity: (_, certificate) => check(own.servername || host, certificate),
    servername: own.servername ?? (named ? host : ''),
    ...(config.sslnegotiation === 'direct' && { ALPNProtocols: ['postgresql'] }),
    secureContext:
      own.secureContext ??
      (server.secureContext ??= tls.createSecureContext({
        minVersion: config.ssl_min_protocol_version,
        maxVersion: config.ssl_max_protocol_version,
        ...own,
        ca: ca ?? own.ca,
        ...clientCertificate(config)
      }))
  };
}

/**
 * @returns {string|Buffer|undefined} the certificate authorities; undefined for none or, if the certificate must be
 *   verified, for Node's. libpq's default file is used if `ssl` is not given
 */
function rootCertificates({ sslrootcert, ssl }, sslmode) {
  const named = sslrootcert === 'system' ? process.env.SSL_CERT_FILE : sslrootcert;
  if (named) return read(named, 'root certificate file');
  if (sslrootcert === 'system') {
    const system = tls.getCACertificates?.('system');
    return system?.length ? system : undefined;
  }
  if (ssl !== undefined) return undefined;
  const file = inHome('root.crt');
  if (fs.existsSync(file)) return read(file, 'root certificate file');
  if (!sslmode.startsWith('verify')) return undefined;
  throw failed(
    `root certificate file "${file}" does not exist: provide it, name another with sslrootcert, ` +
      "or use the system's trusted roots with sslrootcert=system"
  );
}

/**
 * @returns {{cert: Buffer, key: Buffer, passphrase: string|undefined}|{}} libpq's default files are used if `ssl` is
 * not given
 */
function clientCertificate({ sslcert, sslkey, sslcertmode, sslpassword, ssl }) {
  if (sslcertmode === 'disable') return {};
  const certFile = sslcert ?? inHome('postgresql.crt');
  if (sslcert === undefined && (ssl !== undefined || !fs.existsSync(certFile))) return {};
  const keyFile = sslkey ?? inHome('postgresql.key');
  const key = read(keyFile, 'private key file');
  const { uid, mode } = fs.statSync(keyFile);
  // libpq's rule: root may share keys with a group.
  if (process.platform !== 'win32' && mode & (uid === 0 ? 0o037 : 0o077)) {
    throw failed(
      `private key file "${keyFile}" has group or world access; permissions must be u=rw (0600) or ` +
        'less if owned by the current user, or u=rw,g=r (0640) or less if owned by root'
    );
  }
  return { cert: read(certFile, 'certificate file'), key, passphrase: sslpassword };
}

const inHome = name => homeFile(process.env, `.postgresql/${name}`, name);

/** @returns {Buffer} the content of a file that must be PEM: Node.js ignores any other certificate authority */
function read(file, what) {
  try {
    const bytes = fs.readFileSync(file);
    if (bytes.includes('-----BEGIN ')) return bytes;
  } catch ({ code }) {
    throw failed(`${what} "${file}" cannot be read: ${code}`);
  }
  throw failed(`${what} "${file}" is not PEM: it has no "-----BEGIN "`);
}

/*
 * Digests by object identifier in hex: of RSA, ECDSA, and the parameters of RSA-PSS. SHA-256 replaces MD5 and SHA-1,
 * which RSA-PSS uses without parameters (RFC 5929, section 4.1).
 */
const DIGESTS = {
  sha224: ['2a864886f70d01010e', '2a8648ce3d040301', '608648016503040204'],
  sha256: [
    '2a864886f70d010104',
    '2a864886f70d010105',
    '2a864886f70d01010b',
    '2a8648ce3d0401',
    '2a8648ce3d040302',
    '2a864886f70d01010a',
    '608648016503040201'
  ],
  sha384: ['2a864886f70d01010c', '2a8648ce3d040303', '608648016503040202'],
  sha512: ['2a864886f70d01010d', '2a8648ce3d040304', '608648016503040203']
};

/**
 * The data of tls-server-end-point: a hash of the server's certificate with the digest of its signature.
 * @returns {Buffer|null} null if the algorithm has no digest (Ed25519) or is unknown
 */
function endPoint(socket) {
  const raw = socket.getPeerCertificate()?.raw;
  if (raw === undefined) return null;
  const der = Buffer.from(raw); // Deno has a Uint8Array
  const digest = signatureDigest(der);
  return digest ? crypto.createHash(digest).update(der).digest() : null;
}

/**
 * Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm, signature }: the last known identifier is the
 * signature's, since only its bits follow.
 * @param {Buffer} der untrusted
 */
function signatureDigest(der) {
  let last = -1;
  let found;
  for (const digest of Object.keys(DIGESTS)) {
    for (const oid of DIGESTS[digest]) {
      const at = der.lastIndexOf(oid, undefined, 'hex');
      if (at > last) [last, found] = [at, digest];
    }
  }
  return found;
}

module.exports = { tlsOptions, endPoint, signatureDigest };
