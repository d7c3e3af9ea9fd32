'use strict';

// Each bundler, by what it makes: it bundles several programs, and gives the file of each.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { guideOptions } = require('../../support/bundle');

const EXTENSION = { esm: 'mjs', cjs: 'cjs' };

/** The names of programs, by their paths without the ending, as most bundlers take them. */
const inputs = programs => Object.fromEntries(programs.map(file => [path.parse(file).name, file]));

const esbuild = format => async (programs, outdir) => {
  await require('esbuild').build({
    ...(format === 'esm' ? guideOptions() : { format, platform: 'node' }),
    entryPoints: programs,
    outdir,
    outExtension: { '.js': `.${EXTENSION[format]}` },
    bundle: true,
    logLevel: 'error'
  });
};

const webpack = format => async (programs, outdir) => {
  const stats = await new Promise((resolve, reject) =>
    require('webpack')(
      {
        mode: 'production',
        target: 'node20',
        optimization: { minimize: false }, // it takes a minute
        entry: inputs(programs),
        experiments: { outputModule: format === 'esm' },
        output: {
          path: outdir,
          filename: `[name].${EXTENSION[format]}`,
          module: format === 'esm',
          library: { type: format === 'esm' ? 'module' : 'commonjs2' }
        }
      },
      (error, result) => (error ? reject(error) : resolve(result))
    )
  );
  const { errors, warnings } = stats.toJson();
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'));
  const own = warnings.filter(({ message }) => !/size limit|code splitting/.test(message));
  if (own.length > 0) throw new Error(own.map(({ message }) => message).join('\n'));
};

const viteSsr = format => async (programs, outdir) => {
  const { build } = await import('vite');
  await build({
    root: path.dirname(programs[0]),
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir: outdir,
      emptyOutDir: false,
      rollupOptions: { input: inputs(programs), output: { format, entryFileNames: `[name].${EXTENSION[format]}` } }
    }
  });
};

const rollup = format => async (programs, outdir) => {
  const { rollup: make } = require('rollup');
  const bundle = await make({
    input: inputs(programs),
    plugins: [
      require('@rollup/plugin-node-resolve').nodeResolve({ preferBuiltins: true, exportConditions: ['node'] }),
      require('@rollup/plugin-commonjs')()
    ],
    onwarn: ({ code, message }) => {
      if (!['CIRCULAR_DEPENDENCY', 'THIS_IS_UNDEFINED'].includes(code)) throw new Error(message);
    }
  });
  await bundle.write({ dir: outdir, format, entryFileNames: `[name].${EXTENSION[format]}` });
};

const rolldown = format => async (programs, outdir) => {
  const { rolldown: make } = await import('rolldown');
  const bundle = await make({ input: inputs(programs), platform: 'node' });
  await bundle.write({ dir: outdir, format, entryFileNames: `[name].${EXTENSION[format]}` });
};

const bun = format => async (programs, outdir) => {
  for (const program of programs) {
    const outfile = path.join(outdir, `${path.parse(program).name}.${EXTENSION[format]}`);
    const args = ['build', program, '--target=node', `--format=${format}`, `--outfile=${outfile}`];
    execFileSync(path.join(__dirname, '../node_modules/.bin/bun'), args, { stdio: 'pipe' });
  }
};

const both = (name, make) => ({ [`${name}, ES modules`]: make('esm'), [`${name}, CommonJS`]: make('cjs') });

/** For Node.js. */
const SERVERS = {
  ...both('esbuild', esbuild),
  ...both('webpack', webpack),
  ...both('Vite for SSR', viteSsr),
  ...both('Rollup', rollup),
  ...both('rolldown', rolldown),
  ...both('Bun', bun)
};

/** For pages. */
const PAGES = {
  esbuild: async (programs, outdir) => {
    await require('esbuild').build({
      entryPoints: programs,
      outdir,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      format: 'esm',
      platform: 'browser',
      minify: true,
      logLevel: 'error'
    });
  },
  webpack: (programs, outdir) =>
    new Promise((resolve, reject) =>
      require('webpack')(
        {
          mode: 'production',
          target: 'web',
          entry: inputs(programs),
          experiments: { outputModule: true },
          output: { path: outdir, filename: '[name].mjs', module: true, library: { type: 'module' } }
        },
        (error, stats) => {
          if (error || stats.hasErrors()) reject(error ?? new Error(String(stats)));
          else resolve();
        }
      )
    ),
  Vite: async (programs, outdir) => {
    const { build } = await import('vite');
    await build({
      root: path.dirname(programs[0]),
      configFile: false,
      logLevel: 'error',
      build: {
        outDir: outdir,
        emptyOutDir: false,
        lib: { entry: inputs(programs), formats: ['es'] },
        rollupOptions: { output: { entryFileNames: '[name].mjs' } }
      }
    });
  },
  Rollup: async (programs, outdir) => {
    const bundle = await require('rollup').rollup({
      input: inputs(programs),
      plugins: [require('@rollup/plugin-node-resolve').nodeResolve({ browser: true })]
    });
    await bundle.write({ dir: outdir, format: 'es', entryFileNames: '[name].mjs' });
  },
  rolldown: async (programs, outdir) => {
    const { rolldown: make } = await import('rolldown');
    const bundle = await make({ input: inputs(programs), platform: 'browser' });
    await bundle.write({ dir: outdir, format: 'esm', minify: true, entryFileNames: '[name].mjs' });
  },
  Bun: async (programs, outdir) => {
    for (const program of programs) {
      const outfile = path.join(outdir, `${path.parse(program).name}.mjs`);
      const args = ['build', program, '--target=browser', '--format=esm', '--minify', `--outfile=${outfile}`];
      execFileSync(path.join(__dirname, '../node_modules/.bin/bun'), args, { stdio: 'pipe' });
    }
  }
};

/** @returns {string} the file that a bundler has made of a program */
const madeOf = (outdir, name) => {
  const file = ['mjs', 'cjs'].map(end => path.join(outdir, `${name}.${end}`)).find(each => fs.existsSync(each));
  if (file === undefined) throw new Error(`no bundle of ${name}: ${fs.readdirSync(outdir)}`);
  return file;
};

module.exports = { PAGES, SERVERS, madeOf };
