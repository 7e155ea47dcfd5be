import {
  batteryById,
  batteryInUse,
  copyModules,
  deleteBattery,
  deleteModules,
  insertBattery,
  insertModules,
  insertVersion,
  listBatteryVersions,
  updateBattery,
} from '../../../db/assessment/batteries.queries.js';
import type { BatteryRecord, ListedVersion, ModuleRow } from '../../../db/assessment/batteries.queries.js';
import { taskDefinition } from '../../../workflows/domain/assessment/tasks.js';
import type { TaskName } from '../../../workflows/domain/assessment/tasks.js';
import { sameJson } from '../../../workflows/domain/util/same.js';
import { invalid, problem } from '../../http/errors.js';
import { mapConstraintErrors } from '../../http/to-problem.js';
import { auditActor, changedFields } from '../../http/audit-actor.js';
import { acceptSettings } from './batteries-settings.js';
import { getStudyOrThrow as existingStudy } from '../../studies/studies.service.js';
import type { RequestScope } from '../../http/state.js';
import type { Tx } from '../../../db/client/database.js';

const unique = { batteries_study_id_code_key: 'BATTERY_CODE_TAKEN' } as const;
const MAX_MODULES = 100;
export interface GivenModule {
  task: TaskName;
  name?: string;
  settings?: Record<string, unknown>;
  required?: boolean;
  estimated_minutes?: number;
  position?: number;
}
interface Fields {
  code?: string;
  name?: string;
  description?: string | null;
}
type Unchanged = (record: Record<string, unknown>) => void;

/**
 * Creates a battery, version 1, as a draft or published at once. @throws 400 two studies, 404, 409 BATTERY_CODE_TAKEN,
 * 422 no study or bad settings
 */
export async function createBattery(
  change: RequestScope,
  contextStudy: string | undefined,
  input: Fields & {
    code: string;
    name: string;
    study_id?: string;
    modules?: GivenModule[];
    status?: 'draft' | 'published';
  },
): Promise<BatteryRecord> {
  const { tx, audit, actor, context } = change;
  const { study_id, modules = [], status = 'draft', ...fields } = input;
  if (study_id && contextStudy && study_id.toLowerCase() !== contextStudy) throw problem('CONTEXT_CONFLICT');
  const studyId = study_id ?? contextStudy;
  if (!studyId) throw invalid('study_id', 'REQUIRED', 'is required: in the body, as X-Study-ID or as a query');
  await existingStudy(tx, studyId);
  const accepted = await acceptModules(tx, studyId, modules);
  const id = await mapConstraintErrors(unique, () => insertBattery(tx, { ...fields, study_id: studyId }));
  await insertModules(tx, { battery_id: id, version: 1, study_id: studyId }, accepted);
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'battery_created',
    resource_type: 'battery',
    resource_id: String(id),
    metadata: { code: input.code, modules: accepted.length },
  });
  const battery = await getBatteryOrThrow(tx, id);
  return status === 'draft' ? battery : move(change, battery, status);
}

/**
 * Changes a battery. An edit of a published version creates the next one, as a draft; `status` then publishes or
 * retires the result, so that one call can edit and publish. The modules that are there already are no edit.
 * @throws 404, 409 BATTERY_CODE_TAKEN, INVALID_TRANSITION or STALE, 422
 */
export async function changeBattery(
  change: RequestScope,
  id: number,
  input: Fields & { modules?: GivenModule[]; status?: BatteryRecord['status'] },
  assertIfMatch: Unchanged,
): Promise<BatteryRecord> {
  const { tx, audit, actor, context } = change;
  let battery = await getBatteryOrThrow(tx, id, true);
  assertIfMatch({ ...battery });
  const { status, modules: given, ...fields } = input;
  const changed = changedFields({ ...battery }, { ...fields });
  const accepted = given && (await acceptModules(tx, battery.study_id, given));
  const modules = accepted && sameJson(battery.modules.map(withoutId), accepted) ? undefined : accepted;
  if (changed.length > 0 || modules || (status === 'draft' && battery.status === 'published')) {
    battery = await editableBattery(change, battery);
    if (changed.length > 0) await mapConstraintErrors(unique, () => updateBattery(tx, id, fields));
    if (modules) {
      await deleteModules(tx, { battery_id: id, version: battery.version });
      await insertModules(tx, { battery_id: id, version: battery.version, study_id: battery.study_id }, modules);
    }
    audit.record({
      ...auditActor(actor, context),
      study_id: battery.study_id,
      action: 'battery_changed',
      resource_type: 'battery',
      resource_id: String(id),
      metadata: { version: battery.version, fields: [...changed, ...(modules ? ['modules'] : [])] },
    });
    battery = await getBatteryOrThrow(tx, id);
  }
  if (status === undefined || status === battery.status) return battery;
  return move(change, battery, status);
}

async function move(
  { tx, audit, actor, context }: RequestScope,
  battery: BatteryRecord,
  status: BatteryRecord['status'],
): Promise<BatteryRecord> {
  if (status === 'draft')
    throw problem('INVALID_TRANSITION', { detail: `A ${battery.status} battery does not become a draft again.` });
  if (status === 'published') {
    // A retired battery returns in its last published version; its draft, if any, is published now.
    if (battery.published_version !== battery.version) await insertVersion(tx, battery, actor.id);
    await updateBattery(tx, battery.id, { status: 'published', published_version: battery.version });
  } else {
    await updateBattery(tx, battery.id, { status: 'retired' });
  }
  audit.record({
    ...auditActor(actor, context),
    study_id: battery.study_id,
    action: `battery_${status}`,
    resource_type: 'battery',
    resource_id: String(battery.id),
    metadata: { version: battery.version },
  });
  return getBatteryOrThrow(tx, battery.id);
}

