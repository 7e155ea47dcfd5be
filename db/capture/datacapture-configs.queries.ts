import { lockByName } from '../client/advisory-lock.js';
import { runTogether } from '../client/builders.js';
import { SecretBox } from '../client/crypto.js';
import type { Statement } from '../client/one-trip.js';
import { CaptureConfig } from '../models/capture.js';
import { OF_SITES } from '../studies/sites.queries.js';
import type { KnownEventRow } from './known-events.queries.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** A row of datacapture_configs; secrets only as ciphertext. */
export interface DatacaptureConfigRow {
  id: string;
  study_id: string;
  api_url: string;
  api_token_encrypted: string;
  project_id: string | null;
  enrollment_instrument: string | null;
  enrollment_event: string | null;
  participant_field_mapping: Record<string, string>;
  event_battery_mapping: Record<string, EventBattery>;
  data_field_mapping: Record<string, DataFields>;
  webhook_enabled: boolean;
  webhook_secret_encrypted: string | null;
  webhook_auth: 'header' | 'url';
  poll_interval_minutes: number;
  /** An unknown site code or data access group becomes a site of the study. */
  create_missing_sites: boolean;
  /** By event id (workflows/domain/capture/known-events.ts). */
  known_events: Record<string, KnownEventRow>;
  /** Start of the last complete poll; null: the next poll reads everything. */
  polled_at: string | null;
  last_webhook_received: string | null;
  last_sync_at: string | null;
  sync_status: 'pending' | 'active' | 'error';
  sync_error_message: string | null;
  created_at: string;
  updated_at: string;
}
export interface EventBattery {
  battery_id: number;
  target_day: number;
  window_before: number;
  window_after: number;
}
export interface DataFields {
  datacapture_instrument: string;
  fields: Record<string, string>;
}

type Column = Exclude<keyof DatacaptureConfigRow, 'id' | 'study_id' | 'created_at' | 'updated_at'>;
export type ConfigChange = Partial<Pick<DatacaptureConfigRow, Column>>;

const json = new Set<string>([
  'participant_field_mapping',
  'event_battery_mapping',
  'data_field_mapping',
  'known_events',
]);
const columns = (change: ConfigChange) =>
  Object.fromEntries(
    Object.entries(change).map(([name, value]) => [name, json.has(name) ? JSON.stringify(value) : value]),
  );

/** The storage place of a secret, authenticated with its ciphertext (db/client/crypto.ts). */
export const tokenPlace = (studyId: string) => `datacapture_configs/${studyId}/api_token`;
/** The place of a token under trial: it decrypts for this address only. */
export const trialPlace = (studyId: string, apiUrl: string) => `datacapture_trials/${studyId}/api_token/${apiUrl}`;
export const webhookSecretPlace = (studyId: string) => `datacapture_configs/${studyId}/webhook_secret`;

const CONFIG = 'select * from datacapture_configs where study_id = $1';
/** Statement for a study's configuration. */
export const configStatement = (studyId: string): Statement => ({ sql: CONFIG, values: [studyId] });

/** Statement for whether a study takes part in the exchange (`datacapture_enabled`). */
export const exchangeStatement = (studyId: string): Statement => ({
  sql: 'select datacapture_enabled as is_on from studies where id = $1',
  values: [studyId],
});

/** Whether a study takes part in the exchange. */
export async function isExchanging(tx: Tx, studyId: string): Promise<boolean> {
  const { sql, values } = exchangeStatement(studyId);
  return (await query<{ is_on: boolean }>(tx, sql, values))[0]?.is_on === true;
}

/**
 * @param lock prevents changes until the transaction ends. Rows that reference it can be inserted meanwhile: a starting
 * push does not wait for a change, which may wait for that push.
 */
export async function findConfig(
  tx: Tx,
  studyId: string,
  lock?: 'for no key update',
): Promise<DatacaptureConfigRow | undefined> {
  const found = CaptureConfig.query(tx).findOne({ study_id: studyId });
  if (lock) void found.forNoKeyUpdate();
  return found.castTo<DatacaptureConfigRow | undefined>();
}

/**
 * The configuration of a study, locked until the commit. So is one that is not there yet: of two requests that make it,
 * the second changes what the first has made.
 */
export async function configForUpdate(tx: Tx, studyId: string): Promise<DatacaptureConfigRow | undefined> {
  await lockByName(tx, `capture configuration ${studyId}`);
  return findConfig(tx, studyId, 'for no key update');
}

/** The configuration of a study and the names of its batteries, which its mapping refers to; in one round trip. */
export async function configWithBatteries(
  tx: Tx,
  studyId: string,
): Promise<{ config: DatacaptureConfigRow | undefined; batteries: { id: number; name: string }[] }> {
  const [configs, batteries] = await runTogether<[DatacaptureConfigRow, { id: number; name: string }]>(tx, [
    tx('datacapture_configs').where({ study_id: studyId }).select('*'),
    tx('batteries').where({ study_id: studyId }).orderBy('code').limit(500).select('id', 'name'),
  ]);
  return { config: configs[0], batteries };
}

