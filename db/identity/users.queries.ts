import { raw } from 'objection';
import { MfaChallenge, RefreshToken, User } from '../models/identity.js';
import { queryAllAsPlanned } from '../client/query.js';
import type { Statement } from '../client/one-trip.js';
import { query } from '../client/query.js';
import type { LinkPurpose } from './user-links.queries.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

export interface UserRow {
  id: string;
  email: string;
  name: string;
  role: string;
  status: 'active' | 'inactive';
  study_ids: string[];
  site_ids: string[];
  mfa_enabled: boolean;
  created_at: string;
  updated_at: string;
}
export interface UserSecret {
  id: string;
  email: string;
  name: string;
  role: string;
  status: 'active' | 'inactive';
  password_hash: string;
  locked: boolean;
  session_epoch: number;
}

const COLUMNS = `u.id, u.email, u.name, u.role, u.status, u.created_at, u.updated_at,
  array(select s.study_id from user_studies s where s.user_id = u.id order by 1) as study_ids,
  array(select s.site_id from user_sites s where s.user_id = u.id order by 1) as site_ids,
  exists (select from user_mfa m where m.user_id = u.id and m.verified_at is not null) as mfa_enabled`;

export async function userById(db: Database | Tx, id: string): Promise<UserRow | undefined> {
  return db('users as u').where('u.id', id).first(db.raw(COLUMNS)) as Promise<UserRow | undefined>;
}

const SECRET = `id, email, name, role, status, password_hash, coalesce(locked_until > now(), false) as locked,
  session_epoch`;
/** The stored secret of a login; emails are compared without case. */
export async function userSecretByEmail(db: Database | Tx, email: string): Promise<UserSecret | undefined> {
  return db('users').whereRaw('lower(email) = lower(?)', [email]).first(db.raw(SECRET)) as Promise<
    UserSecret | undefined
  >;
}
/** The same by id, locked until the commit: logins and their ends run one after another. */
export async function userSecretForUpdate(tx: Tx, id: string): Promise<UserSecret | undefined> {
  return tx('users').where({ id }).forUpdate().first(tx.raw(SECRET)) as Promise<UserSecret | undefined>;
}

export interface UserFilter {
  role?: string | undefined;
  status?: string | undefined;
  search?: string | undefined;
  skip: number;
  limit: number;
  sort: string;
}

/** Users with the number of all matches; `search` matches anywhere in email or name, literally. */
export const listUsers = (tx: Tx, filter: UserFilter) => pageOfUsers<UserRow>(tx, filter, COLUMNS);

/** The last mail with a link to choose a password, which the mail server refused for good. */
export interface RefusedLink {
  purpose: LinkPurpose;
  reason: string;
  at: string;
}
export type UserWithLink = UserRow & { refused_link: RefusedLink | null };

/** Null once another link was made or a password chosen. The audit log has the refusal. */
const REFUSED_LINK = `(select jsonb_build_object('purpose', a.audit_metadata ->> 'purpose', 'reason',
  a.audit_metadata ->> 'reason', 'at', a.created_at)
  from audit_log a join lateral (select created_at, used_at from user_links where user_id = u.id
    order by created_at desc limit 1) l on l.used_at is null and l.created_at < a.created_at
  where a.resource_type = 'user' and a.resource_id = u.id::text and a.action = 'user_link_refused'
  order by a.created_at desc limit 1) as refused_link`;

/** Users as `listUsers`, each with a link that did not arrive. */
export const listUsersWithLinks = (tx: Tx, filter: UserFilter) =>
  pageOfUsers<UserWithLink>(tx, filter, `${COLUMNS}, ${REFUSED_LINK}`);

async function pageOfUsers<Row extends UserRow>(
  tx: Tx,
  filter: UserFilter,
  columns: string,
): Promise<{ items: Row[]; total: number }> {
  const found = tx('users as u').modify((q) => {
    if (filter.role) q.where('u.role', filter.role);
    if (filter.status) q.where('u.status', filter.status);
    if (filter.search) q.whereRaw(`position(folded(?) in folded(u.email || ' ' || u.name)) > 0`, [filter.search]);
  });
  const [{ count }] = (await found.clone().count<{ count: number }[]>('*')) as [{ count: number }];
  const descending = filter.sort.startsWith('-');
  const items = (await found
    .select(tx.raw(columns))
    .orderBy([
      { column: `u.${descending ? filter.sort.slice(1) : filter.sort}`, order: descending ? 'desc' : 'asc' },
      { column: 'u.id' },
    ])
    .offset(filter.skip)
    .limit(filter.limit)) as Row[];
  return { items, total: count };
}