/** The battery with an editable version: a published one gets a next version first. @throws 409 BATTERY_RETIRED */
export async function editableBattery({ tx }: RequestScope, battery: BatteryRecord): Promise<BatteryRecord> {
  if (battery.status === 'draft') {
    // It is a draft; its `updated_at` follows changes of its modules.
    await updateBattery(tx, battery.id, {});
    return battery;
  }
  if (battery.status === 'retired') throw problem('BATTERY_RETIRED');
  const version = battery.version + 1;
  await copyModules(tx, battery.id, battery.version, version);
  await updateBattery(tx, battery.id, { version, status: 'draft' });
  return { ...battery, version, status: 'draft' };
}

/** Deletes a battery that nothing refers to. @throws 404, 409 BATTERY_IN_USE or STALE */
export async function removeBattery(
  { tx, audit, actor, context }: RequestScope,
  id: number,
  assertIfMatch: Unchanged,
): Promise<void> {
  const battery = await getBatteryOrThrow(tx, id, true);
  assertIfMatch({ ...battery });
  if (await batteryInUse(tx, id)) throw problem('BATTERY_IN_USE');
  await deleteBattery(tx, id);
  audit.record({
    ...auditActor(actor, context),
    study_id: battery.study_id,
    action: 'battery_deleted',
    resource_type: 'battery',
    resource_id: String(id),
    metadata: { code: battery.code },
  });
}

/** A draft with the same modules, in the same or another study. @throws 404, 409 BATTERY_CODE_TAKEN */
export async function duplicateBattery(
  change: RequestScope,
  id: number,
  input: { study_id: string; code?: string; name?: string },
): Promise<BatteryRecord> {
  const { tx, audit, actor, context } = change;
  const source = await getBatteryOrThrow(tx, id);
  await existingStudy(tx, input.study_id);
  const copy = await mapConstraintErrors(unique, () =>
    insertBattery(tx, {
      study_id: input.study_id,
      code: input.code ?? source.code,
      name: input.name ?? source.name,
      description: source.description,
    }),
  );
  await insertModules(tx, { battery_id: copy, version: 1, study_id: input.study_id }, source.modules.map(withoutId));
  audit.record({
    ...auditActor(actor, context),
    study_id: input.study_id,
    action: 'battery_duplicated',
    resource_type: 'battery',
    resource_id: String(copy),
    metadata: { from: id, from_study: source.study_id, from_version: source.version },
  });
  return getBatteryOrThrow(tx, copy);
}

const withoutId = ({ id: _id, ...module }: ModuleRow): Omit<ModuleRow, 'id'> => module;

export async function batteryVersions(tx: Tx, id: number): Promise<ListedVersion[]> {
  await getBatteryOrThrow(tx, id);
  return listBatteryVersions(tx, id);
}

/** Modules for storing: settings merged over the defaults, ordered by position without gaps. @throws 422 */
export async function acceptModules(
  tx: Tx,
  studyId: string,
  input: readonly GivenModule[],
  path = 'modules',
): Promise<Omit<ModuleRow, 'id'>[]> {
  if (input.length > MAX_MODULES) throw invalid(path, 'TOO_MANY', `has more than ${MAX_MODULES} modules`);
  const settings = await acceptSettings(
    tx,
    studyId,
    input.map((module, index) => ({
      task: module.task,
      settings: module.settings ?? {},
      path: `${path}.${index}.settings`,
    })),
  );
  const accepted: Omit<ModuleRow, 'id' | 'position'>[] = [];
  for (const [index, module] of input.entries()) {
    const definition = taskDefinition(module.task);
    accepted.push({
      task: module.task,
      name: module.name ?? definition.title,
      required: module.required ?? true,
      estimated_minutes: module.estimated_minutes ?? definition.estimated_minutes,
      settings: settings[index]!,
    });
  }
  return checkedPositions(input).map((index, place) => ({ ...accepted[index]!, position: place + 1 }));
}

/** The positions in the list: modules without one fill the gaps, equal ones keep their order. */
function checkedPositions(input: readonly { position?: number }[]): number[] {
  const places = [...input.keys()];
  const order = places.filter((index) => input[index]!.position === undefined);
  const wanted = places
    .filter((index) => input[index]!.position !== undefined)
    .sort((a, b) => input[a]!.position! - input[b]!.position!);
  let free = 0;
  for (const index of wanted) {
    const at = Math.max(free, input[index]!.position! - 1);
    order.splice(at, 0, index);
    free = at + 1;
  }
  return order;
}

export async function getBatteryOrThrow(tx: Tx, id: number, lock = false): Promise<BatteryRecord> {
  const battery = await batteryById(tx, id, lock);
  if (!battery) throw problem('NOT_FOUND', { detail: 'There is no such battery.' });
  return battery;
}

/** The number in a path. @throws 404 for anything else */
export function batteryNumber(text: string): number {
  const id = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : NaN;
  if (!(id <= 2_147_483_647)) throw problem('NOT_FOUND', { detail: 'There is no such battery.' });
  return id;
}
