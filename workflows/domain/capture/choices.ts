/** The stored codes of `1, Yes | 0, No`. */
export const choiceCodes = (choices: string): string[] =>
  choices
    .split(/[|\n]/)
    .map((choice) => choice.split(',')[0]!.trim())
    .filter(Boolean);

/** The column suffix of a box: its code in lower case, other characters as underscores. */
export const boxOf = (code: string): string => code.toLowerCase().replace(/[^a-z0-9_]/g, '_');
