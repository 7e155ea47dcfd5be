import { execute } from '../client/query.js';
import type { Database } from '../client/database.js';

/** Makes a public key the current one for authorizations; earlier keys expire. */
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
