'use strict';

// Compiles this package for Jest 26, which takes neither ES modules nor `node:events`, with the TypeScript of the suite.

const { createRequire } = require('node:module');

const { ModuleKind, ScriptTarget, transpileModule } = createRequire(`${process.cwd()}/`)('typescript');

const compilerOptions = { module: ModuleKind.CommonJS, target: ScriptTarget.ES2022 };

module.exports = {
  process: source => transpileModule(source.replace(/(require\(|from )'node:/g, "$1'"), { compilerOptions }).outputText
};
