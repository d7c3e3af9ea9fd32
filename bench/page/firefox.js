'use strict';

// Firefox by its own driver: WebDriver BiDi, over a WebSocket that it listens on.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

/** Settings of a profile: Firefox is to talk to nothing but the measured page. */
const SETTINGS = {
  'app.normandy.enabled': false,
  'app.update.enabled': false,
  'browser.safebrowsing.malware.enabled': false,
  'browser.safebrowsing.phishing.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.page': 0,
  'datareporting.policy.dataSubmissionEnabled': false,
  'extensions.update.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'data:,',
  'toolkit.telemetry.enabled': false
};

/** @returns {string|undefined} where Firefox is, or FIREFOX says that it is */
function findFirefox() {
  const folders = process.env.PATH.split(path.delimiter);
  return (
    process.env.FIREFOX ||
    ['firefox', 'firefox-esr']
      .flatMap(name => folders.map(folder => path.join(folder, name)))
      .find(file => fs.existsSync(file))
  );
}

/** Milliseconds of CPU that a process and its children have used, and those of them that have ended and were waited for. */
function cpuOf(pid) {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').pop().split(' ');
  const children = fs
    .readdirSync(`/proc/${pid}/task`)
    .flatMap(thread => fs.readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean));
  // Fields 14 to 17 of proc(5): user and system time of the process, and of the children it has waited for; in ticks of 10 ms.
  const own = stat.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * 10;
  return children.reduce((sum, child) => sum + cpuOf(child), own);
}

/**
 * Launches a headless Firefox with a profile of its own.
 * @returns {Promise<{name: string, measure: function(string, object): Promise<object>, close: function(): Promise<void>}>}
 */
async function launchFirefox() {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'quickgres-firefox-'));
  fs.writeFileSync(
    path.join(profile, 'user.js'),
    Object.entries(SETTINGS)
      .map(([name, value]) => `user_pref('${name}', ${JSON.stringify(value)});\n`)
      .join('')
  );
  const child = spawn(
    findFirefox(),
    ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0'],
    { stdio: ['ignore', 'ignore', 'pipe'] }
  );
  const ended = new Promise(resolve => child.on('close', resolve));
  const kill = () => child.kill('SIGKILL');
  process.on('exit', kill);
  const address = await new Promise((resolve, reject) => {
    let said = '';
    child.on('error', reject);
    child.stderr.on('data', data => {
      const [, url] = /listening on (ws:\S+)/.exec((said += data)) ?? [];
      if (url) resolve(url);
    });
    ended.then(() => reject(new Error(`Firefox has ended: ${said.trim()}`)));
  });
  const socket = new WebSocket(`${address}/session`);
  await new Promise((resolve, reject) =>
    Object.assign(socket, { onopen: resolve, onerror: () => reject(new Error(`no answer from ${address}`)) })
  );
  const pending = new Map();
  socket.onmessage = ({ data }) => {
    const { id, error, message, result } = JSON.parse(data);
    const { resolve, reject } = pending.get(id) ?? {};
    pending.delete(id);
    if (error) reject?.(new Error(`Firefox: ${error}: ${message}`));
    else resolve?.(result);
  };
  let last = 0;
  const send = (method, params) =>
    new Promise((resolve, reject) => {
      pending.set(++last, { resolve, reject });
      socket.send(JSON.stringify({ id: last, method, params }));
    });
  const { capabilities } = await send('session.new', { capabilities: {} });

  return {
    name: `Firefox ${capabilities.browserVersion}`,

    /** CPU is that of all processes of the browser: it does not tell that of the page's main thread, nor what the page holds. */
    async measure(url, spec) {
      const { context } = await send('browsingContext.create', { type: 'tab' });
      const run = async code => {
        const { result, exceptionDetails } = await send('script.evaluate', {
          expression: `(async () => JSON.stringify(${code}))()`,
          target: { context },
          awaitPromise: true
        });
        if (exceptionDetails) throw new Error(exceptionDetails.text);
        return result.value && JSON.parse(result.value);
      };
      try {
        await send('browsingContext.navigate', { context, url, wait: 'complete' });
        await run(`await (window.measured = await import('/page.js')).prepare(${JSON.stringify(spec)})`);
        const before = cpuOf(child.pid);
        const result = await run(`await window.measured.measure(${JSON.stringify(spec)})`);
        return { ...result, cpu: cpuOf(child.pid) - before };
      } finally {
        await send('browsingContext.close', { context });
      }
    },

    async close() {
      socket.close();
      kill();
      await ended;
      process.off('exit', kill);
      fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    }
  };
}

module.exports = { findFirefox, launchFirefox };
