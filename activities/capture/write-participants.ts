import { violatedConstraint } from '../../db/client/connection/driver-faults.js';
import * as captured from '../../db/capture/captured-participants.queries.js';
import type {
  CapturedColumns,
  CapturedRow,
  CaptureFormWrite,
  NewCaptured,
} from '../../db/capture/captured-participants.queries.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import { IDENTITY } from '../../db/participants/erasure.queries.js';
import type { WriteTransaction } from '../../db/client/transaction.js';
import { changedDates, noDates } from '../../workflows/domain/capture/changed-dates.js';
import type { ChangedDates } from '../../workflows/domain/capture/changed-dates.js';
import { isParticipantCode } from '../../workflows/domain/capture/participant.js';
import type { Reading } from '../../workflows/domain/capture/reading.js';
import { neededField, unreadWords } from '../../workflows/domain/capture/reading.js';
import { recordBusy, TriggerRefused } from './client/failure.js';
import { sortBy } from '../util/sort-by.js';
import type { TriggerNotice } from './notice.js';
import { SITE_CLOSED, Sites } from './sites.js';

/** The length of `participants.external_id`. */
const MAX_RECORD_LENGTH = 200;

export interface CaptureOrigin {
  study_id: string;
  form_oid: string;
  /** The field that the enrollment date is mapped to. */
  date_field: string | undefined;
  create_missing_sites: boolean;
  /** The study has ended: its participants are updated, nobody is enrolled. */
  closed: boolean;
  /** For the audit records: the reader of the record. */
  from: Record<string, string>;
}
export interface WrittenParticipant {
  participant_id: string;
  outcome: 'created' | 'updated' | 'unchanged';
  notices: TriggerNotice[];
  /** The participant has moved to another site, or has another code: its workflow shows both. */
  moved: boolean;
  /** The dates changed by this reading. */
  dates: ChangedDates;
  /** These, and those that differ from a signed form, which stays as it is. */
  differing: ChangedDates;
}
export type WriteResult = WrittenParticipant | TriggerRefused;
interface CapturedRecord {
  reading: Reading;
  columns: CapturedColumns;
  notices: TriggerNotice[];
}

/**
 * Creates or updates the participants of records, and the facts behind their anchors: of one record for a trigger, of a
 * batch for a sync. The enrollment date is only a fact here: only the anchor changes the participant's date. Refusals
 * of single records: PARTICIPANT_CODE_TAKEN, INVALID_PARTICIPANT_CODE, RECORD_ID_TOO_LONG, FIELD_NOT_EXPORTED,
 * STUDY_CLOSED, SITE_CLOSED.
 * @param existing the records' participants, if the transaction has locked them already
 */
export async function writeParticipants(
  work: WriteTransaction,
  origin: CaptureOrigin,
  readings: readonly Reading[],
  existing?: ReadonlyMap<string, CapturedRow>,
): Promise<Map<string, WriteResult>> {
  const results = new Map<string, WriteResult>();
  const locked =
    existing ??
    (await captured.lockByExternalId(
      work.tx,
      origin.study_id,
      readings.map(({ record }) => record),
    ));
  const [newcomers, others] = origin.closed
    ? [readings.filter(({ record }) => !locked.has(record)), readings.filter(({ record }) => locked.has(record))]
    : [[], readings];
  for (const { record } of newcomers) results.set(record, studyClosed());
  const sites = new Sites(
    work,
    { id: origin.study_id, create_missing_sites: origin.create_missing_sites },
    { source: 'datacapture', ...origin.from },
  );
  const siteOf = await sites.ofAll(others);
  const fresh: CapturedRecord[] = [],
    known: (CapturedRecord & { row: CapturedRow })[] = [];
  for (const reading of others) {
    const { enrollment_date: _fact, site_code: _code, ...columns } = reading.mapped.values;
    const site = siteOf.get(reading)!;
    const row = locked.get(reading.record);
    const isClosed = site.notice?.code === SITE_CLOSED;
    if (isClosed && !row) {
      results.set(reading.record, new TriggerRefused(SITE_CLOSED, site.notice!.message));
      continue;
    }
    const stays = isClosed && row?.site_id === site.id;
    const each = {
      reading,
      columns: {
        ...columns,
        ...(site.id !== undefined && !isClosed && { site_id: site.id }),
        ...(reading.datacapture_arm !== undefined && { datacapture_arm: reading.datacapture_arm }),
      },
      notices: [...(site.notice && !stays ? [site.notice] : []), ...droppedFrom(reading), ...unreadOf(reading)],
    };
    if (row) known.push({ ...each, row });
    else fresh.push(each);
  }
  await enroll(work, origin, fresh, results);
  await update(work, origin, known, results);
  return results;
}

/**
 * Gives a participant whose record id a person wrote in other cases the capture system's spelling, which ignores them:
 * the record has no second participant. @returns whether there was one
 */
