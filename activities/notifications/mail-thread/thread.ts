/** The thread that passes mails to the mail server, outside of the worker's event loop. */
import '../../../db/client/process/traces.js';
import { parentPort, workerData } from 'node:worker_threads';
import { RefusedMessage } from '../provider.js';
import { smtpMailer } from '../smtp.js';
import { Gathered } from './protocol.js';
import type { SendAnswer, SendFault, MailWorkerData, SendRequest } from './protocol.js';

const { url, from } = workerData as MailWorkerData;
const mailer = smtpMailer(url, from);
const answers = new Gathered<SendAnswer>((all) => {
  parentPort!.postMessage(all);
});

parentPort!.on('message', (orders: SendRequest[]) => {
  for (const { n, message } of orders)
    mailer.send(message).then(
      () => {
        answers.add({ n });
      },
      (fault: unknown) => {
        answers.add({ n, fault: asData(fault) });
      },
    );
});
answers.add('ready');

/** The mailer's message, which contains no address. */
function asData(fault: unknown): SendFault {
  if (fault instanceof RefusedMessage)
    return { kind: 'refused', message: fault.message, addressIsGone: fault.addressIsGone };
  const { message, code } = fault as Error & { code?: string };
  return { kind: 'again', message, code };
}
