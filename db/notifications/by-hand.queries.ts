import { query } from '../client/query.js';
import type { Statement } from '../client/query.js';
import type { Tx } from '../client/database.js';
import type { ByHandFacts } from '../../workflows/domain/notifications/by-hand.js';

/** A visit whose participant is to be reminded by hand, and what became of reminders before. */
export interface ByHandRow extends ByHandFacts {
  study_id: string;
  participant_id: string;
  visit_id: string;
  due_at: string;
  /** The last one that was sent. */
  last: { sent_at: string; channel: string } | null;
  /** The next one that is planned. */
  next: { due_at: string; channel: string } | null;
  /** One by hand that is on its way, or was made so lately that the same click made it. */
  just_now: string | null;
}

const SECONDS_OF_A_CLICK = 60;
const OF_VISIT = `n.participant_id = p.id and (n.visit_id = v.id or n.visit_key = v.visit_key or n.of_visit_key = v.visit_key) and n.kind in ('visit_reminder', 'visit_missed')`;

/** What a reminder by hand depends on, as a statement. */
export const byHandStatement = (visitId: string): Statement => ({
  sql: `select v.study_id, v.participant_id, v.id as visit_id, clock_timestamp() as due_at, null as days_before,
      jsonb_build_object('name', v.name, 'status', v.status, 'target_date', v.target_date, 'window_open', v.window_open, 'window_close', v.window_close) as visit,
      p.status as participant_status, p.participant_code, p.preferred_language, coalesce(p.timezone, t.timezone, s.timezone) as zone, p.email, p.phone,
      array(select k.token from push_tokens k where k.participant_id = p.id order by k.created_at) as push_tokens,
      array(select x.channel::text from notification_opt_outs x where x.participant_id = p.id) as opted_out_of,
      array(select x.channel::text from dead_addresses x where x.participant_id = p.id) as dead,
      s.status as study_status, s.study_code, s.study_name, t.site_code, t.name as site_name, coalesce(s.config -> 'notifications', '{}') as settings,
      (select jsonb_build_object('sent_at', n.sent_at, 'channel', n.channel) from notifications n where ${OF_VISIT} and n.status = 'sent' order by n.sent_at desc limit 1) as last,
      (select jsonb_build_object('due_at', n.due_at, 'channel', n.channel) from notifications n where ${OF_VISIT} and n.status = 'pending' and n.visit_key is not null order by n.due_at limit 1) as next,
      (select n.id from notifications n where ${OF_VISIT} and n.visit_key is null and n.of_visit_key is null
         and (n.status = 'pending' or (n.status = 'sent' and n.created_at > clock_timestamp() - interval '${SECONDS_OF_A_CLICK} seconds')) order by n.created_at desc limit 1) as just_now
    from scheduled_visits v join participants p on p.id = v.participant_id join studies s on s.id = v.study_id left join sites t on t.id = p.site_id
    where v.id = $1`,
  values: [visitId],
});

/** What a reminder by hand depends on. The visit's row is held until the commit: two clicks are one after the other. */
export async function lockByHand(tx: Tx, visitId: string): Promise<ByHandRow | undefined> {
  await tx('scheduled_visits').where({ id: visitId }).forNoKeyUpdate().select('id');
  const { sql, values } = byHandStatement(visitId);
  return (await query<ByHandRow>(tx, sql, values))[0];
}

/** A reminder that is to be sent at once. @returns its id */
export async function insertByHand(
  tx: Tx,
  { study_id, participant_id, visit_id }: Pick<ByHandRow, 'study_id' | 'participant_id' | 'visit_id'>,
  { kind, channel }: { kind: string; channel: string },
): Promise<string> {
  const [row] = (await tx('notifications')
    .insert({ study_id, participant_id, visit_id, kind, channel })
    .returning('id')) as [{ id: string }];
  return row.id;
}
