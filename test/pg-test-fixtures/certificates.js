'use strict';

// Certificate authorities, and good and bad certificates of theirs, made as they are needed.

const crypto = require('node:crypto');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { promisify } = require('node:util');

const generateKeyPair = promisify(crypto.generateKeyPair);
const { subtle } = crypto.webcrypto;

/** Signature algorithms: how the key is made, and what Web Cryptography calls it. */
const ALGORITHMS = {
  'ecdsa-sha256': ec('P-256', 'SHA-256'),
  'ecdsa-sha384': ec('P-384', 'SHA-384'),
  'ecdsa-sha512': ec('P-521', 'SHA-512'),
  'rsa-sha1': rsa('RSASSA-PKCS1-v1_5', 'SHA-1'),
  'rsa-sha256': rsa('RSASSA-PKCS1-v1_5', 'SHA-256'),
  'rsa-sha384': rsa('RSASSA-PKCS1-v1_5', 'SHA-384'),
  'rsa-sha512': rsa('RSASSA-PKCS1-v1_5', 'SHA-512'),
  'rsa-pss-sha256': rsa('RSA-PSS', 'SHA-256'),
  'rsa-pss-sha384': rsa('RSA-PSS', 'SHA-384'),
  'rsa-pss-sha512': rsa('RSA-PSS', 'SHA-512'),
  ed25519: { key: ['ed25519', {}], algorithm: { name: 'Ed25519' } }
};

/** Algorithm with a key on an elliptic curve. */
function ec(namedCurve, hash) {
  return { key: ['ec', { namedCurve }], algorithm: { name: 'ECDSA', namedCurve, hash } };
}

/** Algorithm with an RSA key. */
function rsa(name, hash) {
  const salt = name === 'RSA-PSS' ? { saltLength: Number(hash.slice(4)) / 8 } : {};
  return { key: ['rsa', { modulusLength: 2048 }], algorithm: { name, hash, ...salt } };
}

const DAY = 86400000;

/**
 * The X.509 library, loaded only when there are certificates to make.
 * @returns {typeof import('@peculiar/x509')}
 */
function library() {
  require('reflect-metadata');
  return require('@peculiar/x509');
}

/**
 * Makes a key pair.
 * @param {string} name of its algorithm
 * @returns {Promise<{private: crypto.KeyObject, pair: CryptoKeyPair, algorithm: object}>} for Node and for
 *   the X.509 library
 */
async function makeKeys(name) {
  const {
    key: [type, options],
    algorithm
  } = ALGORITHMS[name] ?? unknown(name);
  const { privateKey, publicKey } = await generateKeyPair(type, options);
  const webKey = (key, form, use) =>
    subtle.importKey(form, key.export({ type: form, format: 'der' }), algorithm, true, [use]);
  const pair = {
    privateKey: await webKey(privateKey, 'pkcs8', 'sign'),
    publicKey: await webKey(publicKey, 'spki', 'verify')
  };
  return { private: privateKey, pair, algorithm };
}

/** @param {string} name of no algorithm */
function unknown(name) {
  const known = Object.keys(ALGORITHMS).join(', ');
  throw new RangeError(`no signature algorithm ${JSON.stringify(name)}: one of ${known}`);
}

/**
 * Makes a certificate and its key.
 * @param {object} options as `issue` has them
 * @param {{certificate: object, keys: object} | undefined} issuer undefined: signed by its own key
 * @returns {Promise<{cert: string, key: string, certificate: object, keys: object}>} PEM, and the objects for
 *   issuing with
 */
async function makeCertificate(
  {
    commonName,
    names = [],
    addresses = [],
    usage = 'server',
    authority = false,
    passphrase,
    algorithm = 'ecdsa-sha256',
    notBefore = new Date(Date.now() - DAY),
    notAfter = new Date(Date.now() + 30 * DAY)
  },
  issuer
) {
  const x509 = library();
  const keys = await makeKeys(algorithm);
  const subject = new x509.Name([{ CN: [commonName] }]).toString();
  const { keyCertSign, cRLSign, digitalSignature, keyEncipherment } = x509.KeyUsageFlags;
  const extensions = [new x509.BasicConstraintsExtension(authority, undefined, true)];
  if (authority) {
    extensions.push(new x509.KeyUsagesExtension(keyCertSign | cRLSign, true));
  } else {
    extensions.push(new x509.KeyUsagesExtension(digitalSignature | keyEncipherment, true));
    const { serverAuth, clientAuth } = x509.ExtendedKeyUsage;
    extensions.push(new x509.ExtendedKeyUsageExtension([usage === 'client' ? clientAuth : serverAuth]));
  }
  const alternatives = [
    ...names.map(value => ({ type: 'dns', value })),
    ...addresses.map(value => ({ type: 'ip', value }))
  ];
  if (alternatives.length) extensions.push(new x509.SubjectAlternativeNameExtension(alternatives));
  extensions.push(await x509.SubjectKeyIdentifierExtension.create(keys.pair.publicKey));
  if (issuer) extensions.push(await x509.AuthorityKeyIdentifierExtension.create(issuer.keys.pair.publicKey));
  const signer = issuer?.keys ?? keys;
  const certificate = await x509.X509CertificateGenerator.create({
    // A positive number, of which no two are the same.
    serialNumber: '4' + crypto.randomBytes(15).toString('hex'),
    subject,
    issuer: issuer?.certificate.subject ?? subject,
    notBefore,
    notAfter,
    extensions,
    publicKey: keys.pair.publicKey,
    signingKey: signer.pair.privateKey,
    signingAlgorithm: signer.algorithm
  });
  const cipher = passphrase === undefined ? {} : { cipher: 'aes-256-cbc', passphrase };
  return {
    cert: certificate.toString('pem') + '\n',
    key: keys.private.export({ type: 'pkcs8', format: 'pem', ...cipher }),
    certificate,
    keys
  };
}

