/** A mail header that identifies the message, and proves its origin: a bounce returns it. */
export const REPORT_HEADER = 'X-Delivery-Report';

/** Whether a status of RFC 3463 means that the mailbox or its domain does not exist: no later mail would arrive. */
export const isDeadAddress = (status: string): boolean => /^5\.1\.(?:0|1|2|3|6|10)$/.test(status);

export interface Bounce {
  /** The value of REPORT_HEADER in the returned mail. */
  token: string | undefined;
  outcome: 'delivered' | 'undelivered' | 'delayed';
  /** RFC 3463, `5.1.1`; null: missing in the report. */
  status: string | null;
}

/**
 * Parses a delivery status notification (RFC 3464), from its machine-readable part and the returned mail or its
 * headers. Undefined: it is none. Pure.
 */
export function readBounce(report: string, returned: string): Bounce | undefined {
  const action = /^Action:\s*([a-z]+)/im.exec(report)?.[1]?.toLowerCase();
  if (action === undefined) return undefined;
  const outcome = action === 'failed' ? 'undelivered' : action === 'delivered' ? 'delivered' : 'delayed';
  return {
    token: new RegExp(`^${REPORT_HEADER}:\\s*(\\S+)`, 'im').exec(returned.replaceAll(/\r?\n[ \t]+/g, ''))?.[1],
    outcome,
    status: /^Status:\s*(\d\.\d{1,3}\.\d{1,3})/im.exec(report)?.[1] ?? null,
  };
}

const TOKEN = new RegExp(`^${REPORT_HEADER}:\\s*(\\S+)`, 'gim');
/** Lines of base64: some servers encode a part of a mail although they should not. */
const BASE64_LINES = /^(?:[A-Za-z0-9+/]{40,76}\r?\n)+(?:[A-Za-z0-9+/]{1,76}={0,2})?/gm;
const MAX_TOKENS = 10;

/**
 * Every token of REPORT_HEADER in a raw mail, found without parsing it: plain, over folded lines, in quoted-printable
 * and in base64. Pure.
 */
export function reportTokens(mail: string, decode: (base64: string) => string): string[] {
  const encoded = [...mail.matchAll(BASE64_LINES)].map(([lines]) => decode(lines));
  // A line that ends with "=" continues in quoted-printable, and is complete otherwise.
  return [mail, mail.replaceAll(/=\r?\n/g, ''), ...encoded]
    .flatMap((text) => [...text.replaceAll(/\r?\n[ \t]+/g, '').matchAll(TOKEN)])
    .slice(0, MAX_TOKENS)
    .map(([, token]) => token!.replaceAll(/=3D/gi, '='));
}
