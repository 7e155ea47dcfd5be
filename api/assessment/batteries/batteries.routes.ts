import { TASKS, taskNames } from '../../../workflows/domain/assessment/tasks.js';
import { compileStatement, listBatteries, writtenModules } from '../../../db/assessment/batteries.queries.js';
import { inStudy, signedIn, staff, staffOrParticipant } from '../../http/access.js';
import { longList } from '../../http/json/long-list.js';
import { etagOf } from '../../http/conventions/etag.js';
import { created, noContent, reply, route, response } from '../../http/route.js';
import {
  Battery,
  BatteryChange,
  BatteryStatus,
  BatteryVersion,
  CompileQuery,
  Compiled,
  Duplicate,
  ModuleChange,
  ModuleOfBattery,
  ModuleOrder,
  NewBattery,
  NewModule,
  TaskInfo,
} from './batteries.schemas.js';
import { Paged, Type, Uuid, listOf, pageOf, paging, sorting } from '../../http/common.schemas.js';
import {
  batteryNumber,
  batteryVersions,
  changeBattery,
  createBattery,
  duplicateBattery,
  getBatteryOrThrow,
  removeBattery,
} from './batteries.service.js';
import { compile, compilePrefetched } from './batteries-compile.service.js';
import { addModule, changeModule, removeModule, reorderModules } from './batteries-modules.service.js';
import type { ModuleOfBattery as ModuleOfBatteryRow } from './batteries-modules.service.js';
import type { Reply } from '../../http/route.js';
import type { Tx } from '../../../db/client/database.js';

/** A module has the tag of its battery, by which the next change of either is made: it has no version of its own. */
const asPart = async (tx: Tx, module: ModuleOfBatteryRow, status = 200): Promise<Reply> =>
  reply(status, module, { ETag: etagOf(await getBatteryOrThrow(tx, module.battery_id))! });

const versions = 'A published version never changes: an edit makes draft version + 1 under the same id.';

