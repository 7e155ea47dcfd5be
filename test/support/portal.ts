import { Http, unique } from './http.js';
import type { Loose } from './http.js';
import { service } from './service.js';
import type { RunJson } from './service.js';
import { until } from './until.js';

export interface Mail {
  subject: string;
  text: string;
  to: { address: string }[];
}

/** A policy under which participants set their date themselves. */
export const ownDate = {
  permissions: { participant_can_set: true },
  prerequisites: { require_consent_signed: false },
  sources: [{ type: 'manual_entry', priority: 1, is_active: true }],
};

/** What the mail catcher has for an address. */
export async function mailsTo(address: string, of?: RunJson): Promise<Mail[]> {
  const run = of ?? (await service());
  const caught = (await (
    await fetch(`${run.mail_ui}/email?to.address=${encodeURIComponent(address)}`)
  ).json()) as Mail[];
  return caught.filter(({ to }) => to.some((one) => one.address === address));
}

/** Of the link in a message. */
export const tokenIn = (text: string): string | undefined => /\/portal\?token=([\w-]+)/.exec(text)?.[1];

/** Addresses that links were sent to, by whose they are: another address would end the logins of the one before. */
const addresses = new Map<string, string>();

/** Sends a link to a person's own address, given where it has none yet, and reads its token from the mail catcher. */
async function linkOf(
  id: string,
  present: () => Promise<{ email?: string | null }>,
  give: (email: string) => Promise<unknown>,
  send: () => Promise<unknown>,
  of?: RunJson,
): Promise<string> {
  const known = addresses.get(id);
  const to = known ?? `${unique('p')}@example.org`;
  if (known === undefined || (await present()).email !== known) {
    addresses.set(id, to);
    await give(to);
  }
  const links = async () => (await mailsTo(to, of)).flatMap(({ text }) => tokenIn(text) ?? []);
  const before = (await links()).length;
  await send();
  return until(async () => (await links())[before], { what: 'the mail with the link' });
}

/** Sends a participant a link and reads its token from the mail catcher. */
export const sendLink = (staff: Http, participantId: string, of?: RunJson): Promise<string> =>
  linkOf(
    participantId,
    () => staff.expect<Loose & { email: string | null }>(200, 'GET', `/api/participants/${participantId}`),
    (email) => staff.expect(200, 'PATCH', `/api/participants/${participantId}`, { email }),
    () => staff.expect(202, 'POST', '/api/portal/magic-link', { participant_id: participantId, channel: 'email' }),
    of,
  );

/** The same for a caregiver of a study. */
export const sendCaregiverLink = (staff: Http, studyId: string, caregiverId: string): Promise<string> =>
  linkOf(
    caregiverId,
    () =>
      staff.expect<Loose & { email: string | null }>(200, 'GET', `/api/studies/${studyId}/caregivers/${caregiverId}`),
    (email) => staff.expect(200, 'PATCH', `/api/studies/${studyId}/caregivers/${caregiverId}`, { email }),
    () => staff.expect(202, 'POST', '/api/portal/magic-link', { caregiver_id: caregiverId, channel: 'email' }),
  );

const opened = async (token: string, of?: RunJson): Promise<Http> => {
  const run = of ?? (await service());
  const session = await new Http(run.api).expect<Loose & { portal_token: string }>(200, 'POST', '/api/portal/session', {
    token,
  });
  return new Http(run.api, session.portal_token);
};

/** The participant's own caller: a link is sent, read from the mail catcher, and opened. */
export const enterPortal = async (staff: Http, participantId: string): Promise<Http> =>
  opened(await sendLink(staff, participantId));
/** The same at another service than the shared one. */
export const enterPortalOf = async (run: RunJson, staff: Http, participantId: string): Promise<Http> =>
  opened(await sendLink(staff, participantId, run), run);
/** A caregiver's own caller. */
export const enterAsCaregiver = async (staff: Http, studyId: string, caregiverId: string): Promise<Http> =>
  opened(await sendCaregiverLink(staff, studyId, caregiverId));
