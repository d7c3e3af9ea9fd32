'use strict';

/*
 * What lib/ uses of its platform: package.json's "imports" says which file has it. Only this one asks, since a name with
 * a # is looked up in package.json each time.
 */
module.exports = require('#platform');
