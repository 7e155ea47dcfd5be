/** A start that cannot continue: the message is one clear sentence for the person at the terminal, without a stack. */
export class StartError extends Error {
  override name = 'StartError';
}
