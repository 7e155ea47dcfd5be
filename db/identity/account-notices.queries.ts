import { raw } from 'objection';
import { AccountNoticeRow } from '../models/identity.js';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** What a user is notified of about their own account. */
export type NoticeKind =
  | 'password_changed'
  | 'mfa_enabled'
  | 'mfa_disabled'
  | 'mfa_reset'
  | 'recovery_code_used'
  | 'recovery_codes_renewed'
  | 'new_device'
  | 'api_token_created'
  | 'account_locked'
  | 'reauthentication_locked';
export interface NoticeDetails {
  ip?: string | null;
  user_agent?: string | null;
  /** The name of a token. After a password change: how many tokens of /api/v1 remain valid. */
  token_name?: string;
  tokens_left?: number;
}

/**
 * Stores a notice to be sent.
 * @param quietMinutes no second notice of the kind within that time
 * @returns its id; undefined: one of the kind was stored already
 */
export async function insertNotice(
  tx: Tx,
  notice: { userId: string; kind: NoticeKind; details: NoticeDetails },
  quietMinutes = 0,
): Promise<string | undefined> {
  const rows = await query<{ id: string }>(
    tx,
    `insert into account_notices (user_id, kind, details) select $1::uuid, $2::text, $3::jsonb
     where not exists (select from account_notices n where n.user_id = $1::uuid and n.kind = $2::text
       and n.created_at > clock_timestamp() - $4 * interval '1 minute')
     returning id`,
    [notice.userId, notice.kind, JSON.stringify(notice.details), quietMinutes],
  );
  return rows[0]?.id;
}

export interface AccountNotice {
  kind: NoticeKind;
  details: NoticeDetails;
  user_id: string;
  email: string;
  created_at: string;
  /** Accurate to the minute. */
  at: string;
}

/** An unsent notice of an active user. */
export async function noticeToSend(tx: Tx, id: string): Promise<AccountNotice | undefined> {
  return AccountNoticeRow.query(tx)
    .alias('n')
    .joinRelated('user', { alias: 'u' })
    .where({ 'n.id': id, 'u.status': 'active' })
    .whereNull('n.sent_at')
    .select('n.kind', 'n.details', 'n.created_at', 'n.user_id', 'u.email')
    .select(raw(`to_char(n.created_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"') as at`))
    .first()
    .castTo<AccountNotice | undefined>();
}

/** Marks a notice as sent and removes its details. */
export async function noticeSent(tx: Tx, id: string): Promise<void> {
  await AccountNoticeRow.query(tx)
    .findById(id)
    .patch({ sent_at: raw('clock_timestamp()'), details: {} });
}