export async function insertUser(
  tx: Tx,
  user: { email: string; name: string; role: string; password_hash: string },
): Promise<string> {
  const [row] = (await tx('users').insert(user).returning('id')) as [{ id: string }];
  return row.id;
}

export async function updateUser(tx: Tx, id: string, change: Record<string, unknown>): Promise<void> {
  if (Object.keys(change).length > 0) await tx('users').where({ id }).update(change);
}

/** Each once, in whichever case it is written. */
const distinct = (ids: readonly string[]): string[] => [...new Set(ids.map((id) => id.toLowerCase()))];

/** Replaces a user's assigned studies; also touches the user, so that its ETag changes. */
export async function assignStudies(tx: Tx, userId: string, studyIds: readonly string[]): Promise<void> {
  await tx('user_studies').where({ user_id: userId }).delete();
  if (studyIds.length > 0)
    await tx('user_studies').insert(distinct(studyIds).map((study_id) => ({ user_id: userId, study_id })));
  await tx('users').where({ id: userId }).update({ updated_at: tx.fn.now() });
}

export async function assignSites(tx: Tx, userId: string, siteIds: readonly string[]): Promise<void> {
  await tx('user_sites').where({ user_id: userId }).delete();
  if (siteIds.length > 0)
    await tx('user_sites').insert(distinct(siteIds).map((site_id) => ({ user_id: userId, site_id })));
  await tx('users').where({ id: userId }).update({ updated_at: tx.fn.now() });
}

/** The `ids` that are no row of `table` (in the transaction's scope). */
export async function missingIds(tx: Tx, table: 'studies' | 'sites', ids: readonly string[]): Promise<string[]> {
  const found = new Set<string>(
    await tx(table)
      .whereIn('id', [...ids])
      .pluck('id'),
  );
  return ids.filter((id) => !found.has(id.toLowerCase()));
}

/** The `siteIds` whose study is not in `studyIds` (in the transaction's scope). */
export async function sitesOutside(tx: Tx, siteIds: readonly string[], studyIds: readonly string[]): Promise<string[]> {
  return tx('sites')
    .whereIn('id', [...siteIds])
    .whereNotIn('study_id', [...studyIds])
    .pluck('id');
}

/**
 * Locks a user, and the active admins, in one order: changes of one user run one after another, and so do those of two
 * admins who deactivate each other. @returns how many other active admins there are
 */
export async function lockUserAndAdmins(tx: Tx, id: string): Promise<number> {
  const rows = await tx('users')
    .where({ role: 'admin', status: 'active' })
    .orWhere({ id })
    .orderBy('id')
    .forUpdate()
    .select('id');
  return rows.filter((row) => row.id !== id).length;
}

// --- refresh tokens: opaque, stored as hashes, rotated at every use

export interface RefreshRow {
  id: string;
  family_id: string;
  user_id: string;
  /** Not revoked. */
  stands: boolean;
  rotated: boolean;
  expired: boolean;
  role: string;
  status: string;
  session_epoch: number;
  mfa_enabled: boolean;
}

/** The origin of a login, for the user's list of logins. */
export interface TokenOrigin {
  userAgent: string | null;
  ip: string | null;
}

/** @returns the family: a new one where none is given */
export async function insertRefreshToken(
  tx: Tx,
  token: { userId: string; familyId?: string | undefined; hash: Buffer; days: number; origin: TokenOrigin },
): Promise<string> {
  const { family_id } = await RefreshToken.query(tx)
    .insert({
      family_id: token.familyId ?? raw('gen_random_uuid()'),
      user_id: token.userId,
      token_hash: token.hash,
      expires_at: raw(`now() + ? * interval '1 day'`, [token.days]),
      user_agent: token.origin.userAgent,
      ip_address: token.origin.ip,
    })
    .returning('family_id');
  return family_id;
}

/**
 * The token of a hash, locked: of two concurrent refreshes, the second sees it rotated. Its user is locked first, as by
 * who ends logins: a token that was made meanwhile would not be ended.
 */
