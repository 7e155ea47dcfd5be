import type { Tx } from '../../db/knex.js';
import * as captured from '../../db/queries/captured-participants.js';
import type { CapturedColumns, CapturedRow } from '../../db/queries/captured-participants.js';
import type { Work } from '../../db/transaction.js';
import { isParticipantCode, matchesGroup } from '../../workflows/domain/capture/participant.js';
import type { MappedParticipant } from '../../workflows/domain/capture/participant.js';
import { TriggerRefused } from './failure.js';

/** After so long a new participant's workflow is started by the relay, if its trigger has not done so. */
const START_LATER_SECONDS = 60;

export interface Reading {
  study_id: string;
  event_id: string;
  record: string;
  form_oid: string;
  form_complete: boolean;
  mapped: MappedParticipant;
  /** The record's data access group, by its unique name. */
  group: string | undefined;
  items: Record<string, string>;
}
export interface Written { participant_id: string; outcome: 'created' | 'updated' | 'unchanged' }

/**
 * Makes or updates the participant of a record, and the facts that its anchor is decided from (trigger rules 4, 5).
 * The enrollment date itself is only a fact here: the anchor alone changes the participant's date.
 * @throws TriggerRefused PARTICIPANT_CODE_TAKEN, INVALID_PARTICIPANT_CODE
 */
export async function writeParticipant({ tx, audit }: Work, reading: Reading): Promise<Written> {
  const { study_id, mapped } = reading;
  const existing = await captured.lockByExternalId(tx, study_id, reading.record);
  const columns = await columnsOf(tx, reading, existing);
  const about = { study_id, user_id: null, resource_type: 'participant' };
  const origin = { source: 'datacapture', webhook_event_id: reading.event_id, ...(mapped.dropped.length > 0 && { dropped: mapped.dropped }) };

  if (!existing) {
    const code = columns.participant_code ?? reading.record;
    if (!isParticipantCode(code)) throw new TriggerRefused('INVALID_PARTICIPANT_CODE', 'The participant code (or the record id in its place) must have 1 to 64 characters without control characters.');
    const id = await unlessTaken(() => captured.insertCaptured(tx, study_id, reading.record, { ...columns, participant_code: code }));
    await captured.startParticipantLater(tx, study_id, id, columns.site_id ?? null, START_LATER_SECONDS);
    await captured.insertCaptureForm(tx, study_id, id, reading.form_oid, { status: formStatus(reading), items: reading.items });
    audit.record({ ...about, action: 'participant_created', resource_id: id, metadata: { ...origin, fields: Object.keys(columns) } });
    return { participant_id: id, outcome: 'created' };
  }

  const changed = changes(existing, columns);
  const fields = Object.keys(changed);
  if (fields.length > 0) {
    await unlessTaken(() => captured.updateCaptured(tx, existing.id, changed));
    audit.record({ ...about, action: 'participant_updated', resource_id: existing.id, metadata: { ...origin, fields } });
  }
  const items = await writeForm(tx, reading, existing.id);
  if (items.length > 0) {
    audit.record({ ...about, action: 'form_updated', resource_id: existing.id, metadata: { ...origin, form_oid: reading.form_oid, fields: items } });
  }
  return { participant_id: existing.id, outcome: fields.length + items.length > 0 ? 'updated' : 'unchanged' };
}

async function columnsOf(tx: Tx, reading: Reading, existing: CapturedRow | undefined): Promise<CapturedColumns> {
  const { enrollment_date: _fact, site_code, ...columns } = reading.mapped.values;
  const site = await siteOf(tx, reading.study_id, site_code, reading.group);
  return { ...columns, ...(site && site !== existing?.site_id && { site_id: site }) };
}

/** The mapped site code says the site, else the data access group does; a site that the study does not have is none. */
async function siteOf(tx: Tx, studyId: string, code: string | undefined, group: string | undefined): Promise<string | undefined> {
  if (code === undefined && group === undefined) return undefined;
  const sites = await captured.sitesOf(tx, studyId);
  const named = sites.find((site) => site.site_code === code);
  return (named ?? (group === undefined ? undefined : sites.find((site) => matchesGroup(site.site_code, group))))?.id;
}

function changes(existing: CapturedRow, columns: CapturedColumns): CapturedColumns {
  const names = (Object.keys(columns) as (keyof CapturedColumns)[]).filter((name) => existing[name] !== columns[name]);
  return Object.fromEntries(names.map((name) => [name, columns[name]]));
}

const formStatus = (reading: Reading) => (reading.form_complete ? 'complete' : 'draft');

/** Stores the facts; an item that is empty now stays as it was (empty values are not applied). @returns what changed */
async function writeForm(tx: Tx, reading: Reading, participantId: string): Promise<string[]> {
  const form = await captured.findCaptureForm(tx, participantId, reading.form_oid);
  const status = formStatus(reading);
  if (!form) {
    await captured.insertCaptureForm(tx, reading.study_id, participantId, reading.form_oid, { status, items: reading.items });
    return Object.keys(reading.items);
  }
  // What somebody signed here stays what was signed.
  if (form.status === 'signed' || form.status === 'locked') return [];
  const fields = Object.keys(reading.items).filter((name) => form.items[name] !== reading.items[name]);
  if (fields.length === 0 && form.status === status) return [];
  await captured.updateCaptureForm(tx, { id: form.id, status, items: { ...form.items, ...reading.items } });
  return form.status === status ? fields : [...fields, 'status'];
}

/** Codes are unique in a study: the database has the word, since somebody may take one at this moment. */
async function unlessTaken<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (fault) {
    if ((fault as { constraint?: unknown }).constraint !== 'participants_study_id_participant_code_key') throw fault;
    throw new TriggerRefused('PARTICIPANT_CODE_TAKEN', 'Another participant of the study has this participant code.');
  }
}
