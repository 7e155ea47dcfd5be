import { isDeepStrictEqual } from 'node:util';
import { takeAsker } from '../../db/capture/capture-questions.queries.js';
import { findConfig, updateConfig } from '../../db/capture/datacapture-configs.queries.js';
import type { ConfigChange, DatacaptureConfigRow } from '../../db/capture/datacapture-configs.queries.js';
import { lockSchedules, placeInArm, pushesAtEvents, renameEvents } from '../../db/capture/known-events.queries.js';
import { requestPushesAgain } from '../../db/capture/push-requests.queries.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import { withStudyScope } from '../../db/client/transaction.js';
import type { WriteTransaction } from '../../db/client/transaction.js';
import { newArms } from '../../workflows/domain/capture/arms.js';
import { enrollmentEvents } from '../../workflows/domain/capture/enrollment.js';
import { followEvents, renamed, renamedKeys } from '../../workflows/domain/capture/known-events.js';
import type { EventRename, KnownEvents, ListedEvent } from '../../workflows/domain/capture/known-events.js';
import type { CaptureEvent } from '../../workflows/domain/capture/query.js';
import type { CaptureRow } from './client/client.js';
import type { CaptureConnection } from './client/connection.js';
import type { CaptureDeps } from './deps.js';
import { CaptureFailure } from './client/failure.js';

/**
 * Stores the events that the capture system lists. An event renamed there is renamed here: in windows, mapping,
 * `enrollment_event` and visits of every status. Pushes refused under the old name are retried. No visit or schedule
 * version is created.
 * @param questionId names the user who requested the list; none: the service itself
 * @returns the configuration with the new names; null: no event has one
 */
export function noteEvents(
  deps: Pick<CaptureDeps, 'database'>,
  studyId: string,
  listed: readonly ListedEvent[],
  questionId?: string,
): Promise<DatacaptureConfigRow | null> {
  return withStudyScope(deps.database, studyId, async ({ tx, audit }) => {
    const config = await findConfig(tx, studyId, 'for no key update');
    if (!config) return null;
    const { known, renames } = followEvents(config.known_events, listed);
    if (isDeepStrictEqual(known, config.known_events)) return null;
    const change: ConfigChange = { known_events: known };
    const named = renames.filter(({ from, to }) => from !== to);
    if (named.length > 0) Object.assign(change, renamedIn(config, named));
    const arms = newArms(config.known_events, known);
    // Records that were read without an arm are read again.
    if (arms) change.polled_at = null;
    await updateConfig(tx, studyId, change);
    if (arms?.only !== undefined) await placeAll({ tx, audit }, config, arms.only);
    if (renames.length === 0) return null;
    const asker = await takeAsker(tx, { studyId, kind: 'events', id: questionId });
    await lockSchedules(tx, studyId);
    const visits = await renameEvents(tx, studyId, renames);
    const pushes = await pushesAtEvents(
      tx,
      studyId,
      named.map(({ to }) => to),
    );
    await requestPushesAgain(
      tx,
      pushes.map(({ id }) => id),
    );
    // The first schedule of a participant enrolled meanwhile may have the old name. One with the new name stays.
    await putOutbox(tx, [
      { topic: 'study-changed', studyId, subject: studyId, payload: { kind: 'capture', ...asker } },
    ]);
    audit.record({
      study_id: studyId,
      user_id: asker.actor_user_id,
      request_id: asker.request_id,
      action: 'datacapture_events_renamed',
      resource_type: 'datacapture_config',
      resource_id: config.id,
      metadata: { renamed: renames.map(({ from, to }) => ({ from, to })), visits, pushes: pushes.length },
    });
    return (await findConfig(tx, studyId)) ?? null;
  });
}

