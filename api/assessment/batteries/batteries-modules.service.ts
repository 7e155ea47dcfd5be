import { deleteModule, insertModules, orderModules, updateModule } from '../../../db/assessment/batteries.queries.js';
import type { BatteryRecord, ModuleRow } from '../../../db/assessment/batteries.queries.js';
import { isTask } from '../../../workflows/domain/assessment/tasks.js';
import { sameJson } from '../../../workflows/domain/util/same.js';
import { brokenRule, problem } from '../../http/errors.js';
import { mergePatch } from '../../http/conventions/merge-patch.js';
import { auditActor } from '../../http/audit-actor.js';
import { acceptModules, editableBattery, getBatteryOrThrow } from './batteries.service.js';
import type { GivenModule } from './batteries.service.js';
import { acceptSettings } from './batteries-settings.js';
import type { RequestScope } from '../../http/state.js';

type Unchanged = (record: Record<string, unknown>) => void;
export type ModuleOfBattery = ModuleRow & { battery_id: number; version: number };

/**
 * Adds a module, last or at a position. @throws 404, 409 BATTERY_RETIRED, 422 bad settings, 400 more than 100 modules
 */
export async function addModule(change: RequestScope, id: number, input: GivenModule): Promise<ModuleOfBattery> {
  const battery = await editableBattery(change, await getBatteryOrThrow(change.tx, id, true));
  const of = { battery_id: id, version: battery.version };
  const [module] = await acceptModules(change.tx, battery.study_id, [input], 'module');
  if (battery.modules.length >= 100) throw brokenRule('modules', 'TOO_MANY', 'has 100 modules already');
  await insertModules(change.tx, { ...of, study_id: battery.study_id }, [
    { ...module!, position: battery.modules.length + 1 },
  ]);
  let after = await getBatteryOrThrow(change.tx, id);
  const added = after.modules.at(-1)!;
  if (input.position !== undefined && input.position <= battery.modules.length) {
    const ids = after.modules.slice(0, -1).map((m) => m.id);
    ids.splice(input.position - 1, 0, added.id);
    await orderModules(change.tx, of, ids);
    after = await getBatteryOrThrow(change.tx, id);
  }
  record(change, battery, 'battery_module_added', { module_id: added.id, task: added.task });
  return found(after, added.id);
}

/** Sets the order of the modules: each exactly once. @throws 404, 409 BATTERY_RETIRED or STALE, 400, 422 */
export async function reorderModules(
  change: RequestScope,
  id: number,
  input: readonly string[],
  assertIfMatch: Unchanged,
): Promise<BatteryRecord> {
  const before = await getBatteryOrThrow(change.tx, id, true);
  assertIfMatch({ ...before });
  const ids = input.map((one) => one.toLowerCase());
  if (new Set(ids).size !== ids.length) throw brokenRule('module_ids', 'DUPLICATE', 'names a module twice');
  const own = new Set(before.modules.map((module) => module.id));
  const strange = ids.findIndex((one) => !own.has(one));
  if (strange >= 0) throw brokenRule(`module_ids.${strange}`, 'UNKNOWN_MODULE', 'is not a module of the battery');
  if (ids.length !== own.size)
    throw brokenRule('module_ids', 'INCOMPLETE', `names ${ids.length} of ${own.size} modules`);
  if (ids.every((one, index) => before.modules[index]!.id === one)) return before;
  const battery = await editableBattery(change, before);
  await orderModules(change.tx, { battery_id: id, version: battery.version }, ids);
  record(change, battery, 'battery_modules_reordered', { module_ids: ids });
  return getBatteryOrThrow(change.tx, id);
}

/** Changes a module; `settings` are merged. @throws 404, 409 BATTERY_RETIRED or STALE, 400, 422 */
export async function changeModule(
  change: RequestScope,
  id: number,
  moduleId: string,
  input: Omit<GivenModule, 'task' | 'position'>,
  assertIfMatch: Unchanged,
): Promise<ModuleOfBattery> {
  const before = await getBatteryOrThrow(change.tx, id, true);
  assertIfMatch({ ...before });
  const module = found(before, moduleId);
  if (!isTask(module.task)) throw problem('NOT_FOUND', { detail: 'There is no such module.' });
  const merged = input.settings && (mergePatch(module.settings, input.settings) as Record<string, unknown>);
  const [settings] = merged
    ? await acceptSettings(change.tx, before.study_id, [{ task: module.task, settings: merged, path: 'settings' }])
    : [];
  const values = { ...input, ...(settings && { settings }) };
  const names = Object.keys(values) as (keyof typeof values)[];
  const fields = names.filter((name) => !sameJson(module[name], values[name])).sort();
  // Nothing changes: it does not create a draft of a published battery either.
  if (fields.length === 0) return module;
  const battery = await editableBattery(change, before);
  await updateModule(change.tx, { battery_id: id, version: battery.version, id: module.id }, values);
  record(change, battery, 'battery_module_changed', { module_id: module.id, fields });
  return found(await getBatteryOrThrow(change.tx, id), module.id);
}

/** @throws 404, 409 BATTERY_RETIRED or STALE */
export async function removeModule(
  change: RequestScope,
  id: number,
  moduleId: string,
  assertIfMatch: Unchanged,
): Promise<void> {
  const before = await getBatteryOrThrow(change.tx, id, true);
  assertIfMatch({ ...before });
  const module = found(before, moduleId);
  const battery = await editableBattery(change, before);
  await deleteModule(change.tx, { battery_id: id, version: battery.version, id: module.id });
  record(change, battery, 'battery_module_removed', { module_id: module.id, task: module.task });
}

function found(battery: BatteryRecord, moduleId: string): ModuleOfBattery {
  const module = battery.modules.find((one) => one.id === moduleId.toLowerCase());
  if (!module) throw problem('NOT_FOUND', { detail: 'There is no such module.' });
  return { ...module, battery_id: battery.id, version: battery.version };
}

function record(
  { audit, actor, context }: RequestScope,
  battery: BatteryRecord,
  action: string,
  metadata: Record<string, unknown>,
): void {
  audit.record({
    ...auditActor(actor, context),
    study_id: battery.study_id,
    action,
    resource_type: 'battery',
    resource_id: String(battery.id),
    metadata: { version: battery.version, ...metadata },
  });
}