/** The PEM of a certificate. */
const pem = ({ cert, key }) => ({ cert, key });

/** What the servers of this machine are called. */
const HERE = { names: ['localhost'], addresses: ['127.0.0.1', '::1'] };

/** An authority and certificates of it, good and bad ones, all as PEM. */
class Certificates {
  #authority;

  /** @param {{algorithm: string}} options */
  constructor({ algorithm }) {
    /** Name of the signature algorithm. */
    this.algorithm = algorithm;
  }

  /** Makes the certificates. */
  async make() {
    const { algorithm } = this;
    const issue = options => this.issue(options);
    this.#authority = await makeCertificate({ commonName: 'Test authority', authority: true, algorithm });
    /**
     * @type {{cert: string, key: string}} the authority's certificate; `ca.cert` is what clients are to trust
     */
    this.ca = pem(this.#authority);
    /** @type {{cert: string, key: string}} for localhost, 127.0.0.1 and ::1 */
    this.server = await issue({ commonName: 'localhost', ...HERE });
    /** @type {{cert: string, key: string}} as `server`, but expired yesterday */
    this.expired = await issue({
      commonName: 'localhost',
      ...HERE,
      notBefore: new Date(Date.now() - 9 * DAY),
      notAfter: new Date(Date.now() - DAY)
    });
    /** @type {{cert: string, key: string}} as `server`, but for another host */
    this.wrongName = await issue({
      commonName: 'other.example',
      names: ['other.example'],
      addresses: ['192.0.2.1']
    });
    /** @type {{cert: string, key: string}} for localhost, signed by itself */
    this.selfSigned = pem(await makeCertificate({ commonName: 'localhost', ...HERE }));
    const stranger = await makeCertificate({ commonName: 'Unknown authority', authority: true });
    /**
     * @type {{cert: string, key: string, ca: string}} for localhost, of an authority (`ca`) that nobody
     * trusts
     */
    this.unknownAuthority = {
      ...pem(await makeCertificate({ commonName: 'localhost', ...HERE }, stranger)),
      ca: stranger.cert
    };
    /** @type {{cert: string, key: string}} of the client `postgres` */
    this.client = await issue({ commonName: 'postgres', usage: 'client' });
    return this;
  }

  /**
   * Makes a certificate of this authority.
   * @param {object} options
   * @param {string} options.commonName the subject's CN: for a client the name of its role
   * @param {string[]} [options.names] DNS names (subjectAltName)
   * @param {string[]} [options.addresses] IP addresses (subjectAltName)
   * @param {'server' | 'client'} [options.usage] server unless given
   * @param {string} [options.algorithm] the kind of its key, ecdsa-sha256 unless given; the signature is the
   *   authority's
   * @param {Date} [options.notBefore] yesterday unless given
   * @param {Date} [options.notAfter] in 30 days unless given
   * @param {string} [options.passphrase] encrypts the key
   * @returns {Promise<{cert: string, key: string}>} PEM
   */
  async issue(options) {
    const wrong = options.addresses?.find(address => !net.isIP(address));
    if (wrong !== undefined) throw new TypeError(`not an IP address: ${wrong}`);
    return pem(await makeCertificate(options, this.#authority));
  }

  /**
   * Writes certificates and keys to files NAME.crt and NAME.key (readable by their owner only, as libpq wants
   * it).
   * @param {string} directory made if it is missing
   * @param {Object<string, {cert: string, key: string}>} [what] by file name; unless given, all that belong
   *   to this set
   * @returns {Object<string, {cert: string, key: string}>} paths, by the same names
   */
  write(directory, what = this.#all()) {
    fs.mkdirSync(directory, { recursive: true });
    const paths = {};
    for (const [name, { cert, key }] of Object.entries(what)) {
      paths[name] = { cert: path.join(directory, `${name}.crt`), key: path.join(directory, `${name}.key`) };
      fs.writeFileSync(paths[name].cert, cert);
      fs.writeFileSync(paths[name].key, key, { mode: 0o600 });
    }
    return paths;
  }

  #all() {
    const { ca, server, expired, wrongName, selfSigned, unknownAuthority, client } = this;
    return { ca, server, expired, wrongName, selfSigned, unknownAuthority, client };
  }
}

const made = new Map();

/**
 * Makes an authority and certificates of it, see {@link Certificates}. Those of one algorithm are made once
 * per process.
 * @param {object} [options]
 * @param {string} [options.algorithm] how they are signed: ecdsa-sha256 (unless given), ecdsa-sha384,
 *   ecdsa-sha512, rsa-sha1, rsa-sha256, rsa-sha384, rsa-sha512, rsa-pss-sha256, rsa-pss-sha384,
 *   rsa-pss-sha512, ed25519
 * @returns {Promise<Certificates>}
 */
function makeCertificates({ algorithm = 'ecdsa-sha256' } = {}) {
  if (!made.has(algorithm)) made.set(algorithm, new Certificates({ algorithm }).make());
  return made.get(algorithm);
}

module.exports = { makeCertificates, ALGORITHMS: Object.keys(ALGORITHMS) };
