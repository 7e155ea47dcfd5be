export interface Message { id: string; to: string; subject: string; text: string }

/** What brings messages of one channel to people. An error of `send` means: try again later. */
export interface Provider { send(message: Message): Promise<void> }

/** The provider took a look and will never take this message; the sentence stands on the notification and names no address. */
export class RefusedMessage extends Error {
  override name = 'RefusedMessage';
}
