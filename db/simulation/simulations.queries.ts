import { raw } from 'objection';
import { Simulation } from '../models/jobs.js';
import { page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import { readScheduleSources } from '../scheduling/schedules.queries.js';
import type { CalendarRow, ScheduleSources } from '../scheduling/schedules.queries.js';
import { execute } from '../client/query.js';
import type { Tx } from '../client/database.js';

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
const COLUMNS =
  'id, study_id, status, participants, months, seed, progress, result_sha256, error, requested_by_id, ' +
  'created_at, updated_at, started_at, completed_at';

export function listSimulations(tx: Tx, studyId: string, paging: Page): Promise<Listed<SimulationRecord>> {
  return page(
    tx,
    tx('simulations').where({ study_id: studyId }),
    COLUMNS,
    paging,
    { created_at: 'created_at', status: 'status' },
    'id',
  );
}

/** A simulation with its result, which is null until it completes. */
export async function simulationById(
  tx: Tx,
  studyId: string,
  id: string,
): Promise<(SimulationRecord & { result: unknown }) | undefined> {
  return tx('simulations').where({ study_id: studyId, id }).first(tx.raw(COLUMNS), 'result') as Promise<
    (SimulationRecord & { result: unknown }) | undefined
  >;
}

/**
 * The number of the study's queued or running simulations of the last day: a workflow may have been terminated by hand.
 * Requests for one study run one after another.
 */
export async function lockUnfinished(tx: Tx, studyId: string): Promise<number> {
  await execute(tx, `select pg_advisory_xact_lock(hashtext('simulations'), hashtext($1))`, [studyId]);
  const [row] = await tx('simulations')
    .where({ study_id: studyId })
    .whereIn('status', ['pending', 'running'])
    .where('created_at', '>', tx.raw(`clock_timestamp() - interval '1 day'`))
    .count<{ n: number }[]>('* as n');
  return row!.n;
}

export async function insertSimulation(
  tx: Tx,
  simulation: {
    id: string;
    study_id: string;
    participants: number;
    months: number;
    seed: number;
    inputs: object;
    requested_by_id: string;
  },
): Promise<void> {
  await Simulation.query(tx).insert(simulation);
}

/** Begins a run and returns its input; undefined: it has ended or was deleted. */
export async function beginSimulation(tx: Tx, id: string): Promise<unknown> {
  const [begun] = (await tx('simulations')
    .where({ id })
    .whereIn('status', ['pending', 'running'])
    .update({ status: 'running', progress: 0, started_at: tx.raw('coalesce(started_at, clock_timestamp())') })
    .returning('inputs')) as { inputs: unknown }[];
  return begun?.inputs;
}

export async function noteSimulationProgress(tx: Tx, id: string, progress: number): Promise<void> {
  await Simulation.query(tx).findById(id).where({ status: 'running' }).patch({ progress });
}

export async function completeSimulation(tx: Tx, id: string, result: { text: string; sha256: string }): Promise<void> {
  await Simulation.query(tx)
    .findById(id)
    .whereIn('status', ['pending', 'running'])
    .patch({
      status: 'completed',
      progress: 1,
      result: result.text,
      result_sha256: result.sha256,
      completed_at: raw('clock_timestamp()'),
    });
}

export async function failSimulation(tx: Tx, id: string, error: string): Promise<void> {
  await Simulation.query(tx)
    .findById(id)
    .whereIn('status', ['pending', 'running'])
    .patch({ status: 'failed', error: error.slice(0, 500), completed_at: raw('clock_timestamp()') });
}

/** A study's data for a simulation. */
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
  const study = await tx('studies')
    .where({ id: studyId })
    .first(
      tx.raw(`config->'enrollment_date_policy' as policy, config->>'scheduling_mode' as scheduling_mode`),
      'start_date',
      'timezone',
      'consent_mode',
      tx.raw('(created_at at time zone timezone)::date as created_on'),
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
