module.exports = require('../types').types;
// Node finds the names for `import` in this form.
// eslint-disable-next-line no-constant-binary-expression, no-undef
0 && (module.exports = { getTypeParser, setTypeParser, arrayParser, builtins });
