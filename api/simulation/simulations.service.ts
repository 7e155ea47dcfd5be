import { randomUUID } from 'node:crypto';
import { putOutbox } from '../../db/outbox/outbox.js';
import {
  insertSimulation,
  lockUnfinished,
  readSimulatedStudy,
  simulationById,
} from '../../db/simulation/simulations.queries.js';
import type { SimulatedStudyRow, SimulationRecord } from '../../db/simulation/simulations.queries.js';
import { policyOf } from '../../workflows/domain/anchor/facts.js';
import type { BehaviourInput } from '../../workflows/domain/simulation/behaviour.js';
import { visitsPerParticipant } from '../../workflows/domain/simulation/inputs.js';
import type { SimulationInputs } from '../../workflows/domain/simulation/inputs.js';
import { isPlotName, plotNames, plotSvg } from './plots.js';
import type { SimulationResult } from '../../workflows/domain/simulation/result.js';
import { brokenRule, invalid, problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import type { RequestScope } from '../http/state.js';
import type { Tx } from '../../db/client/database.js';

const MAX_UNFINISHED = 10;
/** The most planned visits of a simulation: its time and memory grow with them. */
const MAX_VISITS = 300_000;
const EARLIEST = '1900-01-01',
  LATEST = '2200-01-01';

export interface Ordered {
  participants: number;
  months: number;
  seed?: number;
  start_date?: string;
  behaviour?: BehaviourInput;
}

export const simulationPath = (studyId: string, id: string): string => `/api/studies/${studyId}/simulations/${id}`;

/**
 * Stores a snapshot of a study for a simulation, which a workflow then computes. The study is not changed.
 * @throws 404, 409 TOO_MANY_SIMULATIONS, 422 a start out of range, 400 too many visits
 */
export async function orderSimulation(
  { tx, audit, actor, context }: RequestScope,
  studyId: string,
  order: Ordered,
): Promise<{ simulation_id: string; status: string; status_url: string }> {
  const study = await readSimulatedStudy(tx, studyId);
  if (!study) throw problem('NOT_FOUND', { detail: 'There is no such study.' });
  const inputs = inputsOf(study, order);
  if (inputs.start_date < EARLIEST || inputs.start_date > LATEST)
    throw invalid('start_date', 'OUT_OF_RANGE', `must lie between ${EARLIEST} and ${LATEST}`);
  const visits = visitsPerParticipant(inputs) * inputs.participants;
  if (visits > MAX_VISITS)
    throw brokenRule(
      'participants',
      'TOO_LARGE',
      `would have ${visits} planned visits in all; at most ${MAX_VISITS} are simulated`,
    );
  if ((await lockUnfinished(tx, studyId)) >= MAX_UNFINISHED) throw problem('TOO_MANY_SIMULATIONS');
  const id = randomUUID();
  const { participants, months, seed } = inputs;
  await insertSimulation(tx, { id, study_id: studyId, participants, months, seed, inputs, requested_by_id: actor.id });
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'simulation_ordered',
    resource_type: 'simulation',
    resource_id: id,
    metadata: { participants, months, seed },
  });
  await putOutbox(tx, [{ topic: 'simulation', studyId, subject: id }]);
  return { simulation_id: id, status: 'pending', status_url: simulationPath(studyId, id) };
}

function inputsOf(study: SimulatedStudyRow, order: Ordered): SimulationInputs {
  const { sources, calendars } = study;
  const edc = study.scheduling_mode === 'edc';
  return {
    participants: order.participants,
    months: order.months,
    seed: order.seed ?? 1,
    start_date: order.start_date ?? study.start_date ?? study.created_on,
    behaviour: order.behaviour ?? {},
    policy: policyOf(study.policy),
    study: { start_date: study.start_date, timezone: study.timezone, consent_mode: study.consent_mode },
    scheduling_mode: edc ? 'edc' : 'legacy',
    windows: sources.windows,
    mapping: sources.mapping,
    events: sources.edc?.events ?? [],
    calendar: calendars.find((calendar) => calendar.is_default) ?? null,
    sites: study.sites.map((site) => ({
      site_code: site.site_code,
      timezone: site.timezone,
      calendar: calendars.find((calendar) => calendar.site_id === site.id) ?? null,
    })),
  };
}

export const simulationView = ({ id, ...record }: SimulationRecord) => ({ simulation_id: id, ...record });

/** A simulation with its result and the paths of its plots. @throws 404 */
export async function simulation(tx: Tx, studyId: string, id: string) {
  const found = await getSimulationOrThrow(tx, studyId, id);
  const plots =
    found.status === 'completed'
      ? plotNames.map((name) => [name, `${simulationPath(studyId, id)}/plots/${name}.svg`])
      : [];
  return { ...simulationView(found), plots: Object.fromEntries(plots) as Record<string, string> };
}

/** A plot of a simulation. @throws 404 another name than those in `plots`, 409 without a result */
export async function simulationPlot(tx: Tx, studyId: string, id: string, file: string): Promise<string> {
  const found = await getSimulationOrThrow(tx, studyId, id);
  const name = file.endsWith('.svg') ? file.slice(0, -4) : '';
  if (!isPlotName(name))
    throw problem('NOT_FOUND', {
      detail: `There is no such plot; there are ${plotNames.map((plot) => `${plot}.svg`).join(', ')}.`,
    });
  if (found.result === null)
    throw problem('CONFLICT', { detail: `The simulation is ${found.status}: it has no plots.` });
  return plotSvg(name, found.result as SimulationResult);
}

async function getSimulationOrThrow(tx: Tx, studyId: string, id: string) {
  const found = await simulationById(tx, studyId, id);
  if (!found) throw problem('NOT_FOUND', { detail: 'There is no such simulation.' });
  return found;
}
