import { payloadKeys } from '../../settings.js';
import type { Settings } from '../../settings.js';
import { EncryptionCodec } from '../../workflows/util/payload-codec.js';
import { orOnThisMachine, roles } from '../http/access.js';
import { problem } from '../http/errors.js';
import { rawBody, reply, route } from '../http/route.js';
import type { Route } from '../http/route.js';
import { throughCodec } from './payload-codec.service.js';
import type { CodecWork } from './payload-codec.service.js';

/**
 * Decrypts payloads for the Temporal UI and CLI, by the protocol of Temporal’s codec servers: for admins; in
 * development also for callers on the local machine.
 */
export function codecRoutes(settings: Settings): Route[] {
  const codec = new EncryptionCodec(payloadKeys(settings));
  const each = (work: CodecWork, summary: string) =>
    route({
      method: 'POST',
      path: `/codec/${work}`,
      hidden: true,
      tag: 'Temporal',
      summary,
      access: orOnThisMachine(roles()),
      body: rawBody(),
      // A page of the UI requests each payload separately.
      rateLimit: 'none',
      idempotencyKey: false,
      responses: { 200: undefined },
      handle: async ({ raw }) => {
        const answer = await throughCodec(codec, work, raw.toString('utf8')).catch((fault: Error) => {
          throw problem('BAD_REQUEST', { detail: fault.message });
        });
        return reply(200, answer, { 'Cache-Control': 'no-store' });
      },
    });
  return [each('decode', 'Opens payloads'), each('encode', 'Seals payloads')];
}
