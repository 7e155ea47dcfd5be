import { KEPT_OF_PARTICIPANTS } from '../audit/audit.queries.js';
import { uuidIn } from '../client/uuid.js';
import { shownSession } from '../scheduling/effective-status.js';

/** A session that a text names, as readers may know it; null: it names none. */
const sessionIn = (text: string): string =>
  `(select (${shownSession('x')})::text from assessment_sessions x where x.id = ${uuidIn(text)})`;

/** A member with a session's id; empty: there is none. */
const memberOf = (object: string, name: string): string =>
  `coalesce((select jsonb_build_object('${name}', y.shown)
    from (select ${sessionIn(`${object} ->> '${name}'`)}) y(shown) where y.shown is not null), '{}')`;

/** An active session's id is the credential for its results: an audit record is shown with its public one. */
export const SHOWN_RESOURCE = `coalesce(
  case when t.resource_type = 'session' then ${sessionIn('t.resource_id')} end, t.resource_id)`;
export const SHOWN_METADATA = `t.audit_metadata || ${memberOf('t.audit_metadata', 'session_id')}
  || ${memberOf('t.audit_metadata', 'session_id_before')}
  || case when t.action = 'offline_sync' and jsonb_typeof(t.audit_metadata -> 'items') = 'array'
    then jsonb_build_object('items', (select coalesce(jsonb_agg(i.item || ${memberOf('i.item', 'session_id')}
      order by i.place), '[]') from jsonb_array_elements(t.audit_metadata -> 'items') with ordinality i(item, place)))
    else '{}' end`;

const OF_RESOURCE = uuidIn('t.resource_id');
/**
 * Audit records with the participant that they are about: itself, or the one of a consent, form, visit and so on. It is
 * looked up only where the export is narrowed to some participants, by its filters or by its reader's sites.
 */
export const AUDIT_RECORDS = `audit_log t
  cross join lateral (select case when app_all_sites() and not :filtered then null
    when t.resource_type = 'participant' then ${OF_RESOURCE}
    ${Object.entries(KEPT_OF_PARTICIPANTS)
      .map(
        ([kind, table]) =>
          `when t.resource_type = '${kind}' then (select x.participant_id from ${table} x where x.id = ${OF_RESOURCE})`,
      )
      .join('\n    ')} end as participant_id) k
  left join participants p on p.id = k.participant_id left join sites st on st.id = p.site_id`;
