import type { Knex } from 'knex';

/** The study's last event in the order of commits, if this server has not begun a transaction of its number yet. */
const FROM_ELSEWHERE = `select s.id from studies s
  cross join lateral (select coalesce(e.tx, '0') as tx from domain_events e where e.study_id = s.id
    order by coalesce(e.tx, '0') desc, e.seq desc limit 1) l
  where l.tx >= pg_snapshot_xmax(pg_current_snapshot())`;

/**
 * Puts the events of a database that was restored from a dump before those that follow, in the order in which they were
 * written. They have the transactions of another server, which may be ahead of this one's: streams would wait for these
 * numbers, and new events would come before them.
 */
export async function placeRestoredEvents(owner: Knex.Transaction): Promise<void> {
  const allow = (change: 'on' | '') => owner.raw(`select set_config('app.erasing', ?, true)`, [change]);
  await allow('on');
  await owner.raw(`update domain_events set tx = null where study_id in (${FROM_ELSEWHERE})`);
  await allow('');
}
