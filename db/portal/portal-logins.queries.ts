import type { TokenOrigin } from '../identity/users.queries.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** Whose logins: a participant's, or a caregiver's. */
export type Whose = { participant_id: string } | { caregiver_id: string };

/** A refresh token with what decides whether it may be used. */
export interface PortalTokenRow {
  id: string;
  family_id: string;
  study_id: string;
  participant_id: string | null;
  caregiver_id: string | null;
  usable: boolean;
  rotated: boolean;
  /** Its holder takes part; a caregiver's: is active, and cares for somebody who does. */
  let_in: boolean;
  /** Of a caregiver. */
  session_epoch: number | null;
}
export interface PortalLogin {
  id: string;
  created_at: string;
  last_used_at: string;
  expires_at: string;
  user_agent: string | null;
  ip_address: string | null;
}

/** @returns the family: a new one where none is given */
export async function insertPortalToken(
  tx: Tx,
  token: {
    study_id: string;
    whose: Whose;
    family_id?: string | undefined;
    hash: Buffer;
    days: number;
    origin: TokenOrigin;
  },
): Promise<string> {
  const { participant_id = null, caregiver_id = null } = token.whose as {
    participant_id?: string;
    caregiver_id?: string;
  };
  const rows = await query<{ family_id: string }>(
    tx,
    `insert into portal_refresh_tokens (family_id, study_id, participant_id, caregiver_id, token_hash, expires_at, user_agent, ip_address)
     values (coalesce($1, gen_random_uuid()), $2, $3, $4, $5, clock_timestamp() + $6 * interval '1 day', $7, $8) returning family_id`,
    [
      token.family_id ?? null,
      token.study_id,
      participant_id,
      caregiver_id,
      token.hash,
      token.days,
      token.origin.userAgent?.slice(0, 500) ?? null,
      token.origin.ip,
    ],
  );
  return rows[0]!.family_id;
}

/** The token behind a hash, locked: of two who refresh with it at once, the second sees it rotated. */
export async function portalTokenForUpdate(tx: Tx, hash: Buffer): Promise<PortalTokenRow | undefined> {
  const rows = await query<PortalTokenRow>(
    tx,
    `select t.id, t.family_id, t.study_id, t.participant_id, t.caregiver_id, t.rotated_at is not null as rotated,
       t.revoked_at is null and t.expires_at > clock_timestamp() as usable, c.session_epoch,
       case when t.participant_id is not null then p.status = 'enrolled'
         else c.status = 'active' and exists (select from caregiver_participants k join participants x on x.id = k.participant_id
           where k.caregiver_id = c.id and x.status = 'enrolled') end as let_in
     from portal_refresh_tokens t left join participants p on p.id = t.participant_id left join caregivers c on c.id = t.caregiver_id
     where t.token_hash = $1 for update of t`,
    [hash],
  );
  return rows[0];
}

export const markPortalTokenRotated = async (tx: Tx, id: string): Promise<void> => {
  await tx('portal_refresh_tokens')
    .where({ id })
    .update({ rotated_at: tx.raw('clock_timestamp()') });
};

/** Ends a login: its refresh token and its portal tokens. @returns its holder; undefined: it had ended, or is not there */
export async function endPortalLogin(
  tx: Tx,
  familyId: string,
): Promise<{ study_id: string; participant_id: string | null; caregiver_id: string | null } | undefined> {
  const [ended] = (await tx('portal_refresh_tokens')
    .where({ family_id: familyId, ended_at: null })
    .update({ ended_at: tx.raw('clock_timestamp()'), revoked_at: tx.raw('coalesce(revoked_at, clock_timestamp())') })
    .returning(['study_id', 'participant_id', 'caregiver_id'])) as {
    study_id: string;
    participant_id: string | null;
    caregiver_id: string | null;
  }[];
  return ended;
}

/** The logins that can still be refreshed, the one that was used last first. */
export async function portalLoginsOf(tx: Tx, whose: Whose): Promise<PortalLogin[]> {
  const [[column, id]] = Object.entries(whose) as [['participant_id' | 'caregiver_id', string]];
  const rows = await query<PortalLogin>(
    tx,
    `select t.family_id as id, (select min(f.created_at) from portal_refresh_tokens f where f.family_id = t.family_id) as created_at,
       t.created_at as last_used_at, t.expires_at, t.user_agent, t.ip_address
     from portal_refresh_tokens t where t.${column === 'participant_id' ? 'participant_id' : 'caregiver_id'} = $1
       and t.rotated_at is null and t.revoked_at is null and t.expires_at > clock_timestamp()
     order by t.created_at desc, t.id`,
    [id],
  );
  return rows;
}
