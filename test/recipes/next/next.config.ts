export default { serverExternalPackages: ['quickgres'] }; // one copy of the package, so that instanceof works
