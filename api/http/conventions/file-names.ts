import { randomUUID } from 'node:crypto';

/**
 * The Content-Disposition of a download: content, time of creation (UTC), and the beginning of an id. Files of one kind
 * sort by time, and have unique names.
 * @param instant an ISO instant @param id the file's id; random by default
 */
export function attachment(
  parts: readonly string[],
  extension: string,
  instant: string,
  id: string = randomUUID(),
): string {
  const made = `${instant.slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
  const name = `${[...parts, made, id.slice(0, 8)].join('-')}.${extension}`;
  // ASCII for old clients, the full name for others (RFC 6266).
  const plain = name.replaceAll(/[^A-Za-z0-9._-]+/g, '_');
  if (plain === name) return `attachment; filename="${plain}"`;
  const encoded = encodeURIComponent(name.replaceAll(/[/\\]/g, '_')).replaceAll(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

/** A code as a part of a file name that every system accepts. */
export const safeName = (code: string): string =>
  code
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .slice(0, 64);