export async function insertConfig(tx: Tx, studyId: string, values: ConfigChange): Promise<DatacaptureConfigRow> {
  const [row] = await tx('datacapture_configs')
    .insert({ study_id: studyId, ...columns(values) })
    .returning('*');
  return row as DatacaptureConfigRow;
}

export async function updateConfig(tx: Tx, studyId: string, values: ConfigChange): Promise<DatacaptureConfigRow> {
  const [row] = await tx('datacapture_configs').where({ study_id: studyId }).update(columns(values)).returning('*');
  return row as DatacaptureConfigRow;
}

/** Sets the capture system's connection fault; `null`: none. @returns whether it differs from the one before */
export async function noteConnection(tx: Tx, studyId: string, fault: string | null): Promise<boolean> {
  const values: ConfigChange =
    fault === null
      ? { sync_status: 'active', sync_error_message: null }
      : { sync_status: 'error', sync_error_message: fault };
  const query = tx('datacapture_configs').where({ study_id: studyId });
  // The same fault is not written again: otherwise each fetch of a burst would rewrite the row.
  if (fault === null) query.where({ sync_status: 'error' });
  else query.whereRaw('(sync_status, coalesce(sync_error_message, ?)) is distinct from (?, ?)', ['', 'error', fault]);
  return (await query.update(values)) > 0;
}

/** What a caller of the capture system used. */
export type UsedConnection = Pick<DatacaptureConfigRow, 'api_url' | 'api_token_encrypted'>;

/**
 * Whether a study's connection is still this one; it stays so until the transaction ends. What was learned by another
 * address or token tells nothing of the present one.
 */
export async function isStillConnected(tx: Tx, studyId: string, used: UsedConnection): Promise<boolean> {
  const present = await findConfig(tx, studyId, 'for no key update');
  return present?.api_url === used.api_url && present.api_token_encrypted === used.api_token_encrypted;
}

/** Numbers of visits whose results are pending, pushed or failed. */
export async function pushCounts(tx: Tx, studyId: string): Promise<PushCounts> {
  const rows = await query<PushCounts>(tx, PUSH_COUNTS, [studyId]);
  return rows[0]!;
}
export interface PushCounts {
  pending: number;
  synced: number;
  failed: number;
}
const PUSH_COUNTS = `select count(*) filter (where data_sync_status = 'pending') as pending,
            count(*) filter (where data_sync_status = 'synced') as synced,
            count(*) filter (where data_sync_status = 'failed') as failed
       from scheduled_visits where study_id = $1 and data_sync_status is not null and ${OF_SITES}`;
export const pushCountsStatement = (studyId: string): Statement => ({
  sql: PUSH_COUNTS,
  values: [studyId],
  customPlan: true,
});

export interface Rotation {
  rotated: number;
  already: number;
  studies: string[];
}

/**
 * Re-encrypts every stored token and secret, from one key to another, in the caller's transaction: all or none. Those
 * under the new key already stay, so that a second run does nothing.
 * @throws SecretUnreadable with the reason, when one decrypts with neither key.
 */
export async function rotateSecrets(tx: Tx, from: SecretBox, to: SecretBox): Promise<Rotation> {
  const rows: DatacaptureConfigRow[] = await tx('datacapture_configs').orderBy('study_id').forNoKeyUpdate();
  const rotation: Rotation = { rotated: 0, already: 0, studies: [] };
  for (const row of rows) {
    const change: ConfigChange = {};
    const token = reencrypt(row.api_token_encrypted, tokenPlace(row.study_id), from, to);
    if (token) change.api_token_encrypted = token;
    const secret =
      row.webhook_secret_encrypted &&
      reencrypt(row.webhook_secret_encrypted, webhookSecretPlace(row.study_id), from, to);
    if (secret) change.webhook_secret_encrypted = secret;
    if (Object.keys(change).length === 0) {
      rotation.already += 1;
      continue;
    }
    await updateConfig(tx, row.study_id, change);
    rotation.rotated += 1;
    rotation.studies.push(row.study_id);
  }
  return rotation;
}

export function reencrypt(sealed: string, place: string, from: SecretBox, to: SecretBox): string | undefined {
  if (sealed.split(':')[1] === to.keyId) {
    to.open(sealed, place);
    return undefined;
  }
  return to.seal(from.open(sealed, place), place);
}

/** The battery ids of these that the study does not have. The others are not deleted before the commit. */
export async function unknownBatteries(tx: Tx, studyId: string, ids: readonly number[]): Promise<number[]> {
  const known: number[] = await tx('batteries')
    .where({ study_id: studyId })
    .whereIn('id', [...ids])
    .orderBy('id')
    .forKeyShare()
    .pluck('id');
  return ids.filter((id) => !known.includes(id));
}
