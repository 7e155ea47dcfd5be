import { nowMs } from '../../db/client/clock.js';

/** A message for a provider; a channel ignores fields that it doesn't support. */
export interface Message {
  /** The notification's id. */
  id: string;
  /** The same for each retry of one message: a provider that knows it has delivered it already. Default: the id. */
  key?: string;
  to: string;
  subject: string;
  text: string;
  html?: string;
  /** One-click opt-out (RFC 8058). */
  unsubscribeUrl?: string;
  /** An iCalendar document. */
  calendar?: string;
  /** The URL for the provider's delivery reports. */
  reportUrl?: string;
  /** The equivalent in a mail: a bounce returns it. */
  reportToken?: string;
}

/** Delivers messages of one channel. An error of `send` means: retry later. */
export interface Provider {
  send(message: Message): Promise<void>;
  close?(): void;
}

/** The provider will never accept this message; the notification stores the sentence, which contains no address. */
export class RefusedMessage extends Error {
  override name = 'RefusedMessage';
  /** The address does not exist (an uninstalled app, an unknown mailbox). */
  constructor(
    message: string,
    readonly addressIsGone = false,
  ) {
    super(message);
  }
}

const DAY_MS = 86_400_000;

/**
 * The fault of a message that a server put off: it is tried again, or refused once it has been for so long.
 * @param since when the message was written
 * @param days how long one is tried (MESSAGE_RETRY_MAX_DAYS)
 */
export function faultAfter(fault: unknown, since: string, days: number): unknown {
  if (fault instanceof RefusedMessage || nowMs() - Date.parse(since) < days * DAY_MS) return fault;
  return new RefusedMessage(`put off for as long as MESSAGE_RETRY_MAX_DAYS allows (${codeOf(fault)})`);
}

/** Its message may name an address. */
export const codeOf = (fault: unknown): string =>
  (fault as { code?: unknown }).code?.toString() ?? (fault instanceof Error ? fault.name : 'fault');

export interface Channels {
  email: Provider | null;
  sms: Provider | null;
  push?: Provider | null;
}
export const unconfiguredReasons = {
  email: 'no mail server is configured',
  sms: 'no SMS gateway is configured (SMS_GATEWAY_URL)',
  push: 'no push gateway is configured (PUSH_GATEWAY_URL)',
};
