/** The thread that gives mails to the mail server, beside the worker's own loop. */
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

/** What is told of a fault is what the mailer tells, which names no address. */
function asData(fault: unknown): SendFault {
  if (fault instanceof RefusedMessage)
    return { kind: 'refused', message: fault.message, addressIsGone: fault.addressIsGone };
  const { message, code } = fault as Error & { code?: string };
  return { kind: 'again', message, code };
}
