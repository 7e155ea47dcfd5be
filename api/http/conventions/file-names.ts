import { randomUUID } from 'node:crypto';

/**
 * The Content-Disposition of a file to be kept: what it is, when it was made (UTC), and the beginning of an id. Files of
 * one thing sort by time, and no two have the same name.
 * @param at an ISO instant @param id what the file is known by; by default one of its own
 */
export function attachment(parts: readonly string[], extension: string, at: string, id: string = randomUUID()): string {
  const made = `${at.slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
  const name = `${[...parts, made, id.slice(0, 8)].join('-')}.${extension}`;
  // Plain for old clients, the whole for the others (RFC 6266).
  const plain = name.replaceAll(/[^A-Za-z0-9._-]+/g, '_');
  if (plain === name) return `attachment; filename="${plain}"`;
  const encoded = encodeURIComponent(name.replaceAll(/[/\\]/g, '_')).replaceAll(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

/** A code as the part of a file's name that every system takes. */
export const safeName = (code: string): string =>
  code
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .slice(0, 64);
