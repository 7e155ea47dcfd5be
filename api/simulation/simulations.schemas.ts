import { BehaviourInput } from '../../workflows/domain/simulation/behaviour.js';
import {
  Instant,
  IsoDate,
  Json,
  Type,
  Uuid,
  nullable,
  input,
  named,
  record,
  WorkStatus,
  TextMap,
  about,
} from '../http/common.schemas.js';

const counts = {
  participants: Type.Integer({ minimum: 1, maximum: 5_000 }),
  months: Type.Integer({ minimum: 1, maximum: 60 }),
};

export const NewSimulation = input('SimulationCreate', {
  ...counts,
  seed: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      default: 1,
      description: 'the same seed on the same study gives the same bytes',
    }),
  ),
  start_date: Type.Optional({
    ...IsoDate,
    description: 'the first simulated day; default: the study’s start_date, else the day on which it was created',
  }),
  behaviour: Type.Optional(BehaviourInput),
});

const fields = {
  simulation_id: Uuid,
  study_id: Uuid,
  status: WorkStatus,
  progress: Type.Number({ description: '0 to 1' }),
  ...counts,
  seed: Type.Integer(),
  result_sha256: nullable(Type.String({ description: 'of the result as JSON text' })),
  error: nullable(Type.String()),
  requested_by_id: nullable(Uuid),
  created_at: Instant,
  updated_at: Instant,
  started_at: nullable(Instant),
  completed_at: nullable(Instant),
};
export const SimulationSummary = named('SimulationSummary', Type.Object(fields));
export const Simulation = record('Simulation', {
  ...fields,
  result: nullable(
    about(
      Json,
      'totals, adherence, missed_windows, visits_per_day, load_by_weekday, enrolment, anchors, reanchorings, ' +
        'clashes, time, checks',
    ),
  ),
  plots: about(TextMap, 'the plots’ paths by name, once it is completed'),
});
export const SimulationAccepted = record('SimulationAccepted', {
  simulation_id: Uuid,
  status: WorkStatus,
  status_url: Type.String(),
});
