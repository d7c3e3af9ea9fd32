// What the documents' examples use without saying where it comes from, as test/whole/readme.test.js gives it to them.

declare const assert: typeof import('node:assert/strict');
declare const client: import('quickgres').Client;
declare const pool: import('quickgres/pool').Pool;
declare const Client: typeof import('quickgres').Client;
declare const config: import('quickgres').Config;
declare const arrayBuffer: ArrayBuffer;
declare const credential: { getToken(scope: string | undefined): Promise<string> };
declare const Bun: { serve(options: { port: number; fetch(request: Request): Promise<Response> }): unknown };
declare const Deno: {
  env: { get(name: string): string | undefined };
  serve(options: { port: number }, handler: (request: Request) => Promise<Response>): unknown;
};
declare module '@/lib/db' {
  export const pool: import('quickgres/pool').Pool;
}
