import type { Database, Tx } from '../knex.js';
import { page } from './paging.js';
import type { Listed, Page } from './paging.js';

/** A token of /api/v1 as it is shown: never the token itself. */
export interface ApiToken {
  id: string;
  user_id: string;
  name: string;
  scopes: string[];
  study_ids: string[];
  created_at: string;
  expires_at: string;
  last_used_at: string | null;
}
const COLUMNS = 'id, user_id, name, scopes, study_ids, created_at, expires_at, last_used_at';

export async function insertApiToken(
  tx: Tx,
  token: {
    id: string;
    userId: string;
    name: string;
    scopes: readonly string[];
    studyIds: readonly string[];
    hash: Buffer;
    seconds: number;
  },
): Promise<ApiToken> {
  const { rows } = await tx.raw(
    `insert into api_tokens (id, user_id, name, scopes, study_ids, token_hash, expires_at)
     values (?, ?, ?, ?::text[], ?::uuid[], ?, clock_timestamp() + ? * interval '1 second') returning ${COLUMNS}`,
    [token.id, token.userId, token.name, [...token.scopes], [...token.studyIds], token.hash, token.seconds],
  );
  return rows[0];
}

/** A user's tokens that were not revoked, the expired ones among them. */
export function listApiTokens(tx: Tx, userId: string, at: Page): Promise<Listed<ApiToken>> {
  return page(
    tx,
    tx('api_tokens').where({ user_id: userId }).whereNull('revoked_at'),
    COLUMNS,
    at,
    { created_at: 'created_at', expires_at: 'expires_at', name: 'name', last_used_at: 'last_used_at' },
    'id',
  );
}

/** A user's tokens that still work. */
export async function listActiveTokens(tx: Tx, userId: string): Promise<ApiToken[]> {
  const { rows } = await tx.raw(
    `select ${COLUMNS} from api_tokens where user_id = ? and revoked_at is null and expires_at > clock_timestamp() order by created_at, id`,
    [userId],
  );
  return rows;
}

export async function apiTokenById(tx: Tx, id: string): Promise<ApiToken | undefined> {
  return (await tx.raw(`select ${COLUMNS} from api_tokens where id = ? and revoked_at is null`, [id])).rows[0];
}

export async function revokeApiToken(tx: Tx, id: string): Promise<void> {
  await tx('api_tokens')
    .where({ id })
    .whereNull('revoked_at')
    .update({ revoked_at: tx.raw('clock_timestamp()') });
}

/** Ends all tokens of a user. @returns the ids of those that were not revoked before */
export async function revokeApiTokensOf(tx: Tx, userId: string): Promise<string[]> {
  const { rows } = await tx.raw(
    'update api_tokens set revoked_at = clock_timestamp() where user_id = ? and revoked_at is null returning id',
    [userId],
  );
  return (rows as { id: string }[]).map(({ id }) => id).sort();
}

export async function tokenUsed(database: Database, id: string): Promise<void> {
  await database.raw('update api_tokens set last_used_at = clock_timestamp() where id = ?', [id]);
}
