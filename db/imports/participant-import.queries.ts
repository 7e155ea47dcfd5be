import { execute, prepared, query } from '../client/query.js';
import { carriedTrace } from '../client/trace-context.js';
import type { MarkedTransaction } from '../client/marked-transaction.js';
import { violatedConstraint } from '../client/connection/driver-faults.js';
import { Site } from '../models/records.js';
import type { Tx } from '../client/database.js';

/** A participant in an imported file; absent fields are null. */
export interface ImportedParticipant {
  participant_code: string;
  external_id: string | null;
  site_id: string | null;
  preferred_language: string | null;
  email: string | null;
  phone: string | null;
  timezone: string | null;
  date_of_birth: string | null;
  arm: string | null;
}
const FIELDS = [
  'participant_code',
  'external_id',
  'site_id',
  'preferred_language',
  'email',
  'phone',
  'timezone',
  'date_of_birth',
  'arm',
] as const;
const TYPES: Record<(typeof FIELDS)[number], string> = {
  participant_code: 'text',
  external_id: 'text',
  site_id: 'uuid',
  preferred_language: 'text',
  email: 'text',
  phone: 'text',
  timezone: 'text',
  date_of_birth: 'date',
  arm: 'text',
};

const columns = FIELDS.map((field, i) => `$${i + 2}::${TYPES[field]}[]`).join(', ');
const INSERT = `
with given as (select * from unnest(${columns}) with ordinality as g(${FIELDS.join(', ')}, n)),
made as (
  insert into participants (study_id, ${FIELDS.join(', ')}) select $1, ${FIELDS.join(', ')} from given order by n
  on conflict do nothing returning id, participant_code, site_id
), anchors as (insert into anchor_dates (participant_id, study_id) select id, $1 from made),
messages as (
  -- Low priority: thousands of starts must not delay messages that somebody waits for.
  insert into outbox (topic, study_id, subject, payload, patient)
  select 'participant-start', $1, id::text, jsonb_build_object('site_id', site_id) || $${FIELDS.length + 2}::jsonb, true
    from made
)
select id, participant_code from made`;

/**
 * Enrolls participants as `enroll` does: record, anchor (`unset`, version 1), start of the workflow. Skips those whose
 * code or external id is taken.
 * @param participants at most some thousand: they are one statement
 * @returns the new ids by participant_code
 */
export async function insertImported(
  tx: Tx,
  studyId: string,
  participants: readonly ImportedParticipant[],
): Promise<Map<string, string>> {
  if (participants.length === 0) return new Map();
  const rows = await prepared<{ id: string; participant_code: string }>(tx, INSERT, [
    studyId,
    ...FIELDS.map((field) => participants.map((one) => one[field])),
    JSON.stringify(carriedTrace()),
  ]);
  if (rows.length > 0) (tx as MarkedTransaction).wroteOutbox = true;
  return new Map(rows.map(({ id, participant_code }) => [participant_code, id]));
}

export interface KnownParticipant extends ImportedParticipant {
  id: string;
  study_id: string;
  /** The identity was erased. */
  erased: boolean;
}

const KNOWN = ['participant_code = any($3::text[])', 'external_id = any($4::text[])']
  .flatMap((named) =>
    ['< $2::timestamptz', '> statement_timestamp()'].map(
      (side) =>
        `select id, study_id, erased_at is not null as erased, ${FIELDS.join(', ')} from participants
          where study_id = $1 and created_at ${side} and ${named}`,
    ),
  )
  .join(' union ');

/**
 * The study's participants with one of the codes or external ids, except those created since a given time: an import
 * repeats this query while it fills the study, and would read its own rows each time. The study has no statistics yet,
 * so the query is planned each time.
 */
export async function knownParticipants(
  tx: Tx,
  studyId: string,
  since: string,
  codes: readonly string[],
  externalIds: readonly string[],
): Promise<KnownParticipant[]> {
  return query<KnownParticipant>(tx, KNOWN, [studyId, since, [...codes], [...externalIds]]);
}

/** The study's participants with one of the codes, whenever created. */
export async function holdersOfCodes(tx: Tx, studyId: string, codes: readonly string[]): Promise<KnownParticipant[]> {
  return knownParticipants(tx, studyId, 'infinity', codes, []);
}

/** The study's participants with one of the external ids, whenever created. */
export async function externalIdsHeld(
  tx: Tx,
  studyId: string,
  externalIds: readonly string[],
): Promise<{ participant_code: string; external_id: string }[]> {
  const rows = await query<{ participant_code: string; external_id: string }>(
    tx,
    'select participant_code, external_id from participants where study_id = $1 and external_id = any($2::text[])',
    [studyId, [...externalIds]],
  );
  return rows;
}

