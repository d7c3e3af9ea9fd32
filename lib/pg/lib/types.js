module.exports = require('../types').types;
// Node finds the names for `import` in this form.
0 && (module.exports = { getTypeParser, setTypeParser, arrayParser, builtins });