export async function refreshTokenForUpdate(tx: Tx, hash: Buffer): Promise<RefreshRow | undefined> {
  const token = await RefreshToken.query(tx).findOne({ token_hash: hash }).select('user_id');
  if (!token) return undefined;
  await userSecretForUpdate(tx, token.user_id);
  return tx('refresh_tokens as t')
    .join('users as u', 'u.id', 't.user_id')
    .where('t.token_hash', hash)
    .forUpdate('t')
    .first(
      't.id',
      't.family_id',
      't.user_id',
      'u.role',
      'u.status',
      'u.session_epoch',
      tx.raw('t.rotated_at is not null as rotated'),
      tx.raw('t.revoked_at is null as stands'),
      tx.raw('t.expires_at <= now() as expired'),
      tx.raw('exists (select from user_mfa m where m.user_id = u.id and m.verified_at is not null) as mfa_enabled'),
    );
}

export const markRotated = async (tx: Tx, id: string): Promise<void> => {
  await RefreshToken.query(tx)
    .findById(id)
    .patch({ rotated_at: raw('now()') });
};
export const revokeFamily = async (tx: Tx, familyId: string): Promise<void> => {
  await RefreshToken.query(tx)
    .where({ family_id: familyId })
    .whereNull('revoked_at')
    .patch({ revoked_at: raw('now()') });
};
export interface LoginSessionRow {
  id: string;
  created_at: string;
  last_used_at: string;
  expires_at: string;
  user_agent: string | null;
  ip_address: string | null;
}

const sessionsStatement = (userId: string): Statement => ({
  sql: `select t.family_id as id, (select min(f.created_at) from refresh_tokens f
    where f.family_id = t.family_id) as created_at, t.created_at as last_used_at, t.expires_at, t.user_agent,
    t.ip_address
     from refresh_tokens t where t.user_id = $1 and t.rotated_at is null and t.revoked_at is null
       and t.expires_at > now() order by t.created_at desc, t.id`,
  values: [userId],
});

/** A user's logins that can still be refreshed, the last used first. */
export async function sessionsOf(tx: Tx, userId: string): Promise<LoginSessionRow[]> {
  const { sql, values } = sessionsStatement(userId);
  return query<LoginSessionRow>(tx, sql, values);
}

/** A user with open logins and a link that did not arrive, in one round trip. */
export async function userWithLogins(
  tx: Tx,
  id: string,
): Promise<{ user: UserRow | undefined; logins: LoginSessionRow[]; refused_link: RefusedLink | null }> {
  const selected = (columns: string): Statement => {
    const { sql, bindings } = tx('users as u').where('u.id', id).select(tx.raw(columns)).toSQL().toNative();
    return { sql, values: bindings as string[] };
  };
  const [users, logins, links] = await queryAllAsPlanned(tx, [
    selected(COLUMNS),
    sessionsStatement(id),
    selected(REFUSED_LINK),
  ]);
  return {
    user: users![0] as UserRow | undefined,
    logins: logins as LoginSessionRow[],
    refused_link: (links![0] as Pick<UserWithLink, 'refused_link'> | undefined)?.refused_link ?? null,
  };
}

/** Whether the login belongs to the user and is open. */
export async function familyOf(tx: Tx, userId: string, familyId: string): Promise<boolean> {
  return (await sessionsOf(tx, userId)).some(({ id }) => id === familyId);
}

/** Whether a login (the family of its refresh tokens) began within so many minutes. */
export async function loginIsRecent(tx: Tx, familyId: string, minutes: number): Promise<boolean> {
  const login = await RefreshToken.query(tx)
    .where({ family_id: familyId })
    .select(raw(`min(created_at) > clock_timestamp() - ? * interval '1 minute' as recent`, [minutes]))
    .first()
    .castTo<{ recent: boolean | null } | undefined>();
  return login?.recent === true;
}

/** Ends every login of a user: refresh tokens and their access tokens. */
export async function revokeAllOf(tx: Tx, userId: string): Promise<void> {
  await RefreshToken.query(tx)
    .where({ user_id: userId })
    .whereNull('revoked_at')
    .patch({ revoked_at: raw('now()') });
  await MfaChallenge.query(tx).where({ user_id: userId }).delete();
  await User.query(tx).findById(userId).increment('session_epoch', 1);
}

/** The names of users, by their ids. */
export async function namesOfUsers(tx: Tx, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = (await tx('users')
    .whereIn('id', [...new Set(ids)])
    .select('id', 'name')) as { id: string; name: string }[];
  return new Map(rows.map(({ id, name }) => [id, name]));
}
