'use strict';

// tsc of TypeScript 5, for many programs in one process: `compile.js` forks it. The declarations of others are parsed once,
// and not checked; those of the package are.

const path = require('node:path');
const ts = require('typescript-5');

/** Declarations of TypeScript, Node.js and pg. */
const isOfOthers = file => /node_modules\/(?!quickgres\/)/.test(file);

/** Parsed declarations of others. */
const parsed = new Map();

function sharing(host) {
  const { getSourceFile } = host;
  host.getSourceFile = (file, how, ...more) => {
    if (!isOfOthers(file)) return getSourceFile(file, how, ...more);
    const key = JSON.stringify([file, how.languageVersion, how.impliedNodeFormat]);
    if (!parsed.has(key)) parsed.set(key, getSourceFile(file, how, ...more));
    return parsed.get(key);
  };
  return host;
}

/** The arguments of tsc, or those that the config file of its `--project` gives. */
function commandLine(args) {
  const given = ts.parseCommandLine(args);
  const { project } = given.options;
  if (project === undefined) return given;
  const file = ts.sys.directoryExists(project) ? path.join(project, 'tsconfig.json') : project;
  return ts.getParsedCommandLineOfConfigFile(file, given.options, {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic(diagnostic) {
      throw new Error(ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'));
    }
  });
}

function compile(args) {
  const { options, fileNames, errors } = commandLine(args);
  const host = sharing(ts.createCompilerHost(options));
  const program = ts.createProgram({ rootNames: fileNames, options, host, configFileParsingDiagnostics: errors });
  const diagnostics = [
    ...program.getConfigFileParsingDiagnostics(),
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...program
      .getSourceFiles()
      .filter(({ fileName }) => !isOfOthers(fileName))
      .flatMap(file => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)])
  ];
  return {
    stdout: ts.formatDiagnostics(ts.sortAndDeduplicateDiagnostics(diagnostics), host),
    instantiations: program.getInstantiationCount()
  };
}

ts.sys.getCurrentDirectory = process.cwd; // it remembers the first one

process.on('message', ({ cwd, args }) => {
  process.chdir(cwd);
  process.send(compile(args));
});
