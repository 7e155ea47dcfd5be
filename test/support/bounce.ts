/** A delivery status notification (RFC 3464) that returns the headers of a mail. */
export const bounceOf = (returned: string, { action = 'failed', status = '5.1.1' } = {}): string =>
  [
    'From: MAILER-DAEMON@example.org',
    'To: no-reply@example.org',
    'Subject: Undelivered Mail Returned to Sender',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'It could not be delivered.',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.example.org',
    '',
    'Final-Recipient: rfc822; somebody@example.org',
    `Action: ${action}`,
    `Status: ${status}`,
    '',
    '--b',
    'Content-Type: text/rfc822-headers',
    '',
    returned,
    '',
    '--b--',
    '',
  ].join('\r\n');

/** The headers of a mail, as a server returns them. */
export const headersOf = (source: string): string => source.split(/\r?\n\r?\n/)[0]!;
