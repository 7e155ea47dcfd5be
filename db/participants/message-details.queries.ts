import { writeInScope } from '../client/transaction.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

/** Details of a message to a workflow that stay in the database: free text, and the sender's origin. */
export interface MessageDetails {
  reason: string | null;
  ip_address: string | null;
  user_agent: string | null;
}
export interface AddressedParticipant {
  id: string;
  study_id: string;
  site_id: string | null;
  status: string;
  /** The identity was erased. */
  erased: boolean;
  /** Whether the details were stored: the message references them, and does not carry them. */
  kept: boolean;
}
/** A worker without a heartbeat for this long is gone. */
const GONE = `interval '1 minute'`;

/**
 * Reads a message's participant and, in the same round trip, stores its details under `id` for the worker that executes
 * it. Nothing is stored for a missing participant, or a withdrawn one that gets no message, nor while a worker of an
 * earlier release may receive it; nor after an erasure, which has removed such texts: it comes before this, or after.
 *
 * The commit does not wait for the disk (two of the thirty milliseconds of a decision): the decision's own commit
 * flushes it. If the database crashes before, the message is refused, since its details are gone, and sent once more.
 */
export async function addressWithDetails(
  database: Database,
  studyId: string,
  participantId: string,
  { id, reason, ip_address, user_agent, evenWithdrawn }: MessageDetails & { id: string; evenWithdrawn: boolean },
): Promise<AddressedParticipant | undefined> {
  const [rows] = await writeInScope(
    database,
    studyId,
    [
      {
        sql: `with p as materialized (select id, study_id, site_id, status, erased_at is not null as erased
            from participants where id = $1 for key share),
          kept as (insert into message_details (id, study_id, participant_id, reason, ip_address, user_agent)
            select $2, p.study_id, p.id, $3, $4, $5 from p
            where (p.status <> 'withdrawn' or $6 = 'even withdrawn') and not p.erased
              and not exists (select from worker_signs w
                where not w.reads_details and w.seen_at > clock_timestamp() - ${GONE})
            returning id)
          select p.*, exists (select from kept) as kept, set_config('synchronous_commit', 'off', true) from p`,
        values: [participantId, id, reason, ip_address, user_agent, evenWithdrawn ? 'even withdrawn' : ''],
      },
    ],
    'one',
  );
  return (rows as AddressedParticipant[])[0];
}

export const forgetDetails = (tx: Tx, participantId: string) =>
  tx('message_details').where({ participant_id: participantId }).delete();
