import { Consent } from '../models/records.js';
import { orderClause, page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import type { Tx } from '../client/database.js';

const COLUMNS =
  'id, study_id, participant_id, consent_version_id, status, signed_at, revoked_at, purpose, imported, ' +
  'imported_by, original_users, created_at, updated_at';

export const listConsents = (tx: Tx, participantId: string, paging: Page): Promise<Listed<Consent>> =>
  page(
    tx,
    tx('consents').where('participant_id', participantId),
    COLUMNS,
    paging,
    { created_at: 'created_at', signed_at: 'signed_at' },
    'id',
  );

export async function consentForUpdate(tx: Tx, participantId: string, id: string): Promise<Consent | undefined> {
  return Consent.query(tx).findById(id).where({ participant_id: participantId }).forUpdate();
}

export async function insertConsent(
  tx: Tx,
  consent: Partial<Consent> & { study_id: string; participant_id: string },
): Promise<Consent> {
  return orderClause(await Consent.query(tx).insert(consent).returning('*'), COLUMNS);
}

export async function updateConsent(tx: Tx, id: string, change: Partial<Consent>): Promise<Consent> {
  return orderClause(await Consent.query(tx).patchAndFetchById(id, change), COLUMNS);
}
