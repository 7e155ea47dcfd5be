import type { Signature } from '../models/records.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** A signature with the signed record: a form by its name, or an override decision by its date. */
export interface SignedRecord extends Signature {
  kind: 'form' | 'override';
  what: string;
}

/** A participant's electronic signatures, oldest first. */
export async function signaturesOf(tx: Tx, participantId: string): Promise<SignedRecord[]> {
  const rows = await query<SignedRecord>(
    tx,
    `select s.kind, s.what, s.signature ->> 'meaning' as meaning, s.signature ->> 'name' as name,
      s.signature ->> 'signed_at' as signed_at, s.signature ->> 'proved_by' as proved_by from (
       select 'form' as kind, form_oid as what, signature, signed_at as at, id from form_instances
         where participant_id = $1 and signature is not null
       union all select 'override', new_enrollment_date::text, signature, decided_at, id from override_requests
         where participant_id = $1 and signature is not null) s
     order by s.at, s.id`,
    [participantId],
  );
  return rows;
}
