import { createHash } from 'node:crypto';
import type { TokenOrigin } from './users.queries.js';
import { raw } from 'objection';
import { LoginFailure, User } from '../models/identity.js';
import { query } from '../client/query.js';
import { networkOf } from './caller-network.js';
import type { Database } from '../client/database.js';
import type { Tx } from '../client/database.js';

/** After this many failures an origin is locked; after this many of all unknown devices, all of these are. */
const MAX_FAILURES = 5,
  MAX_ACCOUNT_FAILURES = 25;
const LOCK = `interval '15 minutes'`;
const NOT_LOCKED = '(locked_until is null or locked_until <= clock_timestamp())';
/** A device without a login for this long counts as new. */
const KNOWN_DAYS = 90;

/** The origin of a login, as the account knows it. */
export interface LoginOrigin {
  /** The key that failures are counted by: a device that has logged in before, else the address. */
  key: string;
  known: boolean;
  /** The account has had a login before. */
  usedBefore: boolean;
  locked: boolean;
}

const digest = (...parts: string[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex');

/**
 * Whether the account knows this address and browser, and whether it may try. A device that logged in before has its
 * own counter: failures elsewhere do not lock it.
 */
export async function originOf(
  db: Database | Tx,
  userId: string,
  { ip, userAgent }: TokenOrigin,
): Promise<LoginOrigin> {
  const device = digest('device', ip ?? '', (userAgent ?? '').replaceAll(/[0-9][0-9._]*/g, ''));
  const address = digest('address', networkOf(ip ?? ''));
  const [origin] = await query<{ known: boolean; used_before: boolean; locked: boolean }>(
    db,
    `with d as (
       select exists (select from refresh_tokens t where t.user_id = $1 and t.ip_address is not distinct
         from $2 and device_name(t.user_agent) = device_name($3)
           and t.created_at > clock_timestamp() - ${KNOWN_DAYS} * interval '1 day') as known,
         exists (select from refresh_tokens t where t.user_id = $1) as used_before)
     select d.known, d.used_before,
       exists (select from login_failures f where f.user_id = $1 and f.locked_until > clock_timestamp()
         and f.origin = case when d.known then $4 else $5 end)
         or (not d.known and exists (select from users u where u.id = $1 and u.locked_until > clock_timestamp())) as
           locked from d`,
    [userId, ip, userAgent, device, address],
  );
  const { known, used_before: usedBefore, locked } = origin!;
  return { key: known ? device : address, known, usedBefore, locked };
}

/**
 * Counts a failed login of an origin; the fifth locks it for 15 minutes. Failures of many origins lock the account for
 * all unknown ones.
 * @returns what was locked
 */
export async function countFailedLogin(
  tx: Tx,
  userId: string,
  { key, known }: LoginOrigin,
): Promise<'origin' | 'account' | undefined> {
  await LoginFailure.query(tx)
    .where({ user_id: userId })
    .where('updated_at', '<', raw(`clock_timestamp() - interval '1 day'`))
    .delete();
  const rows = await query<{ locked: boolean }>(
    tx,
    `insert into login_failures as f (user_id, origin, failures) values ($1, $2, 1)
     on conflict (user_id, origin) do update set updated_at = clock_timestamp(),
       failures = case when f.failures + 1 >= ${MAX_FAILURES} then 0 else f.failures + 1 end,
       locked_until = case when f.failures + 1 >= ${MAX_FAILURES} then clock_timestamp() + ${LOCK} else f.locked_until
         end
     where f.locked_until is null or f.locked_until <= clock_timestamp()
     returning coalesce(f.locked_until > clock_timestamp(), false) as locked`,
    [userId, key],
  );
  if (!known && (await countAtAccount(tx, userId))) return 'account';
  return rows[0]?.locked === true ? 'origin' : undefined;
}

/** @returns whether this failure locked the account */
async function countAtAccount(tx: Tx, userId: string): Promise<boolean> {
  const isLast = `failed_logins + 1 >= ${MAX_ACCOUNT_FAILURES}`;
  const [counted] = await User.query(tx)
    .where({ id: userId })
    .whereRaw(NOT_LOCKED)
    .patch({
      failed_logins: raw(`case when ${isLast} then 0 else failed_logins + 1 end`),
      locked_until: raw(`case when ${isLast} then clock_timestamp() + ${LOCK} else locked_until end`),
    })
    .returning(raw('coalesce(locked_until > clock_timestamp(), false) as locked'))
    .castTo<{ locked: boolean }[]>();
  return counted?.locked === true;
}

/**
 * The counter of wrong identity proofs within one login. It locks the proofs of that login only: the thief of an access
 * token can't lock the user out.
 */
export async function proofsOf(db: Database | Tx, userId: string, login: string): Promise<LoginOrigin> {
  const key = digest('proof', login);
  const lock = await LoginFailure.query(db)
    .findById([userId, key])
    .where('locked_until', '>', raw('clock_timestamp()'))
    .select('user_id');
  return { key, known: true, usedBefore: true, locked: lock !== undefined };
}

/** A correct proof clears the counter of its login. */
export async function clearProofs(tx: Tx, userId: string, { key }: LoginOrigin): Promise<void> {
  await LoginFailure.query(tx).deleteById([userId, key]);
}

/** A complete login clears the counter of its origin, and the account's unless that is locked. */
export async function clearOrigin(tx: Tx, userId: string, { key }: LoginOrigin): Promise<void> {
  await LoginFailure.query(tx).deleteById([userId, key]);
  await User.query(tx)
    .where({ id: userId })
    .where('failed_logins', '>', 0)
    .whereRaw(NOT_LOCKED)
    .patch({ failed_logins: 0 });
}

/** Clears all counters and locks of an account: its owner chose a new password by a mailed link. */
export async function clearFailedLogins(tx: Tx, userId: string): Promise<void> {
  await LoginFailure.query(tx).where({ user_id: userId }).delete();
  await User.query(tx)
    .where({ id: userId })
    .whereRaw('(failed_logins > 0 or locked_until is not null)')
    .patch({ failed_logins: 0, locked_until: null });
}
