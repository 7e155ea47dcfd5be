import type { Tx } from '../knex.js';
import { page } from './paging.js';
import type { Listed, Page } from './paging.js';
import { readScheduleSources } from './schedules.js';
import type { CalendarRow, ScheduleSources } from './schedules.js';

export interface SimulationRecord {
  id: string;
  study_id: string;
  status: 'pending' | 'running' | 'completed' | 'failed';
  participants: number;
  months: number;
  seed: number;
  progress: number;
  result_sha256: string | null;
  error: string | null;
  requested_by_id: string | null;
  created_at: string;
  updated_at: string;
  started_at: string | null;
  completed_at: string | null;
}
const COLUMNS = `id, study_id, status, participants, months, seed, progress, result_sha256, error, requested_by_id, created_at, updated_at, started_at, completed_at`;

export function listSimulations(tx: Tx, studyId: string, at: Page): Promise<Listed<SimulationRecord>> {
  return page(
    tx,
    tx('simulations').where({ study_id: studyId }),
    COLUMNS,
    at,
    { created_at: 'created_at', status: 'status' },
    'id',
  );
}

/** A simulation with its result, which is null until it is completed. */
export async function simulationById(
  tx: Tx,
  studyId: string,
  id: string,
): Promise<(SimulationRecord & { result: unknown }) | undefined> {
  return (await tx.raw(`select ${COLUMNS}, result from simulations where study_id = ? and id = ?`, [studyId, id]))
    .rows[0];
}

/**
 * How many of the study's simulations wait or run, those of the last day: one whose workflow was ended by hand is not
 * waited for. Askers of one study take turns.
 */
export async function lockUnfinished(tx: Tx, studyId: string): Promise<number> {
  await tx.raw(`select pg_advisory_xact_lock(hashtext('simulations'), hashtext(?))`, [studyId]);
  const { rows } = await tx.raw(
    `select count(*) as n from simulations where study_id = ? and status in ('pending', 'running') and created_at > clock_timestamp() - interval '1 day'`,
    [studyId],
  );
  return rows[0].n;
}

export async function insertSimulation(
  tx: Tx,
  simulation: {
    id: string;
    study_id: string;
    participants: number;
    months: number;
    seed: number;
    inputs: unknown;
    requested_by_id: string;
  },
): Promise<void> {
  await tx('simulations').insert({ ...simulation, inputs: JSON.stringify(simulation.inputs) });
}

/** Begins a run and answers what it is made from; undefined where it is over already or gone. */
export async function beginSimulation(tx: Tx, id: string): Promise<unknown> {
  const { rows } = await tx.raw(
    `update simulations set status = 'running', progress = 0, started_at = coalesce(started_at, clock_timestamp()) where id = ? and status in ('pending', 'running') returning inputs`,
    [id],
  );
  return rows[0]?.inputs;
}

export async function noteSimulationProgress(tx: Tx, id: string, progress: number): Promise<void> {
  await tx.raw(`update simulations set progress = ? where id = ? and status = 'running'`, [progress, id]);
}

export async function completeSimulation(tx: Tx, id: string, result: { text: string; sha256: string }): Promise<void> {
  await tx.raw(
    `update simulations set status = 'completed', progress = 1, result = ?::json, result_sha256 = ?, completed_at = clock_timestamp() where id = ? and status in ('pending', 'running')`,
    [result.text, result.sha256, id],
  );
}

export async function failSimulation(tx: Tx, id: string, error: string): Promise<void> {
  await tx.raw(
    `update simulations set status = 'failed', error = ?, completed_at = clock_timestamp() where id = ? and status in ('pending', 'running')`,
    [error.slice(0, 500), id],
  );
}

/** A study as a simulation needs it. */
export interface SimulatedStudyRow {
  policy: unknown;
  scheduling_mode: string | null;
  start_date: string | null;
  created_on: string;
  timezone: string;
  consent_mode: 'none' | 'external' | 'econsent';
  sources: ScheduleSources;
  calendars: CalendarRow[];
  sites: { id: string; site_code: string; timezone: string | null }[];
}

export async function readSimulatedStudy(tx: Tx, studyId: string): Promise<SimulatedStudyRow | undefined> {
  const {
    rows: [study],
  } = await tx.raw(
    `select config->'enrollment_date_policy' as policy, config->>'scheduling_mode' as scheduling_mode, start_date, timezone, consent_mode,
       (created_at at time zone timezone)::date as created_on from studies where id = ?`,
    [studyId],
  );
  if (!study) return undefined;
  const sources = await readScheduleSources(tx, studyId);
  const calendars: CalendarRow[] = await tx('holiday_calendars')
    .where({ study_id: studyId })
    .orderBy('name')
    .select('id', 'site_id', 'is_default', 'weekend_days', 'holidays');
  const sites: SimulatedStudyRow['sites'] = await tx('sites')
    .where({ study_id: studyId, status: 'active' })
    .orderBy('site_code')
    .select('id', 'site_code', 'timezone');
  return { ...study, sources, calendars, sites };
}
