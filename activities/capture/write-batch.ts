import { nowMs } from '../../db/client/clock.js';
import { currentPolicy, notifyCoordinators } from '../../db/capture/captured-participants.queries.js';
import { lockAnchorsOfRecords, lockByExternalId } from '../../db/capture/captured-participants.queries.js';
import type { CapturedRow } from '../../db/capture/captured-participants.queries.js';
import type { DatacaptureConfigRow } from '../../db/capture/datacapture-configs.queries.js';
import {
  forgetReadings,
  readAgain,
  releaseRecords,
  storeReadings,
} from '../../db/capture/datacapture-records.queries.js';
import type { RecordClaim } from '../../db/capture/datacapture-records.queries.js';
import { storeOutcomes } from '../../db/capture/datacapture-syncs.queries.js';
import type { RecordOutcome } from '../../db/capture/datacapture-syncs.queries.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import { keepOutImports } from '../../db/participants/import-lock.queries.js';
import type { WriteTransaction } from '../../db/client/transaction.js';
import { enrollmentArm } from '../../workflows/domain/capture/arms.js';
import { dateRefused, requiresOverride } from '../../workflows/domain/capture/changed-dates.js';
import { enrollmentOf, hasForm } from '../../workflows/domain/capture/enrollment.js';
import { latestDay } from '../../workflows/domain/util/dates.js';
import {
  absentFields,
  neededField,
  readingOf,
  unreadFields,
  withheldFields,
} from '../../workflows/domain/capture/reading.js';
import type { Reading } from '../../workflows/domain/capture/reading.js';
import type { ExportRow } from '../../workflows/domain/capture/record.js';
import { decideBatch } from '../anchor/decide-batch.js';
import type { EvaluationSummary, EnsureScheduleOptions } from '../anchor/decide-batch.js';
import { rulesOf } from './client/export.js';
import type { ExportPlan } from './client/export.js';
import { formNotExported, TriggerRefused } from './client/failure.js';
import { readingHashOf } from './record-hashes.js';
import { isUnsettled } from './sites.js';
import { adoptSpellings, enrollsNobody, STUDY_CLOSED, writeParticipants } from './write-participants.js';
import type { WrittenParticipant } from './write-participants.js';

export interface ReadBatch {
  sync_id: string;
  /** The sync found that records vanished: a new one may be one of them. */
  vanished: boolean;
  config: DatacaptureConfigRow;
  plan: ExportPlan;
  missing: ReadonlySet<string>;
  rows: ReadonlyMap<string, ExportRow[]>;
  claims: ReadonlyMap<string, RecordClaim>;
}

interface Read {
  reading: Reading;
  reading_hash: string;
  known: boolean;
}

/**
 * Writes the data of a batch of records, each as its trigger would: participants, facts, decisions with schedules, and
 * the outcome of each record, all in one transaction. @returns how many records are still to be read
 */
export async function writeBatch(work: WriteTransaction, batch: ReadBatch): Promise<{ left: number }> {
  const { tx } = work;
  const { config, sync_id } = batch;
  const { study_id } = config;
  const outcomes: RecordOutcome[] = [];
  await keepOutImports(tx, study_id);
  const { policy, closed } = await currentPolicy(tx, study_id);
  const read = readingsOf(batch, policy, outcomes);
  const withheld = outcomes.filter(({ issues }) => issues.length > 0).map(({ record }) => record);
  const claimedAt = [...batch.claims.values()].map(({ claimed_at }) => claimed_at).sort()[0]!;
  const ours = await storeReadings(
    tx,
    study_id,
    sync_id,
    claimedAt,
    read.map(({ reading, reading_hash }) => ({ record: reading.record, reading_hash })),
  );
  const held = read.filter(({ reading }) => ours.has(reading.record));
  const changed = held.filter(({ known }) => !known).map(({ reading }) => reading.record);
  const haveAnchors = await lockAnchorsOfRecords(tx, study_id, changed);
  const records = held.map(({ reading }) => reading.record);
  let existing = new Map<string, CapturedRow>();
  // Everybody has an anchor: where there is none, there is nobody. A first sync looks for its records once less.
  if (haveAnchors || changed.length < records.length) existing = await lockByExternalId(tx, study_id, records);
  const adopted = await adoptSpellings(
    work,
    { study_id, from: { sync_id } },
    records.filter((record) => !existing.has(record)),
  );
  if (adopted) existing = await lockByExternalId(tx, study_id, records);
  for (const { reading } of held.filter((each) => each.known && existing.has(each.reading.record))) {
    outcomes.push({
      record: reading.record,
      outcome: 'unchanged',
      participant_id: existing.get(reading.record)!.id,
      issues: [],
    });
  }
  const fresh = held.filter((each) => !(each.known && existing.has(each.reading.record)));
  const open = await writeFresh(
    work,
    batch,
    { readings: fresh.map(({ reading }) => reading), existing, closed },
    outcomes,
  );
  await readAgain(tx, study_id, open);
  const lacking = fresh.filter(({ reading }) => existing.has(reading.record) && neededField(reading.unread ?? []));
  await forgetReadings(tx, study_id, [...withheld, ...lacking.map(({ reading }) => reading.record)]);
  const left = [...batch.claims.keys()].filter((record) => !ours.has(record));
  await releaseRecords(tx, study_id, left, sync_id);
  return { left: await storeOutcomes(tx, batch, outcomes) };
}

