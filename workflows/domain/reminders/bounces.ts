/** A mail's header that says which message it is, and proves it: a report of its failure returns it. */
export const REPORT_HEADER = 'X-Delivery-Report';

/** Whether a status of RFC 3463 says that the mailbox or its domain is not there: no later mail would arrive. */
export const isDeadAddress = (status: string): boolean => /^5\.1\.(?:0|1|2|3|6|10)$/.test(status);

export interface Bounce {
  /** What the returned mail bore in REPORT_HEADER. */
  token: string | undefined;
  outcome: 'delivered' | 'undelivered' | 'delayed';
  /** RFC 3463, `5.1.1`; null: the report does not say. */
  status: string | null;
}

/**
 * What a delivery status notification (RFC 3464) says, from its machine-readable part and the returned mail or its
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