export async function adoptSpellings(
  { tx, audit }: WriteTransaction,
  origin: Pick<CaptureOrigin, 'study_id' | 'from'>,
  records: readonly string[],
): Promise<boolean> {
  const spelled = await captured.otherSpellings(tx, origin.study_id, records);
  if (spelled.length === 0) return false;
  await captured.adoptSpelling(tx, origin.study_id, spelled);
  for (const { id } of spelled)
    audit.record({
      ...about(origin, id),
      action: 'participant_updated',
      metadata: { source: 'datacapture', ...origin.from, fields: ['external_id'] },
    });
  return true;
}

/** Unusable values. */
const droppedFrom = ({ mapped }: Reading): TriggerNotice[] =>
  mapped.dropped.map((name) => ({
    code: 'VALUE_NOT_TAKEN',
    message: `What the capture system has for ${name} was not taken: it is no valid ${name}.`,
  }));

/** Mapped fields that the export lacks. */
const unreadOf = ({ unread = [] }: Reading): TriggerNotice[] =>
  unread.map((each) => ({ code: 'FIELD_NOT_EXPORTED', message: unreadWords(each) }));

const about = (origin: Pick<CaptureOrigin, 'study_id'>, id: string) => ({
  study_id: origin.study_id,
  user_id: null,
  resource_type: 'participant',
  resource_id: id,
});
const sourceOf = (origin: CaptureOrigin, { mapped }: Reading) => ({
  source: 'datacapture',
  ...origin.from,
  ...(mapped.dropped.length > 0 && { dropped: mapped.dropped }),
});
const formStatus = (reading: Reading) => (reading.form_complete ? 'complete' : 'draft');

/** Of records that are no fault: nobody is enrolled in such a study, or at such a site. */
export const enrollsNobody = ({ code }: TriggerRefused): boolean => code === STUDY_CLOSED || code === SITE_CLOSED;

/** The code of `studyClosed`. */
export const STUDY_CLOSED = 'STUDY_CLOSED';
const studyClosed = () =>
  new TriggerRefused(
    STUDY_CLOSED,
    'The study is completed or archived: the record was not enrolled. ' +
      'Once the study is active again, the next poll or a sync enrolls it.',
  );
const codeTaken = () =>
  new TriggerRefused('PARTICIPANT_CODE_TAKEN', 'Another participant of the study has this participant code.');

/** Of a participant that a reading has created. */
const NEW = { moved: false, dates: noDates, differing: noDates };

async function enroll(
  { tx, audit }: WriteTransaction,
  origin: CaptureOrigin,
  cases: readonly CapturedRecord[],
  results: Map<string, WriteResult>,
): Promise<void> {
  const rows: NewCaptured[] = [];
  for (const { reading, columns } of cases) {
    const code = columns.participant_code ?? reading.record.normalize('NFC');
    const needed = neededField(reading.unread ?? []);
    if (needed) {
      results.set(reading.record, new TriggerRefused('FIELD_NOT_EXPORTED', unreadWords(needed)));
    } else if (!isParticipantCode(code)) {
      results.set(
        reading.record,
        new TriggerRefused(
          'INVALID_PARTICIPANT_CODE',
          'The participant code (or the record id in its place) must have 1 to 64 characters without control ' +
            'characters and invisible marks.',
        ),
      );
    } else if (reading.record.length > MAX_RECORD_LENGTH) {
      results.set(
        reading.record,
        new TriggerRefused(
          'RECORD_ID_TOO_LONG',
          `A record id of more than ${MAX_RECORD_LENGTH} characters cannot be kept.`,
        ),
      );
    } else {
      rows.push({
        ...columns,
        record: reading.record,
        participant_code: code,
        form_status: formStatus(reading),
        items: reading.items,
      });
    }
  }
  // Two batches that need the same codes insert them in one order, and never deadlock.
  const made = await captured.enrollCaptured(
    tx,
    origin.study_id,
    origin.form_oid,
    sortBy(rows, ({ participant_code }) => participant_code),
  );
  const left = rows.filter(({ record }) => !made.has(record)).map(({ record }) => record);
  // A user may have enrolled the record concurrently: the next attempt updates that participant.
  if (left.length > 0 && (await captured.lockByExternalId(tx, origin.study_id, left)).size > 0) throw recordBusy(200);
  for (const record of left) results.set(record, codeTaken());
  for (const { reading, columns, notices } of cases) {
    const id = made.get(reading.record);
    if (id === undefined) continue;
    audit.record({
      ...about(origin, id),
      action: 'participant_created',
      metadata: { ...sourceOf(origin, reading), fields: Object.keys(columns) },
    });
    results.set(reading.record, { participant_id: id, outcome: 'created', notices, ...NEW });
  }
}

