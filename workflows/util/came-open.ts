/** Name a payload’s metadata, and the properties of its value, that say how it came and how it is to go. */
export const CAME_OPEN = 'came-open';
export const ANSWERS_OPEN = 'answers-open';
const [came, answers] = [Symbol.for(CAME_OPEN), Symbol.for(ANSWERS_OPEN)];

/** Marks are seen by nobody who does not ask for them. */
function mark<T>(value: T, name: symbol): T {
  if (typeof value === 'object' && value !== null) Object.defineProperty(value, name, { value: true });
  return value;
}

/** Marks what a payload that was not sealed has become. */
export const markCameOpen = <T>(value: T): T => mark(value, came);

/** Whether a message came in the open. What is no object bears no mark, and was sealed by no part of the service. */
export const cameOpen = (message: unknown): boolean =>
  typeof message !== 'object' || message === null || came in message;

/** Marks an answer to somebody who has asked in the open, and would not be able to read a sealed one. */
export const inTheOpen = <T>(answer: T): T => mark(answer, answers);
export const answersOpen = (value: unknown): boolean => typeof value === 'object' && value !== null && answers in value;
