import { PICTURE_POLICY } from '../../activities/html/picture-theme.js';
import { listSimulations } from '../../db/simulation/simulations.queries.js';
import { inStudy, staff } from '../http/access.js';
import { publicUrl } from '../public-url.js';
import { accepted, reply, route, response } from '../http/route.js';
import { Type, listOf, paging, sorting } from '../http/common.schemas.js';
import { NewSimulation, Simulation, SimulationAccepted, SimulationSummary } from './simulations.schemas.js';
import { orderSimulation, simulationView, simulation, simulationPlot } from './simulations.service.js';

const tag = 'Simulations';
const path = '/api/studies/{study_id}/simulations';

export const simulationRoutes = [
  route({
    method: 'POST',
    path,
    operationId: 'createSimulation',
    tag,
    summary: 'Simulate the study',
    access: staff.configure,
    transaction: 'change',
    description:
      'Lives through the study with made-up participants, day by day, by the rules that decide anchors and ' +
      'plan schedules: policy, windows or events, calendars and sites as they are now. Nothing of the study ' +
      'is changed.',
    body: NewSimulation,
    responses: { 202: SimulationAccepted },
    handle: async ({ tx, audit, actor, context, services, params, body }) => {
      const made = await orderSimulation({ tx, audit, actor, context }, params.study_id, body);
      return accepted({ ...made, status_url: publicUrl(services.settings, made.status_url) });
    },
  }),
  route({
    method: 'GET',
    path,
    operationId: 'listSimulations',
    tag,
    summary: 'List the study’s simulations',
    description: 'The simulations of the study, newest first, without their results.',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({ ...paging, sort: sorting('created_at', 'status') }),
    responses: { 200: listOf(SimulationSummary) },
    handle: async ({ tx, params, query }) => {
      const { items, total } = await listSimulations(tx, params.study_id, {
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? '-created_at',
      });
      return { items: items.map(simulationView), total };
    },
  }),
  route({
    method: 'GET',
    path: `${path}/{simulation_id}`,
    operationId: 'getSimulation',
    tag,
    summary: 'Get a simulation',
    description: 'How far it is, and once it is completed its result and the paths of its plots.',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: Simulation },
    handle: ({ tx, params }) => simulation(tx, params.study_id, params.simulation_id),
  }),
  route({
    method: 'GET',
    path: `${path}/{simulation_id}/plots/{plot}`,
    operationId: 'getSimulationPlot',
    tag,
    summary: 'Get a plot of a simulation as SVG',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: response(undefined, { mediaTypes: ['image/svg+xml'] }), 409: undefined },
    description: '`plot` is a name of `plots` followed by `.svg`, such as `visits_per_day.svg`.',
    handle: async ({ tx, params }) =>
      reply(200, await simulationPlot(tx, params.study_id, params.simulation_id, params.plot), {
        'Content-Type': 'image/svg+xml; charset=utf-8',
        'Content-Security-Policy': PICTURE_POLICY,
      }),
  }),
];
