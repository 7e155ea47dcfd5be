import { FORMER_PATH } from '../http/conventions/deprecation.js';
import { inStudy } from '../http/access.js';
import { etagOf } from '../http/conventions/etag.js';
import { reply, route, response } from '../http/route.js';
import * as schema from './datacapture.schemas.js';
import { withDefaults } from './capture-mapping.service.js';
import { askCaptureOrRefuse, askingFor } from './capture-query.service.js';
import {
  captureStatus,
  configView,
  replaceEventMapping,
  requireConfig,
  saveConfig,
  testConnection,
  configVersion,
} from './datacapture.service.js';
import type { DatacaptureConfigRow } from '../../db/capture/datacapture-configs.queries.js';
import { readInScope } from '../../db/client/transaction.js';
import { syncEvents } from './sync-events.service.js';
import type { ConfigWarning } from './config-change.js';

const reader = inStudy();
const configurer = inStudy('researcher', 'data_manager');
const told = (warnings: ConfigWarning[]) => (warnings.length > 0 ? { warnings } : {});

/** An answer about the configuration, with its tag: the event mapping is a part of it and has the same tag. */
const withTag = (row: DatacaptureConfigRow, body: unknown, status = 200) =>
  reply(status, body, { ETag: etagOf(configVersion(row))! });

/** Operation names, under the current and the former path. */
const OPERATIONS = {
  '/api/datacapture': {
    get: 'getCaptureConfig',
    save: 'saveCaptureConfig',
    mapping: 'getEventMapping',
    replace: 'replaceEventMapping',
    test: 'testCaptureConnection',
    instruments: 'listCaptureInstruments',
    events: 'listCaptureEvents',
    status: 'getCaptureStatus',
  },
  '/api/redcap': {
    get: 'getRedcapConfig',
    save: 'saveRedcapConfig',
    mapping: 'getRedcapEventMapping',
    replace: 'replaceRedcapEventMapping',
    test: 'testRedcapConnection',
    instruments: 'listRedcapInstruments',
    events: 'listRedcapEvents',
    status: 'getRedcapStatus',
  },
} as const;

