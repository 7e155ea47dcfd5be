import type { Enrolled } from './enroll.js';
import { addressesOf } from './place.js';
import type { Stage } from './place.js';
import { countByStatus } from './records.js';
import type { Anchor, HistoryEntry, List, Participant, Schedule } from './records.js';
import { demand, table } from './telling.js';
import type { Telling } from './telling.js';

/** The required order; other events of the participant may come between. */
const STORY = [
  'ENROLLMENT_DATE_PROPOSED',
  'ENROLLMENT_DATE_FINALIZED',
  'ENROLLMENT_DATE_OVERRIDE_REQUESTED',
  'ENROLLMENT_DATE_OVERRIDE_GRANTED',
];

/** The last chapter: everything can be read again and cannot have been altered. Returns the closing table. */
export async function prove(
  telling: Telling,
  stage: Stage,
  { participantId }: Pick<Enrolled, 'participantId'>,
): Promise<string> {
  const {
    admin,
    coordinator,
    study,
    place: { run },
  } = stage;
  const at = addressesOf(stage, participantId);
  await telling.step('What the service emitted', async (tell) => {
    const path = `/api/studies/${study.id}/events?participant_id=${participantId}`;
    const { items } = await coordinator.get<List<{ type: string; occurred_at: string }>>(path);
    const told = items.map(({ type }) => type).filter((type) => STORY.includes(type));
    demand(told.join() === STORY.join(), `The events are ${items.map(({ type }) => type).join(', ')}.`);
    for (const { type, occurred_at } of items) tell(clock(occurred_at), type);
    tell('see', `${run.api}${path}`);
  });
  await telling.step('The participant’s history, from the first proposal on', async (tell) => {
    const entries = (await coordinator.get<HistoryEntry[]>(at.history)).reverse();
    demand(
      entries.map(({ event_type }) => event_type).join() === 'PROPOSED,FINALIZED,OVERRIDE_REQUESTED,OVERRIDE_GRANTED',
      `The history is ${entries.map(({ event_type }) => event_type).join(', ')}.`,
    );
    for (const entry of entries) {
      const delta = entry.change_delta_days
        ? `, ${entry.change_delta_days > 0 ? '+' : ''}${entry.change_delta_days} days`
        : '';
      tell(
        clock(entry.created_at),
        `${entry.event_type}: ${entry.enrollment_date_value}, ${entry.status_before ?? 'unset'} → ` +
          `${entry.status_after}${delta}, by ${entry.actor_type}${entry.reason ? `: ${entry.reason}` : ''}`,
      );
    }
    tell('see', `${run.api}${at.history}`);
  });
  const valid = await telling.step('The study’s audit chain is computed again from its first record', async (tell) => {
    const path = `/api/audit/verify?study_id=${study.id}`;
    const verdict = await admin.get<{ valid: boolean; rows: number; head: string }>(path);
    demand(verdict.valid && verdict.rows > 0, `The audit chain is ${verdict.valid ? 'empty' : 'broken'}.`);
    tell('chain', `${verdict.rows} records, valid, head ${verdict.head.slice(0, 16)}…`);
    tell('see', `${run.api}${path}`);
    return verdict.valid;
  });
  return closingTable(stage, valid);
}

async function closingTable({ coordinator, study, ...rest }: Stage, valid: boolean): Promise<string> {
  const { items } = await coordinator.get<List<Participant>>(`/api/studies/${study.id}/participants?sort=created_at`);
  const rows = await Promise.all(
    items.map(async ({ id, participant_code }) => {
      const at = addressesOf({ coordinator, study, ...rest }, id);
      const [anchor, { schedule_version, visits }] = await Promise.all([
        coordinator.get<Anchor>(at.anchor),
        coordinator.get<Schedule>(at.schedule),
      ]);
      const date =
        anchor.enrollment_date === null
          ? anchor.status
          : `${anchor.enrollment_date} ${anchor.status}${anchor.is_override ? ', overridden' : ''}`;
      const versions =
        schedule_version === null
          ? 'none'
          : `${schedule_version.version_number}, current from ${schedule_version.anchor_date_used}`;
      return [participant_code, date, versions, countByStatus(visits), valid ? 'yes' : 'no'];
    }),
  );
  return table(['participant', 'anchor', 'versions', 'visits', 'audit valid'], rows);
}

const clock = (instant: string): string => `${instant.slice(11, 19)} UTC`;
