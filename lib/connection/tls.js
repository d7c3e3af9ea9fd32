'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const net = require('node:net');
const tls = require('node:tls');
const { failed } = require('./attempt');
const { homeFile } = require('../config');

/*
 * What libpq's options mean for Node's TLS, and what a certificate gives for channel binding.
 * https://www.postgresql.org/docs/current/libpq-ssl.html
 */

/**
 * What of tls.connect's options must not be overridden, and what only the context gets to see: the other options can be
 * found again in a TLSSocket that somebody logs.
 */
const NOT_PASSED_ON = [
  'socket', 'host', 'port', 'path', 'onread', 'lookup',
  'ca', 'cert', 'key', 'passphrase', 'pfx', 'crl', 'dhparam', 'ticketKeys'
];

/**
 * Makes the options for tls.connect, apart from where to.
 *
 * With the option `ssl`, the server's certificate is verified as tls.connect does it, against Node's own or the
 * given authorities and with its names, unless `rejectUnauthorized` is false. Without `ssl`, it is verified as
 * libpq does it: when sslmode is verify-ca or verify-full, and also under the weaker modes when there is a root
 * certificate to verify it with; its names count under verify-full only. In either case verify-ca and verify-full
 * mean what they mean in libpq.
 *
 * @param {object} config resolved
 * @param {{host: string|undefined, sslmode: string}} target
 * @returns {object}
 * @throws {ConnectionError} 08001 for files that are missing, unreadable or, with a key, readable by others
 */
function tlsOptions(config, target) {
  const own = config.ssl ?? {};
  const { host, sslmode } = target;
  const full = sslmode === 'verify-full';
  if (full && !host) throw failed('sslmode verify-full needs a host name, not only an address');
  const asNode = config.ssl !== undefined && own.rejectUnauthorized !== false;
  const ca = rootCertificates(config, sslmode);
  const byNames = full || (asNode && sslmode !== 'verify-ca');
  const check = own.checkServerIdentity ?? (byNames ? tls.checkServerIdentity : () => undefined);
  // An address is no name to be indicated (RFC 6066).
  const named = config.sslsni && host && !net.isIP(host) && !/^[/@]/.test(host);
  return {
    ...Object.fromEntries(Object.entries(own).filter(([name]) => !NOT_PASSED_ON.includes(name))),
    rejectUnauthorized: full || sslmode === 'verify-ca' || asNode || (!config.ssl && ca !== undefined),
    checkServerIdentity: (_, certificate) => check(own.servername ?? host, certificate),
    servername: own.servername ?? (named ? host : ''),
    ...config.sslnegotiation === 'direct' && { ALPNProtocols: ['postgresql'] },
    secureContext: own.secureContext ?? tls.createSecureContext({
      minVersion: config.ssl_min_protocol_version,
      maxVersion: config.ssl_max_protocol_version,
      ...own,
      ...ca !== undefined && { ca },
      ...clientCertificate(config)
    })
  };
}

/**
 * @returns {string|Buffer|undefined} the certificates that the server's may be signed with; undefined for none, or,
 *   where verification is asked for, Node's own. libpq's default file counts where `ssl` is not given
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
  throw failed(`root certificate file "${file}" does not exist: provide it, name another with sslrootcert, ` +
    'or use the system\'s trusted roots with sslrootcert=system');
}

/**
 * @returns {{cert: Buffer, key: Buffer, passphrase: string|undefined}|{}} the client's own certificate and its key;
 *   libpq's default files count where `ssl` is not given
 */
function clientCertificate({ sslcert, sslkey, sslcertmode, sslpassword, ssl }) {
  if (sslcertmode === 'disable') return {};
  const certFile = sslcert ?? inHome('postgresql.crt');
  if (sslcert === undefined && (ssl !== undefined || !fs.existsSync(certFile))) return {};
  const keyFile = sslkey ?? inHome('postgresql.key');
  const key = read(keyFile, 'private key file');
  const { uid, mode } = fs.statSync(keyFile);
  // libpq's rule: root may share keys with a group; anybody else's we could only read if it is ours.
  if (process.platform !== 'win32' && mode & (uid === 0 ? 0o037 : 0o077)) {
    throw failed(`private key file "${keyFile}" has group or world access; permissions must be u=rw (0600) or ` +
      'less if owned by the current user, or u=rw,g=r (0640) or less if owned by root');
  }
  return { cert: read(certFile, 'certificate file'), key, passphrase: sslpassword };
}

/** @returns {string} one of libpq's default files */
const inHome = name => homeFile(process.env, `.postgresql/${name}`, name);

/** @returns {Buffer} the content of a file that must be there */
function read(file, what) {
  try {
    return fs.readFileSync(file);
  } catch ({ code }) {
    throw failed(`${what} "${file}" cannot be read: ${code}`);
  }
}

/*
 * The digest of each object identifier, whose contents are in hex: of RSA, of ECDSA, and of RSA-PSS, where it stands in
 * the parameters. MD5 and SHA-1, which RSA-PSS has without parameters, stand for SHA-256 (RFC 5929, section 4.1).
 */
const DIGESTS = {
  sha224: ['2a864886f70d01010e', '2a8648ce3d040301', '608648016503040204'],
  sha256: [
    '2a864886f70d010104', '2a864886f70d010105', '2a864886f70d01010b', '2a8648ce3d0401', '2a8648ce3d040302',
    '2a864886f70d01010a', '608648016503040201'
  ],
  sha384: ['2a864886f70d01010c', '2a8648ce3d040303', '608648016503040202'],
  sha512: ['2a864886f70d01010d', '2a8648ce3d040304', '608648016503040203']
};

/**
 * The tls-server-end-point channel binding: a hash of the server's certificate, with the digest that it is
 * signed with.
 * @param {tls.TLSSocket} socket
 * @returns {Buffer|null} null when the algorithm has none (Ed25519) or is unknown
 */
function endPoint(socket) {
  const { raw } = socket.getPeerCertificate();
  if (raw === undefined) return null;
  const der = Buffer.from(raw); // Deno gives a Uint8Array
  const digest = signatureDigest(der);
  return digest === undefined ? null : crypto.createHash(digest).update(der).digest();
}

/**
 * Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm, signature }: the last identifier that is known is that
 * of the signature, as nothing but its bits is behind it.
 * @param {Buffer} der untrusted
 * @returns {string|undefined} the digest for its channel binding; undefined where there is none
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
