import { taskNames } from '../../../workflows/domain/assessment/tasks.js';
import {
  nameText,
  Code,
  Instant,
  Json,
  Language,
  Type,
  Uuid,
  body,
  importClaims,
  nullable,
  oneOf,
  partial,
  text,
  named,
  record,
  input,
  extended,
} from '../../http/common.schemas.js';

export const BatteryStatus = named('BatteryStatus', oneOf('draft', 'published', 'retired'));
const Task = named('Task', oneOf(...taskNames));
const Minutes = Type.Number({ minimum: 0, maximum: 1_000 });

export const Module = record('Module', {
  id: Uuid,
  position: Type.Integer(),
  task: Task,
  name: Type.String(),
  settings: Json,
  required: Type.Boolean(),
  estimated_minutes: Type.Number(),
});
export const ModuleOfBattery = extended('ModuleOfBattery', Module, {
  battery_id: Type.Integer(),
  version: Type.Integer(),
});
export const Battery = record('Battery', {
  id: Type.Integer(),
  study_id: Uuid,
  code: Type.String(),
  name: Type.String(),
  description: nullable(Type.String()),
  version: Type.Integer(),
  status: BatteryStatus,
  published_version: nullable(Type.Integer()),
  modules: Type.Array(Module),
  created_at: Instant,
  updated_at: Instant,
});
export const BatteryVersion = record('BatteryVersion', {
  battery_id: Type.Integer(),
  version: Type.Integer(),
  status: oneOf('draft', 'published'),
  name: Type.String(),
  description: nullable(Type.String()),
  published_at: nullable(Instant),
  published_by_id: nullable(Uuid),
  ...importClaims,
  modules: Type.Array(Module),
});

/**
 * `settings` are merged over the task's defaults. Modules are placed at their `position`, those without one in the free
 * places; a module added without one comes last.
 */
export const NewModule = input('ModuleCreate', {
  task: Task,
  name: Type.Optional(nameText(300)),
  settings: Type.Optional(Json),
  required: Type.Optional(Type.Boolean()),
  estimated_minutes: Type.Optional(Minutes),
  position: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
});
export const ModuleChange = input('ModulePatch', {
  name: Type.Optional(nameText(300)),
  settings: Type.Optional(Json),
  required: Type.Optional(Type.Boolean()),
  estimated_minutes: Type.Optional(Minutes),
});
const modules = Type.Array(NewModule, { maxItems: 100 });
const fields = { code: Code, name: nameText(300), description: Type.Optional(nullable(text(10_000))) };
/** The study comes from `study_id` here or from the context. */
export const NewBattery = input('BatteryCreate', {
  ...fields,
  study_id: Type.Optional(Uuid),
  modules: Type.Optional(modules),
  status: Type.Optional(oneOf('draft', 'published')),
});
export const BatteryChange = named('BatteryPatch', partial(body({ ...fields, modules, status: BatteryStatus })));
export const ModuleOrder = input('ModuleOrder', { module_ids: Type.Array(Uuid, { maxItems: 100 }) });
export const Duplicate = input('BatteryDuplicate', {
  study_id: Uuid,
  code: Type.Optional(Code),
  name: Type.Optional(nameText(300)),
});

export const CompileQuery = Type.Object({
  version: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })),
  language: Type.Optional(Language),
});
export const Compiled = record('CompiledBattery', {
  battery_id: Type.Integer(),
  version: Type.Integer(),
  checksum: Type.String({ description: 'SHA-256, hex, of the canonical JSON (RFC 8785) of the rest' }),
  language: Type.String(),
  modules: Type.Array(Module),
  estimated_minutes: Type.Number(),
});
export const TaskInfo = record('TaskInfo', {
  task: Task,
  title: Type.String(),
  settings_schema: Json,
  default_settings: Json,
  estimated_minutes: Type.Number(),
  metrics: Type.Array(Type.String()),
});