async function update(
  { tx, audit }: WriteTransaction,
  origin: CaptureOrigin,
  cases: readonly (CapturedRecord & { row: CapturedRow })[],
  results: Map<string, WriteResult>,
): Promise<void> {
  const forms = await captured.captureForms(
    tx,
    cases.map(({ row }) => row.id),
    origin.form_oid,
  );
  const changes = cases.map((each) => ({ ...each, changed: changesOf(each.row, each.columns) }));
  const taken = await takenBy(tx, origin, changes);
  const rows: ({ id: string } & CapturedColumns)[] = [],
    writes: CaptureFormWrite[] = [];
  for (const { reading, row, notices, changed } of changes) {
    if (changed.participant_code !== undefined && taken.has(changed.participant_code)) {
      results.set(reading.record, codeTaken());
      continue;
    }
    if (changed.participant_code !== undefined) taken.add(changed.participant_code);
    const fields = Object.keys(changed);
    if (fields.length > 0) {
      rows.push({ id: row.id, ...changed });
      audit.record({
        ...about(origin, row.id),
        action: 'participant_updated',
        metadata: {
          ...sourceOf(origin, reading),
          fields,
          ...(changed.site_id !== undefined && { site_id: changed.site_id, site_id_before: row.site_id }),
        },
      });
    }
    const { form, frozen } = row.erased ? UNTOUCHED : formAfter(forms.get(row.id), reading, row.id);
    if (form) writes.push(form.write);
    if (form && form.fields.length > 0) {
      audit.record({
        ...about(origin, row.id),
        action: 'form_updated',
        metadata: { ...sourceOf(origin, reading), form_oid: origin.form_oid, fields: form.fields },
      });
    }
    const touched = fields.length + (form?.fields.length ?? 0) > 0;
    results.set(reading.record, {
      participant_id: row.id,
      outcome: touched ? 'updated' : 'unchanged',
      notices: frozen.length > 0 ? [...notices, formFrozen(origin.form_oid, frozen)] : notices,
      moved: changed.site_id !== undefined || changed.participant_code !== undefined,
      dates: changedDates(reading.items, form?.fields ?? [], origin.date_field),
      differing: changedDates(reading.items, [...(form?.fields ?? []), ...frozen], origin.date_field),
    });
  }
  await unlessTaken(() => captured.updateCaptured(tx, rows));
  // A participant in another arm gets that arm's visits from now on.
  if (rows.some(({ datacapture_arm }) => datacapture_arm !== undefined))
    await putOutbox(tx, [
      { topic: 'study-changed', studyId: origin.study_id, subject: origin.study_id, payload: { kind: 'capture' } },
    ]);
  await captured.writeCaptureForms(tx, origin.study_id, origin.form_oid, writes);
}

/** What is not kept of a participant whose identity was erased; nor are items of forms. */
const ERASED: readonly string[] = [...IDENTITY, 'participant_code'];

function changesOf(row: CapturedRow, columns: CapturedColumns): CapturedColumns {
  const names = (Object.keys(columns) as (keyof CapturedColumns)[]).filter(
    (name) => row[name] !== columns[name] && !(row.erased && ERASED.includes(name)),
  );
  return Object.fromEntries(names.map((name) => [name, columns[name]]));
}

async function takenBy(
  tx: WriteTransaction['tx'],
  origin: CaptureOrigin,
  changes: readonly { changed: CapturedColumns }[],
): Promise<Set<string>> {
  const codes = changes.flatMap(({ changed }) => changed.participant_code ?? []);
  return codes.length === 0 ? new Set() : captured.takenCodes(tx, origin.study_id, codes);
}

/** What a reading changes of a form. */
interface FormChange {
  /** Undefined: nothing to write. */
  form?: { write: CaptureFormWrite; fields: string[] };
  /** The items with another value than the signed form, which is not changed. */
  frozen: readonly string[];
}
const UNTOUCHED: FormChange = { frozen: [] };

const formFrozen = (form: string, items: readonly string[]): TriggerNotice => ({
  code: 'FORM_FROZEN',
  message:
    `The form "${form}" is signed here and stays as it is: the capture system has another value for ` +
    `${items.slice(0, 20).join(', ')}.`,
});

/** The form with the facts of a reading; an item that is now empty keeps its value (empty values are not applied). */
function formAfter(form: captured.CaptureForm | undefined, reading: Reading, participantId: string): FormChange {
  const status = formStatus(reading);
  if (!form) {
    const write = { participant_id: participantId, status, items: reading.items };
    return { form: { write, fields: Object.keys(reading.items) }, frozen: [] };
  }
  const fields = Object.keys(reading.items).filter((name) => form.items[name] !== reading.items[name]);
  if (form.status === 'signed' || form.status === 'locked') return { frozen: fields };
  if (fields.length === 0 && form.status === status) return UNTOUCHED;
  const write = { id: form.id, participant_id: participantId, status, items: { ...form.items, ...reading.items } };
  return { form: { write, fields: form.status === status ? fields : [...fields, 'status'] }, frozen: [] };
}

/** Codes are unique in a study: the database decides, since another one may be inserted concurrently. */
async function unlessTaken(write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (fault) {
    // The transaction is lost; the next attempt finds the code's owner.
    if (violatedConstraint(fault) === 'participants_study_id_participant_code_key') throw recordBusy(200);
    throw fault;
  }
}
