import { TASKS, taskNames } from '../../workflows/domain/assessment/tasks.js';
import { listBatteries } from '../../db/queries/batteries.js';
import { inStudy, signedIn, staff, staffOrParticipant } from '../access.js';
import { created, noContent, route } from '../route.js';
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
} from '../schemas/batteries.js';
import { Paged, Type, Uuid, listOf, pageOf, paging, sorting } from '../schemas/common.js';
import {
  batteryNumber,
  batteryVersions,
  changeBattery,
  createBattery,
  duplicateBattery,
  existingBattery,
  removeBattery,
} from '../services/batteries.js';
import { compile, readyCompiled } from '../services/batteries-compile.js';
import { addModule, changeModule, removeModule, reorderModules } from '../services/batteries-modules.js';

const plainParams = ['battery_id'] as const;
const versions = 'A published version never changes: an edit makes draft version + 1 under the same id.';

export const batteryRoutes = [
  route({
    method: 'GET',
    path: '/api/tasks',
    tag: 'Batteries',
    summary: 'The cognitive tasks, with the schema and the defaults of their settings',
    may: signedIn,
    query: Paged,
    answers: { 200: listOf(TaskInfo) },
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
    tag: 'Batteries',
    summary: 'List batteries',
    may: inStudy(),
    within: 'read',
    query: Type.Object({
      ...paging,
      sort: sorting('code', 'name', 'created_at', 'id'),
      study_id: Type.Optional(Uuid),
      status: Type.Optional(BatteryStatus),
    }),
    answers: { 200: listOf(Battery) },
    handle: ({ tx, query, studyId }) =>
      listBatteries(tx, {
        studyId,
        status: query.status,
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? 'code',
      }),
  }),
  route({
    method: 'POST',
    path: '/api/batteries',
    tag: 'Batteries',
    summary: 'Create a battery, as a draft',
    may: staff.configure,
    within: 'change',
    description: 'The study comes from `study_id` in the body or from the context.',
    body: NewBattery,
    answers: { 201: Battery },
    handle: async ({ tx, audit, actor, context, studyId, body }) =>
      created(await createBattery({ tx, audit, actor, context }, studyId, body)),
  }),
  route({
    method: 'GET',
    path: '/api/batteries/{battery_id}',
    plainParams,
    tag: 'Batteries',
    summary: 'A battery',
    may: inStudy(),
    within: 'read',
    answers: { 200: Battery },
    handle: ({ tx, params }) => existingBattery(tx, batteryNumber(params.battery_id)),
  }),
  route({
    method: 'PATCH',
    path: '/api/batteries/{battery_id}',
    plainParams,
    tag: 'Batteries',
    summary: 'Change, publish or retire a battery',
    description: versions,
    may: staff.configure,
    within: 'change',
    body: BatteryChange,
    answers: { 200: Battery },
    handle: ({ tx, audit, actor, context, params, body, unchangedSince }) =>
      changeBattery({ tx, audit, actor, context }, batteryNumber(params.battery_id), body, unchangedSince),
  }),
  route({
    method: 'DELETE',
    path: '/api/batteries/{battery_id}',
    plainParams,
    tag: 'Batteries',
    summary: 'Delete a battery that nothing refers to',
    may: staff.configure,
    within: 'change',
    answers: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params, unchangedSince }) => {
      await removeBattery({ tx, audit, actor, context }, batteryNumber(params.battery_id), unchangedSince);
      return noContent();
    },
  }),
  route({
    method: 'GET',
    path: '/api/batteries/{battery_id}/versions',
    plainParams,
    tag: 'Batteries',
    summary: 'Versions of a battery, newest first',
    may: inStudy(),
    within: 'read',
    query: Paged,
    answers: { 200: listOf(BatteryVersion) },
    handle: async ({ tx, params, query }) => pageOf(await batteryVersions(tx, batteryNumber(params.battery_id)), query),
  }),
  route({
    method: 'GET',
    path: '/api/batteries/{battery_id}/compile',
    plainParams,
    tag: 'Batteries',
    summary: 'The battery as a client is given it',
    may: staffOrParticipant(inStudy()),
    within: 'read',
    description:
      'The newest published version (`version`: another; the draft where nothing was published yet), texts in `language` (default `en`), else in its base language, else English. The same version and language give the same bytes; `ETag` is the checksum.',
    query: CompileQuery,
    answers: { 200: Compiled },
    etag: true,
    ready: ({ database, asker, params, query }) =>
      readyCompiled(database, asker, batteryNumber(params.battery_id), query.version, query.language ?? 'en'),
    handle: ({ tx, params, query }) =>
      compile(tx, batteryNumber(params.battery_id), query.version, query.language ?? 'en'),
  }),
  route({
    method: 'POST',
    path: '/api/batteries/{battery_id}/duplicate',
    plainParams,
    tag: 'Batteries',
    summary: 'Copy a battery, as a draft, into a study',
    may: staff.configure,
    within: 'change',
    body: Duplicate,
    answers: { 201: Battery },
    handle: async ({ tx, audit, actor, context, params, body }) =>
      created(await duplicateBattery({ tx, audit, actor, context }, batteryNumber(params.battery_id), body)),
  }),
  route({
    method: 'POST',
    path: '/api/batteries/{battery_id}/modules',
    plainParams,
    tag: 'Batteries',
    summary: 'Add a module',
    description: versions,
    may: staff.configure,
    within: 'change',
    body: NewModule,
    answers: { 201: ModuleOfBattery },
    handle: async ({ tx, audit, actor, context, params, body }) =>
      created(await addModule({ tx, audit, actor, context }, batteryNumber(params.battery_id), body)),
  }),
  route({
    method: 'PUT',
    path: '/api/batteries/{battery_id}/modules',
    plainParams,
    tag: 'Batteries',
    summary: 'Reorder the modules',
    description: `All modules, each once. ${versions}`,
    may: staff.configure,
    within: 'change',
    body: ModuleOrder,
    answers: { 200: Battery },
    handle: ({ tx, audit, actor, context, params, body, unchangedSince }) =>
      reorderModules({ tx, audit, actor, context }, batteryNumber(params.battery_id), body.module_ids, unchangedSince),
  }),
  route({
    method: 'PATCH',
    path: '/api/batteries/{battery_id}/modules/{module_id}',
    plainParams,
    tag: 'Batteries',
    summary: 'Change a module',
    description: `\`settings\` are merged. ${versions}`,
    may: staff.configure,
    within: 'change',
    body: ModuleChange,
    answers: { 200: ModuleOfBattery },
    handle: ({ tx, audit, actor, context, params, body, unchangedSince }) =>
      changeModule(
        { tx, audit, actor, context },
        batteryNumber(params.battery_id),
        params.module_id,
        body,
        unchangedSince,
      ),
  }),
  route({
    method: 'DELETE',
    path: '/api/batteries/{battery_id}/modules/{module_id}',
    plainParams,
    tag: 'Batteries',
    summary: 'Take a module out',
    description: versions,
    may: staff.configure,
    within: 'change',
    answers: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params, unchangedSince }) => {
      await removeModule(
        { tx, audit, actor, context },
        batteryNumber(params.battery_id),
        params.module_id,
        unchangedSince,
      );
      return noContent();
    },
  }),
];
