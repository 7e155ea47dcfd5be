import { isDeepStrictEqual } from 'node:util';
import { listVersionOutlines, modulesOfVersion } from '../../../../db/assessment/batteries.queries.js';
import type { BatteryRecord, ModuleRow, VersionOutline } from '../../../../db/assessment/batteries.queries.js';
import type { Tx } from '../../../../db/client/database.js';
import type { StudyRecord } from '../../../../db/studies/studies.queries.js';
import { LOCALISED, isTask, taskDefinition } from '../../../../workflows/domain/assessment/tasks.js';
import { differences } from '../../../assessment/batteries/authoring-diff.js';
import type { Difference } from '../../../assessment/batteries/authoring-diff.js';
import { batteryNumber, getBatteryOrThrow } from '../../../assessment/batteries/batteries.service.js';
import { invalid, problem } from '../../../http/errors.js';
import { getStudyOrThrow } from '../../../studies/studies.service.js';
import { editOf, typedJson, typedValue } from '../edit/edit.js';
import type { Edit, RefusedForm, Texts } from '../edit/edit.js';

export interface BatteryView {
  study: StudyRecord;
  battery: BatteryRecord;
  versions: VersionOutline[];
  /** The modules of the published version. */
  published: ModuleRow[];
}
interface Params {
  study_id: string;
  battery_id: string;
}

/** @throws 404 also for a battery of another study */
export async function batteryOf(tx: Tx, params: Params, lock = false): Promise<BatteryRecord> {
  const battery = await getBatteryOrThrow(tx, batteryNumber(params.battery_id), lock);
  if (battery.study_id !== params.study_id.toLowerCase())
    throw problem('NOT_FOUND', { detail: 'There is no such battery.' });
  return battery;
}

/** @throws 404 */
export async function loadBattery(tx: Tx, params: Params): Promise<BatteryView> {
  const battery = await batteryOf(tx, params);
  return {
    battery,
    study: await getStudyOrThrow(tx, battery.study_id),
    versions: await listVersionOutlines(tx, battery.id),
    published: await publishedModules(tx, battery),
  };
}

const publishedModules = async (tx: Tx, { id, published_version }: BatteryRecord): Promise<ModuleRow[]> =>
  published_version === null ? [] : modulesOfVersion(tx, id, published_version);

/** The changes that the next publication would make. */
export interface Publication {
  added: ModuleRow[];
  removed: ModuleRow[];
  changed: { module: ModuleRow; differences: Difference[] }[];
  /** The same modules in another order. */
  reordered: boolean;
}

export function publicationOf({ battery, published: before }: BatteryView): Publication {
  const now = battery.modules;
  const old = new Map(before.map((module) => [module.id, module]));
  const kept = (modules: readonly ModuleRow[], others: readonly ModuleRow[]) =>
    modules.map(({ id }) => id).filter((id) => others.some((other) => other.id === id));
  return {
    added: now.filter(({ id }) => !old.has(id)),
    removed: before.filter(({ id }) => !now.some((module) => module.id === id)),
    changed: now.flatMap((module) => {
      const was = old.get(module.id);
      const found = was ? differences(without(was), without(module)) : [];
      return found.length > 0 ? [{ module, differences: found }] : [];
    }),
    reordered: !isDeepStrictEqual(kept(before, now), kept(now, before)),
  };
}
const without = ({ id: _id, position: _position, ...module }: ModuleRow) => module;

/** Languages of the modules' texts: a compiled module has them in one language. */
export function languagesOf(modules: readonly ModuleRow[]): string[] {
  const found = modules.flatMap(({ settings }) =>
    LOCALISED.flatMap((name) => {
      const texts = settings[name];
      return typeof texts === 'object' && texts !== null ? Object.keys(texts) : [];
    }),
  );
  return [...new Set(['en', 'de', ...found])].sort();
}

// --- a module as a form

type Schema = Readonly<Record<string, unknown>>;
/** A setting with its own field: a number, or a choice of texts. */
export interface Setting {
  name: string;
  options?: readonly string[];
  fallback: string;
}

/** The plain settings of a task; all others are JSON. */
export function plainSettings(task: string): Setting[] {
  if (!isTask(task)) return [];
  const { settings, defaults } = taskDefinition(task);
  return Object.entries(settings['properties'] as Record<string, Schema>).flatMap(([name, schema]) => {
    const fallback = defaults[name] === undefined ? '' : String(defaults[name]);
    if (Array.isArray(schema['enum'])) return [{ name, options: schema['enum'].map(String), fallback }];
    return schema['type'] === 'integer' || schema['type'] === 'number' ? [{ name, fallback }] : [];
  });
}

const restOf = (module: ModuleRow): Record<string, unknown> => {
  const plain = plainSettings(module.task).map(({ name }) => name);
  return Object.fromEntries(Object.entries(module.settings).filter(([name]) => !plain.includes(name)));
};

export function moduleTexts(module: ModuleRow): Texts {
  const plain = plainSettings(module.task).map(
    ({ name }) => [`settings.${name}`, asText(module.settings[name])] as const,
  );
  return {
    name: module.name,
    required: module.required ? '1' : '',
    estimated_minutes: String(module.estimated_minutes),
    ...Object.fromEntries(plain),
    settings: JSON.stringify(restOf(module), null, 2),
  };
}
const asText = (value: unknown): string =>
  value === undefined || value === null ? '' : String(value as string | number);

export const moduleEdit = (battery: BatteryRecord, module: ModuleRow, sent?: RefusedForm): Edit =>
  editOf(battery, moduleTexts(module), sent);

const number = (text: string): number | string =>
  text !== '' && Number.isFinite(Number(text.replace(',', '.'))) ? Number(text.replace(',', '.')) : text;

/**
 * The changes of a module's form. An empty setting means the task's default; keys missing in the JSON are removed.
 * @throws 422 if it is not JSON, or a name in it stands twice
 */
export function moduleIn(form: URLSearchParams, module: ModuleRow) {
  const said = (name: string) => typedValue(form, name).trim();
  const rest = said('settings') === '' ? {} : typedJson(said('settings'), 'settings');
  if (typeof rest !== 'object' || rest === null || Array.isArray(rest))
    throw invalid('settings', 'TYPE', 'must be object');
  const plain = plainSettings(module.task).map(({ name, options }) => {
    const value = said(`settings.${name}`);
    return [name, value === '' ? null : options ? value : number(value)] as const;
  });
  return {
    name: said('name'),
    required: said('required') !== '',
    estimated_minutes: number(said('estimated_minutes')) as number,
    settings: {
      ...Object.fromEntries(Object.keys(restOf(module)).map((name) => [name, null])),
      ...rest,
      ...Object.fromEntries(plain),
    } as Record<string, unknown>,
  };
}

/** @throws 404 */
export function moduleOf(battery: BatteryRecord, id: string): ModuleRow {
  const module = battery.modules.find((one) => one.id === id.toLowerCase());
  if (!module) throw problem('NOT_FOUND', { detail: 'There is no such module.' });
  return module;
}