function readingsOf(
  { config, plan, missing, rows, claims }: ReadBatch,
  policy: unknown,
  outcomes: RecordOutcome[],
): Read[] {
  const rules = {
    instrument: plan.instrument,
    mapping: config.participant_field_mapping,
    policy,
    missing,
    latestDay: latestDay(nowMs()),
    boxes: plan.boxes,
  };
  const enrolls = rulesOf(plan);
  const read: Read[] = [];
  for (const [record, claim] of claims) {
    const own = rows.get(record) ?? [];
    const enrollment = enrollmentOf(own, enrolls);
    if (own.length === 0) {
      outcomes.push(
        failedRecord(record, {
          code: 'RECORD_NOT_FOUND',
          message: 'The record was deleted or renamed while it was being read.',
        }),
      );
    } else if (!enrollment) {
      // Without values the form was never opened; its status field shows that it is exported nevertheless.
      const { code, message } = formNotExported(plan.instrument);
      const issues = hasForm(own, plan.instrument) ? [] : [{ code, message }];
      outcomes.push({ record, outcome: 'skipped', participant_id: null, issues });
    } else {
      const arm = enrollmentArm(config.known_events, enrollment.event);
      const absent = absentFields(own, config.participant_field_mapping);
      const unread =
        plan.mapped && absent.length > 0 ? unreadFields(absent, plan.mapped, withheldFields(own, plan.free ?? [])) : [];
      const reading = readingOf(record, enrollment.values, { ...rules, arm, unread });
      const reading_hash = readingHashOf(reading, config.participant_field_mapping);
      read.push({ reading, reading_hash, known: !claim.read_again && claim.reading_hash === reading_hash });
    }
  }
  return read;
}

const failedRecord = (record: string, { code, message }: { code: string; message: string }): RecordOutcome => ({
  record,
  outcome: 'failed',
  participant_id: null,
  issues: [{ code, message }],
});

/** Writes new or changed records. @returns those of which something is left to be taken later */
async function writeFresh(
  work: WriteTransaction,
  { config, sync_id, plan }: ReadBatch,
  {
    readings,
    existing,
    closed,
  }: { readings: readonly Reading[]; existing: ReadonlyMap<string, CapturedRow>; closed: boolean },
  outcomes: RecordOutcome[],
): Promise<string[]> {
  if (readings.length === 0) return [];
  const { study_id, create_missing_sites } = config;
  const results = await writeParticipants(
    work,
    {
      study_id,
      form_oid: plan.instrument,
      date_field: config.participant_field_mapping['enrollment_date'],
      create_missing_sites,
      closed,
      from: { sync_id },
    },
    readings,
    existing,
  );
  const written = new Map<string, WrittenParticipant>();
  const open: string[] = [];
  for (const [record, result] of results) {
    if (!(result instanceof TriggerRefused)) {
      written.set(record, result);
      if (isUnsettled(result.notices)) open.push(record);
      continue;
    }
    if (result.code !== STUDY_CLOSED) open.push(record);
    const outcome = failedRecord(record, result);
    outcomes.push(enrollsNobody(result) ? { ...outcome, outcome: 'skipped' } : outcome);
  }
  const decided = await decideBatch(
    work,
    study_id,
    new Map([...written.values()].map((result) => [result.participant_id, ensuring(result)])),
  );
  for (const [record, result] of written) outcomes.push(outcomeOf(record, result, decided.get(result.participant_id)!));
  await tell(
    work,
    study_id,
    sync_id,
    [...written.values()].map((result) => ({ result, decided: decided.get(result.participant_id)! })),
  );
  return open;
}

const ensuring = ({ outcome, dates }: WrittenParticipant): EnsureScheduleOptions =>
  outcome === 'created' ? 'always' : dates.any ? 'of_date' : 'by_policy';

function outcomeOf(
  record: string,
  { participant_id, outcome, notices, differing }: WrittenParticipant,
  decided: EvaluationSummary,
): RecordOutcome {
  const held = requiresOverride(differing, decided);
  const refusedDate = dateRefused(decided);
  return {
    record,
    participant_id,
    outcome: held ? 'override_required' : outcome,
    issues: [
      ...notices,
      ...(refusedDate === null ? [] : [{ code: 'DATE_NOT_TAKEN', message: refusedDate }]),
      ...(held
        ? [
            {
              code: 'OVERRIDE_REQUIRED',
              message: 'The capture system has another date; the anchor is final, and nothing was moved.',
            },
          ]
        : []),
    ],
  };
}

/** Notifies coordinators of dates that need an override, and workflows whose waiting state changed. */
async function tell(
  { tx }: WriteTransaction,
  studyId: string,
  syncId: string,
  all: readonly { result: WrittenParticipant; decided: EvaluationSummary }[],
): Promise<void> {
  for (const { result, decided } of all) {
    if (requiresOverride(result.differing, decided))
      await notifyCoordinators(tx, studyId, result.participant_id, {
        id: syncId,
        key: `${result.participant_id}/${result.differing.mapped ?? decided.candidate}`,
      });
  }
  const awake = all.filter(({ result, decided }) => result.outcome !== 'created' && (decided.changed || result.moved));
  await putOutbox(
    tx,
    awake.map(({ result }) => ({ topic: 'sources-changed', studyId, subject: result.participant_id })),
  );
}
