/** Names in a payload’s metadata, and properties of its value, for an unencrypted message and its answer. */
export const CAME_OPEN = 'came-open';
export const ANSWERS_OPEN = 'answers-open';
const [came, answers] = [Symbol.for(CAME_OPEN), Symbol.for(ANSWERS_OPEN)];

/** Marks are invisible to code that does not read them. */
function mark<T>(value: T, name: symbol): T {
  if (typeof value === 'object' && value !== null) Object.defineProperty(value, name, { value: true });
  return value;
}

/** Marks the value of an unencrypted payload. */
export const markCameOpen = <T>(value: T): T => mark(value, came);

/** Whether a message came unencrypted. A non-object has no mark, and no part of the service encrypted it. */
export const cameOpen = (message: unknown): boolean =>
  typeof message !== 'object' || message === null || came in message;

/** Marks an answer to an unencrypted request, whose sender could not decrypt an encrypted one. */
export const inTheOpen = <T>(answer: T): T => mark(answer, answers);
export const answersOpen = (value: unknown): boolean => typeof value === 'object' && value !== null && answers in value;
