/**
 * Loaded by `node --import quickgres/pg/register app.js`, it puts quickgres/pg in the place of pg for the whole
 * program.
 */
export {};