/** The participants of a project's only arm, as it gets another: visits of the new arm are not theirs. */
async function placeAll(
  { tx, audit }: Pick<WriteTransaction, 'tx' | 'audit'>,
  config: DatacaptureConfigRow,
  arm: number,
) {
  const participants = await placeInArm(tx, config.study_id, arm);
  if (participants === 0) return;
  await putOutbox(tx, [
    { topic: 'study-changed', studyId: config.study_id, subject: config.study_id, payload: { kind: 'capture' } },
  ]);
  audit.record({
    study_id: config.study_id,
    user_id: null,
    action: 'datacapture_arm_added',
    resource_type: 'datacapture_config',
    resource_id: config.id,
    metadata: { participants, in_arm: arm },
  });
}

/** The event names in the configuration. Records of another enrollment event are read as if for the first time. */
function renamedIn(
  config: { event_battery_mapping: ConfigChange['event_battery_mapping'] & object; enrollment_event: string | null },
  renames: readonly EventRename[],
): ConfigChange {
  const before = enrollmentEvents(config.enrollment_event);
  const after = before.map((name) => renamed(renames, name));
  return {
    event_battery_mapping: renamedKeys(renames, config.event_battery_mapping),
    ...(after.join() !== before.join() && { enrollment_event: after.join(','), polled_at: null }),
  };
}

/** An event in the capture system's list. */
export const listedEventOf = (row: CaptureRow): CaptureEvent => ({
  event_id: text(row['event_id']),
  event_name: text(row['event_name']),
  unique_event_name: text(row['unique_event_name']),
  arm_num: whole(row['arm_num']) ?? 1,
  day_offset: whole(row['day_offset']),
  offset_min: whole(row['offset_min']),
  offset_max: whole(row['offset_max']),
});
const text = (value: unknown) => (typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '');
const whole = (value: unknown) => (text(value).trim() !== '' && Number.isInteger(Number(value)) ? Number(value) : null);

/** The events; undefined: a token that may read records but not events still reads and writes records. */
async function eventsListed(
  deps: CaptureDeps,
  { config, client }: CaptureConnection,
): Promise<CaptureEvent[] | undefined> {
  try {
    return (await client.events()).map(listedEventOf);
  } catch (failure) {
    if (!(failure instanceof CaptureFailure && failure.errorType === 'rejected')) throw failure;
    deps.log.warn({ study_id: config.study_id, reason: failure.inShort }, 'the events cannot be read');
    return undefined;
  }
}

/**
 * The configuration after applying renames from the capture system.
 * @param turn before the call
 */
export async function withPresentNames(
  deps: CaptureDeps,
  { config, client }: CaptureConnection,
  turn: () => Promise<void> = () => Promise.resolve(),
): Promise<DatacaptureConfigRow> {
  await turn();
  const listed = await eventsListed(deps, { config, client });
  if (!listed) return config;
  return followed(deps, config, listed);
}

/** The configuration after applying the renames that a list of events shows. */
async function followed(
  deps: Pick<CaptureDeps, 'database'>,
  config: DatacaptureConfigRow,
  listed: readonly ListedEvent[],
): Promise<DatacaptureConfigRow> {
  const { known } = followEvents(config.known_events, listed);
  return (await noteEvents(deps, config.study_id, listed)) ?? { ...config, known_events: known };
}

/**
 * The name of a visit's event in the capture system now, with the events that are known now. After renames another
 * event may have its name: results would stand there as if they were that one's. A name that no event has any more is
 * left as it is: it is refused there, and the next reading follows the rename.
 * @param turn before the call
 */
export async function eventNow(
  deps: CaptureDeps,
  { config, client }: CaptureConnection,
  event: string,
  turn: () => Promise<void>,
): Promise<{ event: string; known: KnownEvents }> {
  const known = config.known_events;
  const own = Object.entries(known).find(([, { name }]) => name === event);
  if (!own) return { event, known };
  const [id, { identity }] = own;
  await turn();
  const listed = await eventsListed(deps, { config, client });
  const holder = listed?.find(({ unique_event_name }) => unique_event_name === event)?.event_id;
  if (!listed || !holder || holder === id) return { event, known };
  const { known_events: after } = await followed(deps, config, listed);
  return { event: Object.values(after).find((each) => each.identity === identity)?.name ?? event, known: after };
}
