/**
 * A start that cannot go on: the message is one clear sentence for the person at the terminal, no stack belongs to it.
 */
export class StartError extends Error {
  override name = 'StartError';
}
