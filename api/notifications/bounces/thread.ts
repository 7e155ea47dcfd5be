/** The thread that parses one bounce. */
import '../../../db/client/process/traces.js';
import { parentPort, workerData } from 'node:worker_threads';
import PostalMime from 'postal-mime';
import { readBounce } from '../../../workflows/domain/notifications/bounces.js';
import type { Bounce } from '../../../workflows/domain/notifications/bounces.js';

export type MailRead = { bounce: Bounce | undefined } | { fault: string };

const RETURNED = ['message/rfc822', 'message/rfc822-headers', 'text/rfc822-headers'];

async function read(): Promise<MailRead> {
  try {
    const { attachments } = await PostalMime.parse(workerData as Uint8Array, {
      forceRfc822Attachments: true,
      attachmentEncoding: 'utf8',
    });
    const parts = (...types: string[]) =>
      attachments
        .filter(({ mimeType }) => types.includes(mimeType))
        .map(({ content }) => String(content))
        .join('\n');
    return { bounce: readBounce(parts('message/delivery-status'), parts(...RETURNED)) };
  } catch (fault) {
    return { fault: fault instanceof Error ? fault.message : 'it cannot be read' };
  }
}

parentPort!.postMessage(await read());
