import { startThread } from '../../../db/client/start-thread.js';
import type { Bounce } from '../../../workflows/domain/notifications/bounces.js';
import { problem } from '../../http/errors.js';
import { ConcurrencyLimiter } from '../../util/concurrency-limiter.js';
import type { MailRead } from './thread.js';

const LIMIT_MS = 10_000;
const MAX_WAITING = 20;
const MEMORY = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 };
const turns = new ConcurrencyLimiter(1);
let inLine = 0;

/**
 * Parses a bounce in its own thread, one at a time.
 * @returns undefined: it is no delivery report
 * @throws 422 NO_DELIVERY_REPORT: it cannot be parsed, 503 when too many wait
 */
export async function readMailInThread(raw: Buffer): Promise<Bounce | undefined> {
  if (inLine > MAX_WAITING)
    throw problem('UNAVAILABLE', {
      detail: 'Too many mails are being read: send it again.',
      headers: { 'Retry-After': '5' },
    });
  inLine += 1;
  try {
    return await turns.run(() => read(raw));
  } finally {
    inLine -= 1;
  }
}

async function read(raw: Buffer): Promise<Bounce | undefined> {
  const thread = startThread('./thread', import.meta.url, { workerData: raw, resourceLimits: MEMORY });
  let late: NodeJS.Timeout | undefined;
  const unreadable = (why: string, cause?: Error) =>
    problem('NO_DELIVERY_REPORT', { detail: `The body is no mail: ${why}.`, ...(cause && { cause }) });
  try {
    return await new Promise<Bounce | undefined>((resolve, reject) => {
      late = setTimeout(() => {
        reject(unreadable('it cannot be read in time'));
      }, LIMIT_MS);
      thread.on('message', (message: MailRead) => {
        if ('fault' in message) reject(unreadable(message.fault));
        else resolve(message.bounce);
      });
      thread.on('error', (fault: Error) => {
        reject(unreadable('it cannot be read', fault));
      });
      thread.on('exit', () => {
        reject(unreadable('it cannot be read'));
      });
    });
  } finally {
    clearTimeout(late);
    await thread.terminate();
  }
}
