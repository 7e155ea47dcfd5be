import { FormInstance } from '../models/records.js';
import { orderClause, page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import type { Tx } from '../client/database.js';

const COLUMNS =
  'id, study_id, participant_id, form_oid, status, items, signed_at, signed_by_id, signature, ' +
  'signature_verified, locked_at, origin, imported, imported_by, original_users, created_at, updated_at';

export function listForms(
  tx: Tx,
  participantId: string,
  filter: Page & { form_oid?: string | undefined; status?: string | undefined },
): Promise<Listed<FormInstance>> {
  const found = tx('form_instances')
    .where('participant_id', participantId)
    .modify((q) => {
      if (filter.form_oid) q.where('form_oid', filter.form_oid);
      if (filter.status) q.where('status', filter.status);
    });
  return page(tx, found, COLUMNS, filter, { created_at: 'created_at', form_oid: 'form_oid' }, 'id');
}

export async function formForUpdate(tx: Tx, participantId: string, id: string): Promise<FormInstance | undefined> {
  return FormInstance.query(tx).findById(id).where({ participant_id: participantId }).forUpdate();
}

export async function insertForm(
  tx: Tx,
  form: Partial<FormInstance> & { study_id: string; participant_id: string; form_oid: string },
): Promise<FormInstance> {
  return orderClause(await FormInstance.query(tx).insert(form).returning('*'), COLUMNS);
}

/** Bytes of all items of a participant's forms. */
export async function sizeOfForms(tx: Tx, participantId: string): Promise<number> {
  const sum = (await tx('form_instances')
    .where('participant_id', participantId)
    .first(tx.raw('coalesce(sum(octet_length(items::text)), 0)::integer as bytes'))) as { bytes: number };
  return sum.bytes;
}

export async function updateForm(tx: Tx, id: string, change: Partial<FormInstance>): Promise<FormInstance> {
  return orderClause(await FormInstance.query(tx).patchAndFetchById(id, change), COLUMNS);
}