const CHANGED = FIELDS.filter((field) => field !== 'participant_code');

/**
 * Gives existing participants the fields of their rows; null leaves what is stored, also what another request has just
 * changed. Locked in the order of their ids, as others do. Planned each time as well.
 */
export async function updateImported(
  tx: Tx,
  participants: readonly (ImportedParticipant & { id: string })[],
): Promise<void> {
  if (participants.length === 0) return;
  await execute(
    tx,
    `with held as materialized (select id from participants where id = any($1::uuid[]) order by id for no key update)
     update participants p set ${CHANGED.map((field) => `${field} = coalesce(g.${field}, p.${field})`).join(', ')}
     from held, unnest($1::uuid[], ${CHANGED.map((field, i) => `$${i + 2}::${TYPES[field]}[]`).join(', ')}) as g(id,
       ${CHANGED.join(', ')}) where p.id = held.id and p.id = g.id`,
    (['id', ...CHANGED] as const).map((field) => participants.map((one) => one[field])),
  );
}

/**
 * As `updateImported`, for participants who get another external id: it may be that of a participant who is not visible
 * here, or have been taken meanwhile.
 * @returns the ids of those who could not get theirs, and were left as they are
 */
export async function updateRenamed(
  tx: Tx,
  participants: readonly (ImportedParticipant & { id: string })[],
): Promise<Set<string>> {
  if (participants.length === 0 || (await areUpdated(tx, participants))) return new Set();
  const left = new Set<string>();
  for (const one of participants) if (!(await areUpdated(tx, [one]))) left.add(one.id);
  return left;
}

/** False, and nothing is written, if one of them has the external id of somebody else. */
async function areUpdated(tx: Tx, participants: readonly (ImportedParticipant & { id: string })[]): Promise<boolean> {
  try {
    await tx.transaction((savepoint) => updateImported(savepoint as Tx, participants));
    return true;
  } catch (fault) {
    if (violatedConstraint(fault) !== 'participants_external') throw fault;
    return false;
  }
}

export interface ImportSite {
  id: string;
  site_code: string;
  in_reach: boolean;
  /** Nobody new comes to it. */
  closed: boolean;
}

/**
 * The study's sites, and whether the transaction may write their participants; the entry without a code means no site.
 * `at`: the time of the query.
 */
export async function importSites(
  tx: Tx,
  studyId: string,
): Promise<{ sites: Map<string, ImportSite>; withoutSite: boolean; at: string }> {
  const rows = await query<ImportSite & { site_code: string | null; at: string }>(
    tx,
    `select id, site_code, $1::uuid <> all (app_site_studies()) or id = any (app_sites()) as in_reach,
      status = 'inactive' as closed, null as at from sites where study_id = $2
     union all select null, null, $1::uuid <> all (app_site_studies()), false, clock_timestamp()`,
    [studyId, studyId],
  );
  const found = rows;
  const none = found.find((row) => row.site_code === null)!;
  return {
    sites: new Map(found.filter((row) => row.site_code !== null).map((row) => [row.site_code, row])),
    withoutSite: none.in_reach,
    at: none.at,
  };
}

/** Adds sites by code; uses one that was created concurrently. */
export async function addSites(
  tx: Tx,
  studyId: string,
  codes: readonly string[],
): Promise<{ id: string; site_code: string; added: boolean }[]> {
  const made = await query<{ id: string; site_code: string }>(
    tx,
    `insert into sites (study_id, site_code) select $1, c from unnest($2::text[]) c on conflict do nothing
      returning id, site_code`,
    [studyId, [...codes]],
  );
  const own = new Set(made.map(({ site_code }) => site_code));
  const others = codes.filter((one) => !own.has(one));
  // A statement of its own: the insert waited for a request that made a site, and does not see it itself.
  const there = await Site.query(tx)
    .where({ study_id: studyId })
    .whereIn('site_code', others)
    .select('id', 'site_code');
  return [...made.map((site) => ({ ...site, added: true })), ...there.map((site) => ({ ...site, added: false }))];
}

/** Runs work and undoes it within the transaction: a dry run with the same answer. */
export async function rehearse<T>(tx: Tx, work: () => Promise<T>): Promise<T> {
  await execute(tx, 'savepoint rehearsal');
  const result = await work();
  await execute(tx, 'rollback to savepoint rehearsal');
  // One within another has the same name.
  await execute(tx, 'release savepoint rehearsal');
  return result;
}
