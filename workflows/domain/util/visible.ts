/** Blanks, and signs of no width. */
const INVISIBLE = /^[\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]*$/;

/** Whether there is something to see in a text. */
export const isVisible = (text: string): boolean => !INVISIBLE.test(text);
