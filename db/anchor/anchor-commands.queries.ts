import type { Tx } from '../client/database.js';
import type { Statement } from '../client/one-trip.js';
import { prepared } from '../client/query.js';
import { insertInto, insertStatement } from '../client/sets/bulk-insert.js';
import type { MessageDetails } from '../participants/message-details.queries.js';

/** What the database knows of a message to a participant's workflow. */
export interface KnownMessage {
  /** The result of an earlier attempt at the same command; null: there was none. */
  earlier: unknown;
  /** Details of the message that are stored with the API. */
  details: MessageDetails | null;
  /** Public key (PEM) that its authorization names; null: unknown or expired. */
  public_key: string | null;
  /** Whether a command was carried out, or refused, under its authorization. */
  is_used: boolean;
}

/**
 * How long an authorization signed by a replaced key stays valid: as long as the API's own messages may be in transit.
 */
const KEY_OVERLAP = `interval '24 hours'`;

/** Reads a `KnownMessage`. Runs as its own statement after the lock, so that it sees what was committed meanwhile. */
export const knownMessageStatement = (message: {
  commandId: string;
  participantId: string;
  detailsId: string | null;
  keyId: string | null;
  authorizationId: string | null;
}): Statement => ({
  sql: `select (select c.outcome from anchor_commands c where c.id = $1) as earlier,
      (select jsonb_build_object('reason', d.reason, 'ip_address', d.ip_address, 'user_agent', d.user_agent)
       from message_details d where d.id = $2::uuid and d.participant_id = $3) as details,
      (select k.public_key from message_keys k where k.key_id = $4
         and (k.superseded_at is null or k.superseded_at > clock_timestamp() - ${KEY_OVERLAP})) as public_key,
      exists (select from anchor_commands u where u.authorization_id = $5::uuid) as is_used`,
  values: [message.commandId, message.detailsId, message.participantId, message.keyId, message.authorizationId],
});

/** What the workflows of these participants wait for, as they were told last. Absent: it was told nothing yet. */
export async function lastWaitingFor(tx: Tx, participantIds: readonly string[]): Promise<Map<string, string[]>> {
  const rows = await prepared<{ participant_id: string; waiting_for: string[] | null }>(
    tx,
    // Outcomes are long: only the last one of each is read.
    `select c.participant_id, c.outcome #> '{waiting,waiting_for}' as waiting_for
     from unnest($1::uuid[]) p(id) cross join lateral (
       select m.id from anchor_commands m where m.participant_id = p.id order by m.created_at desc, m.id limit 1) newest
     join anchor_commands c on c.id = newest.id`,
    [[...participantIds]],
  );
  return new Map(rows.map(({ participant_id, waiting_for }) => [participant_id, waiting_for ?? []]));
}

export interface CommandWrite {
  id: string;
  study_id: string;
  participant_id: string;
  kind: string;
  outcome: unknown;
  authorization_id: string | null;
}
/** Stores a command's result: a repeated command gets the same answer. */
export const rememberCommandStatement = (command: CommandWrite): Statement =>
  insertStatement(
    insertInto<CommandWrite>(
      'anchor_commands',
      ['id', 'study_id', 'participant_id', 'kind', 'outcome', 'authorization_id'],
      [command],
    ),
  );