export const batteryRoutes = [
  route({
    method: 'GET',
    path: '/api/tasks',
    operationId: 'listTasks',
    tag: 'Batteries',
    summary: 'List cognitive tasks with their settings',
    description: 'Every cognitive task with the settings that a battery may give it and the metrics that it yields.',
    access: signedIn,
    query: Paged,
    responses: { 200: listOf(TaskInfo) },
    handle: ({ query }) =>
      pageOf(
        taskNames.map((task) => ({
          task,
          title: TASKS[task].title,
          settings_schema: TASKS[task].settings,
          default_settings: TASKS[task].defaults,
          estimated_minutes: TASKS[task].estimated_minutes,
          metrics: TASKS[task].metrics,
        })),
        query,
      ),
  }),
  route({
    method: 'GET',
    path: '/api/batteries',
    operationId: 'listBatteries',
    tag: 'Batteries',
    summary: 'List batteries',
    description:
      'The batteries of the studies that the caller sees, drafts and retired ones included; `status` narrows it.',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({
      ...paging,
      sort: sorting('code', 'name', 'created_at', 'id'),
      study_id: Type.Optional(Uuid),
      status: Type.Optional(BatteryStatus),
    }),
    responses: { 200: listOf(Battery) },
    handle: async ({ tx, query, studyId }) =>
      longList(
        await listBatteries(tx, {
          studyId,
          status: query.status,
          skip: query.skip ?? 0,
          limit: query.limit ?? 50,
          sort: query.sort ?? 'code',
        }),
        'modules',
        ({ id, version }) => writtenModules(tx, id, version),
      ),
  }),
  route({
    method: 'POST',
    path: '/api/batteries',
    operationId: 'createBattery',
    tag: 'Batteries',
    summary: 'Create a battery as a draft',
    access: staff.configure,
    transaction: 'change',
    description:
      'Makes version 1, with its modules where they are given. The study comes from `study_id` in the body or ' +
      'from the context. A code that the study has already is 409 BATTERY_CODE_TAKEN.',
    body: NewBattery,
    responses: { 201: Battery },
    handle: async ({ tx, audit, actor, context, studyId, body }) =>
      created(await createBattery({ tx, audit, actor, context }, studyId, body)),
  }),
  route({
    method: 'GET',
    path: '/api/batteries/{battery_id}',
    operationId: 'getBattery',
    tag: 'Batteries',
    summary: 'Get a battery',
    description: 'A battery with its modules in order. 404 if it does not exist or out of reach.',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: Battery },
    handle: ({ tx, params }) => getBatteryOrThrow(tx, batteryNumber(params.battery_id)),
  }),
  route({
    method: 'PATCH',
    path: '/api/batteries/{battery_id}',
    operationId: 'updateBattery',
    tag: 'Batteries',
    summary: 'Change, publish or retire a battery',
    description:
      'Only the fields that are given change; `modules` are replaced as a whole. `status: published` ' +
      `publishes the draft, \`retired\` takes the battery out of use. ${versions}`,
    access: staff.configure,
    transaction: 'change',
    body: BatteryChange,
    responses: { 200: Battery },
    handle: ({ tx, audit, actor, context, params, body, assertIfMatch }) =>
      changeBattery({ tx, audit, actor, context }, batteryNumber(params.battery_id), body, assertIfMatch),
  }),
  route({
    method: 'DELETE',
    path: '/api/batteries/{battery_id}',
    operationId: 'deleteBattery',
    tag: 'Batteries',
    summary: 'Delete an unused battery',
    description:
      'Deletes a battery that nothing uses, with its versions. One that windows, visits, sessions or the ' +
      'mapping use is 409 BATTERY_IN_USE: retire it instead.',
    access: staff.configure,
    transaction: 'change',
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params, assertIfMatch }) => {
      await removeBattery({ tx, audit, actor, context }, batteryNumber(params.battery_id), assertIfMatch);
      return noContent();
    },
  }),
  route({
    method: 'GET',
    path: '/api/batteries/{battery_id}/versions',
    operationId: 'listBatteryVersions',
    tag: 'Batteries',
    summary: 'List versions of a battery, newest first',
    description:
      'Each publication keeps a version that no later change touches; sessions name the version that they were ' +
      'held with.',
    access: inStudy(),
    transaction: 'read',
    query: Paged,
    responses: { 200: listOf(BatteryVersion) },
    handle: async ({ tx, params, query }) =>
      longList(
        pageOf(await batteryVersions(tx, batteryNumber(params.battery_id)), query),
        'modules',
        ({ battery_id, version }) => writtenModules(tx, battery_id, version),
      ),
  }),
  route({
    method: 'GET',
    path: '/api/batteries/{battery_id}/compile',
    operationId: 'compileBattery',
    tag: 'Batteries',
    summary: 'Compile a battery for a client',
    access: staffOrParticipant(inStudy()),
    transaction: 'once',
    description:
      'The newest published version (`version`: another; the draft where nothing was published yet), texts in ' +
      '`language` (default `en`), else in its base language, else English. The same version and language give ' +
      'the same bytes; `ETag` is the checksum.',
    query: CompileQuery,
    responses: { 200: response(Compiled, { etag: true }) },
    prefetch: ({ params, query }) => [compileStatement(batteryNumber(params.battery_id), query.version)],
    handle: ({ tx, prefetched: [rows], params, query, services }) =>
      tx
        ? compile(tx, batteryNumber(params.battery_id), query.version, query.language ?? 'en')
        : compilePrefetched(services.database, rows, query.language ?? 'en'),
  }),
  route({
    method: 'POST',
    path: '/api/batteries/{battery_id}/duplicate',
    operationId: 'duplicateBattery',
    tag: 'Batteries',
    summary: 'Duplicate a battery as a draft',
    description:
      'Makes a draft with the same modules, in this or another study that the caller configures. A code that ' +
      'the study has already is 409 BATTERY_CODE_TAKEN.',
    access: staff.configure,
    transaction: 'change',
    body: Duplicate,
    responses: { 201: Battery },
    handle: async ({ tx, audit, actor, context, params, body }) =>
      created(await duplicateBattery({ tx, audit, actor, context }, batteryNumber(params.battery_id), body)),
  }),
  route({
    method: 'POST',
    path: '/api/batteries/{battery_id}/modules',
    operationId: 'addBatteryModule',
    tag: 'Batteries',
    summary: 'Add a module',
    description: `Adds a task to the battery, at \`position\` or at the end. ${versions}`,
    access: staff.configure,
    transaction: 'change',
    body: NewModule,
    responses: { 201: ModuleOfBattery },
    handle: async ({ tx, audit, actor, context, params, body }) =>
      asPart(tx, await addModule({ tx, audit, actor, context }, batteryNumber(params.battery_id), body), 201),
  }),
  route({
    method: 'PUT',
    path: '/api/batteries/{battery_id}/modules',
    operationId: 'reorderBatteryModules',
    tag: 'Batteries',
    summary: 'Reorder the modules',
    description: `All modules, each once. ${versions}`,
    access: staff.configure,
    transaction: 'change',
    body: ModuleOrder,
    responses: { 200: Battery },
    handle: ({ tx, audit, actor, context, params, body, assertIfMatch }) =>
      reorderModules({ tx, audit, actor, context }, batteryNumber(params.battery_id), body.module_ids, assertIfMatch),
  }),
  route({
    method: 'PATCH',
    path: '/api/batteries/{battery_id}/modules/{module_id}',
    operationId: 'updateBatteryModule',
    tag: 'Batteries',
    summary: 'Change a module',
    description: `\`settings\` are merged. ${versions}`,
    access: staff.configure,
    transaction: 'change',
    body: ModuleChange,
    responses: { 200: ModuleOfBattery },
    handle: async ({ tx, audit, actor, context, params, body, assertIfMatch }) =>
      asPart(
        tx,
        await changeModule(
          { tx, audit, actor, context },
          batteryNumber(params.battery_id),
          params.module_id,
          body,
          assertIfMatch,
        ),
      ),
  }),
  route({
    method: 'DELETE',
    path: '/api/batteries/{battery_id}/modules/{module_id}',
    operationId: 'deleteBatteryModule',
    tag: 'Batteries',
    summary: 'Remove a module',
    description: `Takes a task out of the battery; the others keep their order. ${versions}`,
    access: staff.configure,
    transaction: 'change',
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params, assertIfMatch }) => {
      await removeModule(
        { tx, audit, actor, context },
        batteryNumber(params.battery_id),
        params.module_id,
        assertIfMatch,
      );
      return noContent();
    },
  }),
];
