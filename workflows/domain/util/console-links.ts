/** Addresses of the console's pages, under the service's public address. Every link to a page is created here. */
export interface ConsoleLinks {
  inbox: string;
  today: string;
  /** The inbox, of one kind or all, in one study or all. */
  inboxOf: (filter: { kind?: string; study?: string }) => string;
  todayOf: (studyId: string) => string;
  login: string;
  approval: (requestId: string) => string;
  participant: (participantId: string) => string;
  capture: (studyId: string) => string;
  /** The token follows the #: it is sent to no server and appears in no log. */
  reset: (token: string) => string;
  accept: (token: string) => string;
}

/** @returns undefined if the console is disabled: then a message has no link to it */
export function consoleLinks(publicUrl: string, enabled: boolean): ConsoleLinks | undefined {
  if (!enabled) return undefined;
  const console = `${publicUrl.replace(/\/+$/, '')}/console`;
  return {
    inbox: `${console}/inbox`,
    today: `${console}/today`,
    inboxOf: ({ kind, study }) =>
      withQuery(`${console}/inbox`, [
        ['kind', kind],
        ['study', study],
      ]),
    todayOf: (studyId) => withQuery(`${console}/today`, [['study', studyId]]),
    login: `${console}/login`,
    approval: (requestId) => `${console}/approvals/${requestId}`,
    participant: (participantId) => `${console}/participants/${participantId}`,
    capture: (studyId) => `${console}/capture/${studyId}`,
    reset: (token) => `${console}/reset#token=${token}`,
    accept: (token) => `${console}/accept#token=${token}`,
  };
}

const withQuery = (path: string, query: [string, string | undefined][]): string => {
  const asked = query.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]));
  return asked.length > 0 ? `${path}?${asked.join('&')}` : path;
};
