import { Http, unique } from './http.js';
import type { Loose } from './http.js';
import { service } from './service.js';
import { until } from './until.js';

interface Mail { text: string; to: { address: string }[] }

/** Sends a participant a link and reads its token from the mail catcher. */
export async function sendLink(staff: Http, participantId: string): Promise<string> {
  const run = await service();
  const address = `${unique('p')}@example.org`;
  await staff.expect(200, 'PATCH', `/api/participants/${participantId}`, { email: address });
  await staff.expect(202, 'POST', '/api/portal/magic-link', { participant_id: participantId, channel: 'email' });
  return until(async () => {
    const caught = await (await fetch(`${run.mail_ui}/email`)).json() as Mail[];
    const texts = caught.filter(({ to }) => to.some((one) => one.address === address)).map(({ text }) => text);
    return texts.map((text) => /\/portal\?token=([\w-]+)/.exec(text)?.[1]).find((token) => token !== undefined);
  }, { what: 'the mail with the link' });
}

/** The participant's own caller: a link is sent, read from the mail catcher, and opened. */
export async function enterPortal(staff: Http, participantId: string): Promise<Http> {
  const run = await service();
  const session = await new Http(run.api).expect<Loose & { portal_token: string }>(200, 'POST', '/api/portal/session', { token: await sendLink(staff, participantId) });
  return new Http(run.api, session.portal_token);
}
