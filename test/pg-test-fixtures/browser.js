'use strict';

// A real browser: Debian's Chromium, driven by Playwright.

const { makeDirectory } = require('./guardian.js');
const { have, need } = require('./have.js');

/** It is to show our pages, without a sandbox (which root can't have) and without talking to anybody else. */
const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage'
];

/**
 * Where Chromium or Chrome is.
 * @returns {string | undefined} undefined when neither is installed
 */
function findBrowser() {
  return have('chromium');
}

/**
 * Launches a headless Chromium. It ends with this process, and its profile is removed.
 * @param {import('playwright-core').LaunchOptions} [options] for Playwright's launch
 * @returns {Promise<import('playwright-core').Browser>} with `newPage()`, `close()` and so on
 * @throws {Error} when there is none: see `have('chromium')` and `skipUnless`
 */
async function launchBrowser({ args = [], ...options } = {}) {
  const executablePath = need('chromium');
  const { chromium } = require('playwright-core');
  // Playwright makes the profile in the temporary directory: in ours it is gone with this process, whatever
  // happens.
  const before = process.env.TMPDIR;
  process.env.TMPDIR = makeDirectory('browser');
  try {
    return await chromium.launch({ executablePath, args: [...ARGUMENTS, ...args], ...options });
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
}

module.exports = { findBrowser, launchBrowser };
