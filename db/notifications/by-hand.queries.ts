import { query } from '../client/query.js';
import type { Statement } from '../client/query.js';
import type { Tx } from '../client/database.js';
import type { ReminderRow, ReminderVisit } from './reminders.queries.js';

type Channel = ReminderRow['channel'];

/** A visit for a reminder by hand, for every channel, with earlier reminders. */
export interface ByHandRow extends Omit<
  ReminderRow,
  | 'id'
  | 'kind'
  | 'channel'
  | 'visit_key'
  | 'target_date'
  | 'resend_of'
  | 'first_id'
  | 'attempts'
  | 'status'
  | 'visit'
  | 'opted_out'
  | 'address_dead'
  | 'public_name'
  | 'contact'
> {
  visit_id: string;
  visit: Omit<ReminderVisit, 'id' | 'sequence'>;
  /** Channels that the participant opted out of, or whose address bounces. */
  opted_out_of: Channel[];
  dead: Channel[];
  /** The last sent reminder. */
  last: { sent_at: string; channel: string } | null;
  /** The next planned reminder. */
  next: { due_at: string; channel: string } | null;
  /** A reminder by hand that is in progress, or so recent that the same click created it. */
  just_now: string | null;
}

const SECONDS_OF_A_CLICK = 60;
const OF_VISIT =
  'n.participant_id = p.id and (n.visit_id = v.id or n.visit_key = v.visit_key or n.of_visit_key = v.visit_key) ' +
  `and n.kind in ('visit_reminder', 'visit_missed')`;

/** Statement for the facts of a reminder by hand. */
export const byHandStatement = (visitId: string): Statement => ({
  sql: `select v.study_id, v.participant_id, v.id as visit_id, clock_timestamp() as due_at, null as days_before,
      jsonb_build_object('name', v.name, 'status', v.status, 'target_date', v.target_date, 'window_open', v.window_open,
        'window_close', v.window_close) as visit,
      p.status as participant_status, p.participant_code, p.preferred_language,
        coalesce(p.timezone, t.timezone, s.timezone) as zone, coalesce(t.timezone, s.timezone) as visit_zone, p.email,
        p.phone,
      array(select k.token from push_tokens k where k.participant_id = p.id order by k.created_at) as push_tokens,
      array(select x.channel::text from notification_opt_outs x where x.participant_id = p.id) as opted_out_of,
      array(select x.channel::text from dead_addresses x where x.participant_id = p.id) as dead,
      s.status as study_status, s.study_code, s.study_name, t.site_code, t.name as site_name,
        coalesce(s.config -> 'notifications', '{}') as settings,
      (select jsonb_build_object('sent_at', n.sent_at, 'channel', n.channel) from notifications n
        where ${OF_VISIT} and n.status = 'sent' order by n.sent_at desc limit 1) as last,
      (select jsonb_build_object('due_at', n.due_at, 'channel', n.channel) from notifications n
        where ${OF_VISIT} and n.status = 'pending' and n.visit_key is not null order by n.due_at limit 1) as next,
      (select n.id from notifications n where ${OF_VISIT} and n.visit_key is null and n.of_visit_key is null
         and (n.status = 'pending'
           or (n.status = 'sent' and n.created_at > clock_timestamp() - interval '${SECONDS_OF_A_CLICK} seconds'))
           order by n.created_at desc limit 1) as just_now
    from scheduled_visits v join participants p on p.id = v.participant_id join studies s on s.id = v.study_id
      left join sites t on t.id = p.site_id
    where v.id = $1`,
  values: [visitId],
});

/** Reads the facts of a reminder by hand. Locks the visit's row until the commit: two clicks run one after another. */
export async function lockByHand(tx: Tx, visitId: string): Promise<ByHandRow | undefined> {
  await tx('scheduled_visits').where({ id: visitId }).forNoKeyUpdate().select('id');
  const { sql, values } = byHandStatement(visitId);
  return (await query<ByHandRow>(tx, sql, values))[0];
}

/** Inserts a reminder that is to be sent at once. @returns its id */
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
