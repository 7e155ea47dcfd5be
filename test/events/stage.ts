import { DAY } from '../anchor/stage.js';
import type { AnchorStudy } from '../anchor/stage.js';
import type { Http, Loose } from '../support/http.js';

export interface Subscription {
  id: string;
  secret: string;
  url: string;
  status: string;
  events: string[];
  disabled_reason: string | null;
  updated_at: string;
}
export interface Delivery {
  id: string;
  event_id: string;
  event_type: string;
  status: string;
  attempts: number;
  response_status: number | null;
  last_error: string | null;
  next_attempt_at: string | null;
  delivered_at: string | null;
}
export interface Emitted {
  id: string;
  type: string;
  study_id: string;
  participant_id: string;
  occurred_at: string;
  data: Record<string, unknown>;
}

export const ALL = [
  'ENROLLMENT_DATE_PROPOSED',
  'ENROLLMENT_DATE_SET',
  'ENROLLMENT_DATE_CHANGED',
  'ENROLLMENT_DATE_FINALIZED',
];
/** A date that is entered is final at once: one event each. */
export const FINAL_AT_ONCE = {
  prerequisites: { require_consent_signed: false },
  sources: [{ type: 'manual_entry', priority: 1, is_active: true }],
};

export const subscriptions = (study: AnchorStudy): string => `/api/studies/${study.id}/event-subscriptions`;
export const subscribe = (
  study: AnchorStudy,
  url: string,
  more: Record<string, unknown> = {},
): Promise<Subscription & Loose> =>
  study.stage.admin.expect(201, 'POST', subscriptions(study), { url, events: ALL, ...more });
export const deliveries = async (study: AnchorStudy, id: string, query = ''): Promise<Delivery[]> =>
  (
    await study.stage.admin.expect<{ items: Delivery[] }>(
      200,
      'GET',
      `${subscriptions(study)}/${id}/deliveries?limit=500${query}`,
    )
  ).items;
export const emitted = async (study: AnchorStudy): Promise<Emitted[]> =>
  (await study.stage.admin.expect<{ items: Emitted[] }>(200, 'GET', `/api/studies/${study.id}/events?limit=500`)).items;

/** A new participant whose date is set: one ENROLLMENT_DATE_SET. */
export async function setDate(study: AnchorStudy): Promise<string> {
  const person = await study.person();
  const answer = await person.set(DAY);
  if (answer.status !== 200) throw new Error(answer.text);
  return person.id;
}

/** A stream that is being read. */
export interface Followed {
  events: Emitted[];
  texts: string[];
  ended: boolean;
  status: number;
  headers: Headers;
  stop: () => void;
}

/** Follows a study's events as a browser would. */
export async function follow(
  by: Http,
  studyId: string,
  headers: Record<string, string> = {},
  query = '',
): Promise<Followed> {
  const abort = new AbortController();
  const response = await fetch(`${by.base}/api/studies/${studyId}/events${query}`, {
    headers: {
      ...(by.token && { Authorization: `Bearer ${by.token}` }),
      Accept: 'text/event-stream',
      ...headers,
    },
    signal: abort.signal,
  });
  const followed: Followed = {
    events: [],
    texts: [],
    ended: false,
    status: response.status,
    headers: response.headers,
    stop: () => abort.abort(),
  };
  const read = async () => {
    let text = '';
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const parts = text.split('\n\n');
      text = parts.pop()!;
      for (const part of parts) {
        followed.texts.push(part);
        const data = /^data: (.*)$/m.exec(part)?.[1];
        if (data && !part.includes('event: end')) followed.events.push(JSON.parse(data) as Emitted);
      }
    }
    followed.ended = true;
  };
  read().catch((fault: Error) => {
    if (fault.name !== 'AbortError') throw fault;
  });
  return followed;
}
