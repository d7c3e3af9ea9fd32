'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { launchBrowser, skipUnless } = require('pg-test-fixtures');
const { installed } = require('../support/folder');
const { ALL, serving, until } = require('./serving');

const ROOT = path.join(__dirname, '../..');

describe('The React hook of the recipes', () => {
  let browser, script;
  before(async function () {
    this.timeout(120000);
    installed(this, 'ecosystem');
    skipUnless(this, 'chromium');
    // The fixtures' own dependency.
    const esbuild = require(require.resolve('esbuild', { paths: [path.dirname(require.resolve('pg-test-fixtures'))] }));
    const {
      outputFiles: [{ text }]
    } = await esbuild.build({
      stdin: {
        contents: `import { StrictMode, memo } from 'react';
          import { createRoot } from 'react-dom/client';
          ${fs.readFileSync(path.join(ROOT, 'test/recipes/live.jsx'), 'utf8')}
          window.rendered = [];
          const Todo = memo(({ todo }) => (window.rendered.push(todo.id), <li>{todo.name}</li>));
          const Todos = () => <ul>{(useLive('/todos') ?? []).map(todo => <Todo key={todo.id} todo={todo} />)}</ul>;
          window.root = createRoot(document.getElementById('root'));
          root.render(<StrictMode><Todos /></StrictMode>);`,
        loader: 'jsx',
        resolveDir: path.join(ROOT, 'test/ecosystem')
      },
      alias: { 'quickgres/client-parser/live': path.join(ROOT, 'client-parser/live.js') },
      bundle: true,
      format: 'esm',
      platform: 'browser',
      jsx: 'automatic',
      jsxDev: true,
      write: false,
      logLevel: 'silent'
    });
    script = text;
    browser = await launchBrowser();
  });
  after(() => browser?.close());

  it('renders what has changed, and leaves with its component', async () => {
    const { url, live, change, errors } = await serving({
      async handler(request, response, results) {
        if (request.url === '/todos') return results.respond(request, response, ALL, [], { tags: ['todos'] });
        if (request.url === '/page.js') return response.setHeader('content-type', 'text/javascript').end(script);
        return response
          .setHeader('content-type', 'text/html')
          .end('<div id=root></div><script type=module src=/page.js></script>');
      }
    });
    const page = await browser.newPage();
    await page.goto(url);
    const shows = names =>
      page.waitForFunction(
        wanted => Array.from(document.querySelectorAll('li'), item => item.textContent).join() === wanted,
        names
      );
    await shows('a,b,c');
    await page.evaluate(() => {
      window.rendered.length = 0;
    });
    await change("UPDATE todos SET name = 'new' WHERE id = 2");
    await shows('a,new,c');
    assert.deepEqual([...new Set(await page.evaluate('rendered'))], [2]);
    await page.evaluate('root.unmount()');
    await until(() => live.size === 0);
    assert.deepEqual(errors, []);
    await page.close();
  });

  it('is a function of at most eleven lines', () => {
    const [body] = /export function[^]*?\n\}\n/.exec(fs.readFileSync(path.join(ROOT, 'test/recipes/live.jsx'), 'utf8'));
    assert.ok(body.trim().split('\n').length <= 11);
  });
});
