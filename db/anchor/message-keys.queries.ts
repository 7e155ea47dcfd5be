import { prepared } from '../client/prepared.js';
import { execute } from '../client/query.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

/** How long an authorization of a replaced key still counts: as long as the API's own may be on their way. */
const OVERLAP_HOURS = 24;

/** Makes a public key the one that authorizations are signed with from now on; the others run out. */
export async function registerMessageKey(database: Database, keyId: string, publicKey: string): Promise<void> {
  await execute(
    database,
    `with own as (
       insert into message_keys (key_id, public_key) values ($1::text, $2)
       on conflict (key_id) do update set superseded_at = null where message_keys.superseded_at is not null)
     update message_keys set superseded_at = clock_timestamp() where key_id <> $1::text and superseded_at is null`,
    [keyId, publicKey],
  );
}

/** The public key (PEM) of a key id; undefined: nobody signs with it, or not any more. */
export async function messageKey(tx: Tx, keyId: string): Promise<string | undefined> {
  const [row] = await prepared<{ public_key: string }>(
    tx,
    `select public_key from message_keys where key_id = $1 and (superseded_at is null or superseded_at > clock_timestamp() - ${OVERLAP_HOURS} * interval '1 hour')`,
    [keyId],
  );
  return row?.public_key;
}

/** Whether a command was carried out, or refused, under this authorization. */
export async function isAuthorizationUsed(tx: Tx, jti: string): Promise<boolean> {
  return (await prepared(tx, 'select 1 from anchor_commands where authorization_id = $1', [jti])).length > 0;
}
