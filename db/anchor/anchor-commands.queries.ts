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

/** How long an Idempotency-Key counts, as in db/operations/idempotency.queries.ts. */
const KEY_TTL = `interval '24 hours'`;

/** Whether a command was carried out, or refused, so long ago that the Idempotency-Key behind it counts no more. */
export const isOver = async (tx: Tx, commandId: string): Promise<boolean> =>
  (await tx('anchor_commands')
    .where({ id: commandId })
    .where('created_at', '<', tx.raw(`clock_timestamp() - ${KEY_TTL}`))
    .first('id')) !== undefined;

/**
 * The last result that the workflow of each of these participants was given; those without any are left out. Results
 * may be long: only the last of each is read.
 */
export const lastAnswers = (
  tx: Tx,
  participantIds: readonly string[],
): Promise<{ participant_id: string; outcome: unknown }[]> =>
  prepared(
    tx,
    `select p.id as participant_id, (select jsonb_build_object('waiting', c.outcome->'waiting') from anchor_commands c
      where c.id = last.id) as outcome
     from unnest($1::uuid[]) as p(id) cross join lateral (select a.id from anchor_commands a
       where a.participant_id = p.id order by a.created_at desc limit 1) last`,
    [[...participantIds]],
  );
