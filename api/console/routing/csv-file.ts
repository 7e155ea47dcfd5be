/**
 * A CSV file for people: a spreadsheet takes UTF-8 without the mark for the character set of its computer, shows other
 * letters than were meant, and saves them.
 */
export const forSpreadsheets = (csv: string): string => `\ufeff${csv}`;