/** The configuration's routes, under the current and the former path. */
const configRoutes = (prefix: '/api/datacapture' | '/api/redcap') => {
  const operations = OPERATIONS[prefix];
  const tag = 'Capture system';
  const isFormer = prefix === '/api/redcap';
  const former = isFormer ? ' (former path)' : '';
  const deprecated = isFormer ? { deprecated: FORMER_PATH } : {};
  return [
    route({
      method: 'GET',
      path: `${prefix}/config/{study_id}`,
      operationId: operations.get,
      ...deprecated,
      tag,
      summary: `Get the capture-system configuration${former}`,
      description:
        'How the study and its capture system are connected and mapped. Token and secret are never returned. ' +
        '404 CONFIG_NOT_FOUND where there is none.',
      access: reader,
      transaction: 'read',
      responses: { 200: response(schema.Config, { etag: true }) },
      handle: async ({ params, tx }) => {
        const row = await requireConfig(tx, params.study_id);
        return withTag(row, configView(row));
      },
    }),
    route({
      method: 'PATCH',
      path: `${prefix}/config/{study_id}`,
      operationId: operations.save,
      ...deprecated,
      tag,
      summary: `Create or change the capture-system configuration${former}`,
      description:
        'Creates the configuration where there is none (`api_url` and `api_token` are required then). Mappings ' +
        'are merged: null takes an entry out. ' +
        "They are compared with the capture system's dictionary; what it does not know, and what no push or " +
        'reading can satisfy, is named in `warnings`; `?strict=true` refuses it. A `project_id` other than the ' +
        'connected project’s is the warning PROJECT_ID_DIFFERS. A renamed event keeps its ' +
        'entry, visits and windows. `<enrollment_instrument>_timestamp` in `participant_field_mapping` ' +
        'reads the time at which the form was completed as a survey. Token and secret are stored encrypted and ' +
        'never returned.',
      access: configurer,
      query: schema.StrictQuery,
      body: schema.ConfigPatch,
      idempotencyKey: false,
      responses: { 200: response(schema.Config, { etag: true }), 201: response(schema.Config, { etag: true }) },
      handle: async ({ params, query, body, actor, context, services, assertIfMatch }) => {
        const saved = await saveConfig(
          { services, actor, context, studyId: params.study_id, strict: query.strict ?? false, assertIfMatch },
          body,
        );
        const { row, warnings, moved, created } = saved;
        return withTag(row, { ...configView(row), ...told(warnings), ...moved }, created ? 201 : 200);
      },
    }),
    route({
      method: 'GET',
      path: `${prefix}/config/{study_id}/event-mapping`,
      operationId: operations.mapping,
      ...deprecated,
      tag,
      summary: `Get the event mapping${former}`,
      description:
        'Which event of the capture system means which battery and days, and the instrument of ' +
        'enrollment. 404 CONFIG_NOT_FOUND where the study has no configuration.',
      access: reader,
      transaction: 'read',
      responses: { 200: response(schema.EventMapping, { etag: true }) },
      handle: async ({ params, tx }) => {
        const row = await requireConfig(tx, params.study_id);
        const { study_id, event_battery_mapping, enrollment_instrument, enrollment_event } = row;
        return withTag(row, { study_id, event_battery_mapping, enrollment_instrument, enrollment_event });
      },
    }),
    route({
      method: 'PUT',
      path: `${prefix}/config/{study_id}/event-mapping`,
      operationId: operations.replace,
      ...deprecated,
      tag,
      summary: `Replace the event mapping${former}`,
      description:
        'The mapping is replaced as a whole. What the capture system does not know is named in `warnings`; ' +
        '`?strict=true` refuses it with 400 UNKNOWN_NAMES.',
      access: configurer,
      query: schema.StrictQuery,
      body: schema.EventMappingPut,
      responses: { 200: response(schema.EventMappingUpdated, { etag: true }) },
      handle: async ({ params, query, body, actor, context, services, assertIfMatch }) => {
        const saving = {
          services,
          actor,
          context,
          studyId: params.study_id,
          strict: query.strict ?? false,
          assertIfMatch,
        };
        const { row, warnings, moved } = await replaceEventMapping(saving, withDefaults(body.event_battery_mapping));
        return withTag(row, { status: 'updated', ...told(warnings), ...moved });
      },
    }),
    route({
      method: 'POST',
      path: `${prefix}/config/{study_id}/test-connection`,
      operationId: operations.test,
      ...deprecated,
      tag,
      summary: `Test the connection${former}`,
      description: 'Stores the project id and the result: `sync_status` becomes `active` or `error`.',
      access: configurer,
      responses: { 200: schema.Connected },
      handle: ({ params, actor, context, services }) =>
        testConnection(services, { studyId: params.study_id, actor, context }),
    }),
    route({
      method: 'GET',
      path: `${prefix}/config/{study_id}/instruments`,
      operationId: operations.instruments,
      ...deprecated,
      tag,
      summary: `List the capture system's instruments${former}`,
      description:
        'Asks the capture system for its instruments, by name and label. 404 CONFIG_NOT_FOUND where the study ' +
        'has no configuration.',
      access: reader,
      responses: { 200: schema.Instruments },
      handle: async ({ params, services }) => {
        await readInScope(services.database, params.study_id, (tx) => requireConfig(tx, params.study_id));
        return {
          instruments: (await askCaptureOrRefuse(services, { kind: 'instruments', study_id: params.study_id }))
            .instruments,
        };
      },
    }),
    route({
      method: 'GET',
      path: `${prefix}/config/{study_id}/events`,
      operationId: operations.events,
      ...deprecated,
      tag,
      summary: `List the capture system's events${former}`,
      description: 'Asks the capture system for its events. 404 CONFIG_NOT_FOUND where the study has no configuration.',
      access: reader,
      responses: { 200: schema.CaptureEvents },
      handle: async ({ params, services }) => {
        await readInScope(services.database, params.study_id, (tx) => requireConfig(tx, params.study_id));
        return { events: (await askCaptureOrRefuse(services, { kind: 'events', study_id: params.study_id })).events };
      },
    }),
    route({
      method: 'GET',
      path: `${prefix}/status/{study_id}`,
      operationId: operations.status,
      ...deprecated,
      tag,
      summary: `Get the capture-system integration status${former}`,
      description: 'Whether the connection works, the last sync, and what waits to be pushed.',
      access: reader,
      transaction: 'read',
      responses: { 200: schema.CaptureStatus },
      handle: ({ params, tx }) => captureStatus(tx, params.study_id),
    }),
  ];
};

const syncEventsAt = (
  path: '/api/studies/{study_id}/datacapture/sync-events' | '/api/studies/{study_id}/redcap/sync-events',
) =>
  route({
    method: 'POST',
    path,
    operationId: path.includes('/redcap/') ? 'syncRedcapEvents' : 'syncCaptureEvents',
    ...(path.includes('/redcap/') && { deprecated: FORMER_PATH }),
    tag: 'Capture system',
    summary:
      "Create visit windows from the capture system's events" + (path.includes('/redcap/') ? ' (former path)' : ''),
    description:
      'A window for each event that has a day offset, or days in the event mapping, found again by its event ' +
      'and brought up to date; events with neither are named in `skipped`. An event is known by its ' +
      '`event_id`: one that was renamed is in `renamed`, and windows, mapping and visits have its new name, ' +
      'without another visit or schedule version. Events that windows, mapping or open visits name and the ' +
      'capture system does not have are in `missing`.',
    access: configurer,
    responses: { 200: schema.SyncEvents },
    handle: async ({ params, actor, context, services }) => {
      await readInScope(services.database, params.study_id, (tx) => requireConfig(tx, params.study_id));
      const { events = [] } = await askCaptureOrRefuse(services, {
        kind: 'events',
        study_id: params.study_id,
        follow: await askingFor(services, 'events', { studyId: params.study_id, actor, context }),
      });
      return syncEvents({ services, actor, context, studyId: params.study_id }, events);
    },
  });

export const datacaptureRoutes = [
  ...configRoutes('/api/datacapture'),
  ...configRoutes('/api/redcap'),
  syncEventsAt('/api/studies/{study_id}/datacapture/sync-events'),
  syncEventsAt('/api/studies/{study_id}/redcap/sync-events'),
];
