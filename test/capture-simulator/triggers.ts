import { createHmac } from 'node:crypto';
import { eventRepeats, instrumentRepeats } from './design.js';
import type { Journal, TriggerEntry } from './journal.js';
import type { CaptureProject } from './project.js';
import type { TriggerConfig } from './types.js';

export interface TriggerFacts {
  record: string;
  instrument: string;
  event: string;
  complete: string;
  repeatInstance: number;
  username: string;
}

const hmac = (secret: string, text: string): string => createHmac('sha256', secret).update(text).digest('hex');

/**
 * The form body of a data entry trigger. Keys that do not apply are absent, not blank: the event name in a classic
 * project, the group of a record in none, instance and instrument of what does not repeat.
 */
export function triggerBody(project: CaptureProject, facts: TriggerFacts, baseUrl: string, version: string): string {
  const { design } = project;
  const p = design.trigger.prefix;
  const pairs: [string, string][] = [
    [`${p}url`, `${baseUrl}/`],
    ['project_url', `${baseUrl}/v${version}/index.php?pid=${design.project_id}`],
    ['project_id', String(design.project_id)],
    ['username', facts.username],
    ['record', facts.record],
  ];
  if (design.longitudinal) pairs.push([`${p}event_name`, facts.event]);
  pairs.push(['instrument', facts.instrument], [`${facts.instrument}_complete`, facts.complete]);
  const group = project.store.get(facts.record)?.group;
  if (group) pairs.push([`${p}data_access_group`, group]);
  const formRepeats = instrumentRepeats(design, facts.event, facts.instrument);
  if (formRepeats || eventRepeats(design, facts.event))
    pairs.push([`${p}repeat_instance`, String(facts.repeatInstance || 1)]);
  if (formRepeats) pairs.push([`${p}repeat_instrument`, facts.instrument]);
  return new URLSearchParams(pairs).toString();
}

/** Where and how a body is sent: the URL with its signature, or the headers with theirs. */
export function signedRequest(
  config: TriggerConfig,
  projectId: number,
  body: string,
  now: Date,
): { url: string; headers: Record<string, string> } {
  const headers: Record<string, string> = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const url = new URL(config.url ?? '');
  if (config.secret !== null && config.signing === 'url')
    url.searchParams.set('signature', hmac(config.secret, `det:${projectId}`));
  if (config.secret !== null && config.signing === 'header') {
    const timestamp = String(Math.floor(now.getTime() / 1000));
    if (config.timestamp) headers['X-Datacapture-Timestamp'] = timestamp;
    headers['X-Datacapture-Signature'] =
      `sha256=${hmac(config.secret, config.timestamp ? `${timestamp}.${body}` : body)}`;
  }
  return { url: url.href, headers };
}

/**
 * Sends one trigger: one attempt within ten seconds, no retry and no alarm. Null where the project has no address for
 * it.
 */
export async function sendTrigger(
  project: CaptureProject,
  body: string,
  journal: Journal,
): Promise<TriggerEntry | null> {
  const { trigger, project_id: projectId } = project.design;
  if (trigger.url === null) return null;
  const started = Date.now();
  const { url, headers } = signedRequest(trigger, projectId, body, new Date(started));
  let status: number | null = null;
  let error: string | null = null;
  try {
    const response = await fetch(url, {
      method: 'POST',
      body,
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(10_000),
    });
    status = response.status;
    await response.arrayBuffer();
  } catch (cause) {
    error =
      cause instanceof Error
        ? `${cause.message}${cause.cause instanceof Error ? `: ${cause.cause.message}` : ''}`
        : String(cause);
  }
  const { 'X-Datacapture-Signature': _signature, ...shown } = headers;
  const entry: TriggerEntry = {
    id: journal.nextId(),
    at: new Date(started).toISOString(),
    project_id: projectId,
    url: url.replace(/signature=[0-9a-f]+/, 'signature=…'),
    body,
    headers: shown,
    status,
    error,
    duration_ms: Date.now() - started,
  };
  journal.addTrigger(entry);
  return entry;
}
