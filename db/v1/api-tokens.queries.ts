import { raw } from 'objection';
import { ApiTokenRow, User } from '../models/identity.js';
import { lockByName } from '../client/advisory-lock.js';
import { orderClause, page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

/** A token of /api/v1 for display: never the token itself. */
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
  const inserted = await ApiTokenRow.query(tx)
    .insert({
      id: token.id,
      user_id: token.userId,
      name: token.name,
      scopes: [...token.scopes],
      study_ids: [...token.studyIds],
      token_hash: token.hash,
      expires_at: raw(`clock_timestamp() + ? * interval '1 second'`, [token.seconds]),
    })
    .returning('*');
  return orderClause(inserted, COLUMNS);
}

/** A user's tokens that were not revoked, including expired ones. */
export function listApiTokens(tx: Tx, userId: string, paging: Page): Promise<Listed<ApiToken>> {
  return page(
    tx,
    tx('api_tokens').where({ user_id: userId }).whereNull('revoked_at'),
    COLUMNS,
    paging,
    { created_at: 'created_at', expires_at: 'expires_at', name: 'name', last_used_at: 'last_used_at' },
    'id',
  );
}

/** A user's tokens that still work. */
export async function listActiveTokens(tx: Tx, userId: string): Promise<ApiToken[]> {
  return ApiTokenRow.query(tx)
    .where({ user_id: userId })
    .whereNull('revoked_at')
    .where('expires_at', '>', raw('clock_timestamp()'))
    .orderBy(['created_at', 'id'])
    .select(raw(COLUMNS))
    .castTo<ApiToken[]>();
}

/** The number of a user's tokens that still work. Concurrent requests of the user run one after another. */
export async function countActiveTokens(tx: Tx, userId: string): Promise<number> {
  await lockByName(tx, `api tokens ${userId}`);
  return ApiTokenRow.query(tx)
    .where({ user_id: userId })
    .whereNull('revoked_at')
    .where('expires_at', '>', raw('clock_timestamp()'))
    .resultSize();
}

export async function apiTokenById(tx: Tx, id: string): Promise<ApiToken | undefined> {
  return ApiTokenRow.query(tx).findById(id).whereNull('revoked_at').select(raw(COLUMNS)).castTo<ApiToken | undefined>();
}

export async function revokeApiToken(tx: Tx, id: string): Promise<void> {
  await ApiTokenRow.query(tx)
    .findById(id)
    .whereNull('revoked_at')
    .patch({ revoked_at: raw('clock_timestamp()') });
}

/** Revokes all tokens of a user. @returns the ids of those that were not revoked before */
export async function revokeApiTokensOf(tx: Tx, userId: string): Promise<string[]> {
  const rows = await User.relatedQuery<ApiTokenRow>('tokens', tx)
    .for(userId)
    .whereNull('revoked_at')
    .patch({ revoked_at: raw('clock_timestamp()') })
    .returning('id');
  return rows.map(({ id }) => id).sort();
}

export async function tokenUsed(database: Database, id: string): Promise<void> {
  await ApiTokenRow.query(database)
    .findById(id)
    .patch({ last_used_at: raw('clock_timestamp()') });
}
