/** A path as a shell takes it, also with blanks and signs of its own. */
export const forShell = (path: string): string =>
  /^[\w./:@%+=-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
