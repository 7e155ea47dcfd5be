/**
 * Decrypts payloads for the Temporal Web UI and CLI: `npm run codec-server [-- --port 8234]`. It uses the configured
 * keys (TEMPORAL_PAYLOAD_KEY, TEMPORAL_PAYLOAD_FORMER_KEYS), or those in DATA_DIR. Its address ends with a secret that
 * is new at each start: anyone who has it can read everything. It listens on TEMPORAL_HOST and only answers pages of
 * the UI.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { throughCodec } from '../api/operations/payload-codec.service.js';
import type { SentPayloads } from '../api/operations/payload-codec.service.js';
import { connectableHost, readSettings } from '../settings.js';
import { EncryptionCodec } from '../workflows/util/payload-codec.js';
import { runningOn } from './runtime/postgres/database-url.js';
import { payloadKeysOf } from './runtime/keys.js';
import { optionsOf } from './runtime/program.js';

const MAX_BYTES = 16 * 1024 * 1024;

const { port } = optionsOf('npm run codec-server [-- --port 8234]', { port: { type: 'string', default: '8234' } });
const settings = readSettings(process.env, 'tool');
const keys = payloadKeysOf(settings);
if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
  console.error(`--port must be a number from 0 to 65535, not ${port}.`);
  process.exit(1);
}
if (!keys.current && keys.former.length === 0) {
  console.error('TEMPORAL_PAYLOAD_KEY is not set: there is nothing to open.');
  process.exit(1);
}
const codec = new EncryptionCodec(keys);
const path = `/${randomBytes(24).toString('base64url')}`;
const uiAddress =
  settings.TEMPORAL_UI_URL ??
  runningOn(settings.DATA_DIR)?.temporal_ui ??
  `http://${connectableHost(settings.TEMPORAL_HOST)}:${settings.TEMPORAL_UI_PORT}`;
const ui = new URL(uiAddress).origin;

const server = createServer((request, response) => {
  const headers = {
    'Access-Control-Allow-Origin': ui,
    'Access-Control-Allow-Headers': 'content-type, x-namespace, authorization',
    'Access-Control-Allow-Methods': 'POST, OPTIONS',
    Vary: 'Origin',
  };
  const end = (status: number, body = '', type = 'text/plain; charset=utf-8') =>
    response.writeHead(status, { ...headers, 'Content-Type': type }).end(body);
  const work = workOf(request.url ?? '');
  if (work === undefined) return end(404, 'There is nothing here.\n');
  if (request.method === 'OPTIONS') return end(204);
  if (request.method !== 'POST') return end(405, 'Payloads are sent by POST.\n');
  bodyOf(request)
    .then(work)
    .then(
      (body) => end(200, JSON.stringify(body), 'application/json'),
      (fault: Error) => end(400, `${fault.message}\n`),
    );
});

/** The operation of an address; undefined: unknown. */
function workOf(url: string): ((body: string) => Promise<SentPayloads>) | undefined {
  const [given, name] = [url.slice(0, path.length), url.slice(path.length)];
  if (
    given.length !== path.length ||
    Buffer.byteLength(given) !== path.length ||
    !timingSafeEqual(Buffer.from(given), Buffer.from(path))
  )
    return undefined;
  if (name === '/decode') return (body) => throughCodec(codec, 'decode', body);
  if (name === '/encode') return (body) => throughCodec(codec, 'encode', body);
  return undefined;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > MAX_BYTES) throw new Error(`No more than ${MAX_BYTES} bytes are taken.`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

server.once('error', (fault: NodeJS.ErrnoException) => {
  console.error(
    `The codec server cannot listen at ${settings.TEMPORAL_HOST}:${port} (${fault.code ?? fault.message}): ` +
      'give another --port.',
  );
  process.exit(1);
});
server.listen(Number(port), settings.TEMPORAL_HOST, () => {
  const address = server.address() as { port: number };
  console.log(`Codec server for ${ui}: http://${connectableHost(settings.TEMPORAL_HOST)}:${address.port}${path}`);
  console.log('Web UI: the glasses at the top right, "Remote Codec Endpoint". CLI: --codec-endpoint. Ctrl-C ends it.');
});
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.on(name, () => {
    server.close();
    server.closeAllConnections();
  });
