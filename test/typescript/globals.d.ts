// What the documents' examples use without saying where it comes from, as test/readme.test.js gives it to them.

declare const assert: typeof import('node:assert/strict');
declare const client: import('quickgres').Client;
declare const Client: typeof import('quickgres').Client;
declare const config: import('quickgres').Config;
declare const arrayBuffer: ArrayBuffer;
