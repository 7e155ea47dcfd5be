/** A message as a provider takes it; what a channel cannot carry it leaves out. */
export interface Message {
  /** The notification's id. */
  id: string;
  /**
   * The same for each repetition of one message: a provider that knows it already has delivered it. Default: the id.
   */
  key?: string;
  to: string;
  subject: string;
  text: string;
  html?: string;
  /** One-click opt-out (RFC 8058). */
  unsubscribeUrl?: string;
  /** An iCalendar document. */
  calendar?: string;
  /** Where the provider may report what became of the message. */
  reportUrl?: string;
  /** What a mail bears for the same: a report of its failure returns it. */
  reportToken?: string;
}

/** What brings messages of one channel to people. An error of `send` means: try again later. */
export interface Provider {
  send(message: Message): Promise<void>;
  close?(): void;
}

/**
 * The provider took a look and will never take this message; the sentence stands on the notification and names no
 * address.
 */
export class RefusedMessage extends Error {
  override name = 'RefusedMessage';
  /** The address itself is gone (an app that was removed, a mailbox that there is not). */
  constructor(
    message: string,
    readonly addressIsGone = false,
  ) {
    super(message);
  }
}

export interface Channels {
  email: Provider | null;
  sms: Provider | null;
  push?: Provider | null;
}
export const unconfigured = {
  email: 'no mail server is configured',
  sms: 'no SMS gateway is configured (SMS_GATEWAY_URL)',
  push: 'no push gateway is configured (PUSH_GATEWAY_URL)',
};
