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
  const caught = (await (await fetch(`${run.mail_ui}/email`)).json()) as Mail[];
  return caught.filter(({ to }) => to.some((one) => one.address === address));
}

/** Of the link in a message. */
export const tokenIn = (text: string): string | undefined => /\/portal\?token=([\w-]+)/.exec(text)?.[1];

/** The token of a link that goes to an address, which no other message has gone to, read from the mail catcher. */
const mailedTo = (address: string, of?: RunJson): Promise<string> =>
  until(
    async () => (await mailsTo(address, of)).map(({ text }) => tokenIn(text)).find((token) => token !== undefined),
    {
      what: 'the mail with the link',
    },
  );

/** Sends a participant a link and reads its token from the mail catcher. */
export async function sendLink(staff: Http, participantId: string, of?: RunJson): Promise<string> {
  const address = `${unique('p')}@example.org`;
  await staff.expect(200, 'PATCH', `/api/participants/${participantId}`, { email: address });
  await staff.expect(202, 'POST', '/api/portal/magic-link', { participant_id: participantId, channel: 'email' });
  return mailedTo(address, of);
}

/** The same for a caregiver of a study. */
export async function sendCaregiverLink(staff: Http, studyId: string, caregiverId: string): Promise<string> {
  const address = `${unique('c')}@example.org`;
  await staff.expect(200, 'PATCH', `/api/studies/${studyId}/caregivers/${caregiverId}`, { email: address });
  await staff.expect(202, 'POST', '/api/portal/magic-link', { caregiver_id: caregiverId, channel: 'email' });
  return mailedTo(address);
}

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
