import { raw } from 'objection';
import { Battery, BatteryModule, BatteryVersion } from '../models/assessment.js';
import { lockByName } from '../client/advisory-lock.js';
import type { Statement } from '../client/one-trip.js';
import { execute, prepared, query } from '../client/query.js';
import { page } from '../client/paging.js';
import type { Listed, Page } from '../client/paging.js';
import { writtenJson } from '../client/long-json.js';
import type { Tx } from '../client/database.js';

export interface ModuleRow {
  id: string;
  position: number;
  task: string;
  name: string;
  settings: Record<string, unknown>;
  required: boolean;
  estimated_minutes: number;
}
export interface BatteryRecord {
  id: number;
  study_id: string;
  code: string;
  name: string;
  description: string | null;
  version: number;
  status: 'draft' | 'published' | 'retired';
  published_version: number | null;
  modules: ModuleRow[];
  created_at: string;
  updated_at: string;
}
export type BatteryFields = Partial<
  Pick<BatteryRecord, 'code' | 'name' | 'description' | 'version' | 'status' | 'published_version'>
>;

const OUTLINE =
  `'id', m.id, 'position', m.position, 'task', m.task, 'name', m.name, 'required', m.required, ` +
  `'estimated_minutes', m.estimated_minutes`;
const moduleList = (fields: string, version: string): string =>
  `coalesce((select jsonb_agg(jsonb_build_object(${fields}) order by m.position) from battery_modules m
    where m.battery_id = b.id and m.version = ${version}), '[]')`;
const allOf = (version: string): string => moduleList(`${OUTLINE}, 'settings', m.settings`, version);
const modulesOf = (version: string): string => `${allOf(version)} as modules`;
/** Characters of all settings of a version that a list has at most. */
const LONG_SETTINGS = 64 * 1024;
const modulesIfShort = (version: string): string =>
  `case when (select sum(octet_length(m.settings::text)) from battery_modules m
    where m.battery_id = b.id and m.version = ${version}) > ${LONG_SETTINGS} then null else ${allOf(version)}
    end as modules`;
const outlinesOf = (version: string): string => `${moduleList(OUTLINE, version)} as modules`;
const columns = (modules: string): string =>
  `b.id, b.study_id, b.code, b.name, b.description, b.version, b.status, b.published_version, ${modules}, b.created_at,
    b.updated_at`;
const COLUMNS = columns(modulesOf('b.version'));

/** A module without its settings. */
export type ModuleOutline = Omit<ModuleRow, 'settings'>;
export type BatteryOutline = Omit<BatteryRecord, 'modules'> & { modules: ModuleOutline[] };
/** A battery of a list: long modules are null, and read by themselves (`writtenModules`). */
export type ListedBattery = Omit<BatteryRecord, 'modules'> & { modules: ModuleRow[] | null };
type BatteryFilter = Page & { studyId?: string | undefined; status?: string | undefined };

export const listBatteries = (tx: Tx, filter: BatteryFilter): Promise<Listed<ListedBattery>> =>
  pageOfBatteries(tx, filter, columns(modulesIfShort('b.version')));

/** The same without the settings of modules. */
export const listBatteryOutlines = (tx: Tx, filter: BatteryFilter): Promise<Listed<BatteryOutline>> =>
  pageOfBatteries(tx, filter, columns(outlinesOf('b.version')));

function pageOfBatteries<Row>(tx: Tx, filter: BatteryFilter, select: string): Promise<Listed<Row>> {
  const found = tx('batteries as b').modify((q) => {
    if (filter.studyId) q.where('b.study_id', filter.studyId);
    if (filter.status) q.where('b.status', filter.status);
  });
  return page(
    tx,
    found,
    select,
    filter,
    { code: 'b.code', name: 'b.name', created_at: 'b.created_at', id: 'b.id' },
    'b.id',
  );
}

/** The modules of a version as JSON. */
export const writtenModules = (tx: Tx, batteryId: number, version: number): Promise<Buffer[]> =>
  writtenJson(tx, `select ${allOf('$2')} from (values ($1::integer)) as b(id)`, [batteryId, version]);

/**
 * @param lock holds the row until the commit. Related rows are read after the lock, so that they include the previous
 * change
 */
export async function batteryById(tx: Tx, id: number, lock = false): Promise<BatteryRecord | undefined> {
  if (lock) await Battery.query(tx).findById(id).forUpdate().select('id');
  return shown(tx).findById(id).castTo<BatteryRecord | undefined>();
}

/**
 * By its code, locked until the commit. So is a code that none has yet: of two requests that make it, the second finds
 * what the first has made.
 */
export async function batteryByCode(tx: Tx, studyId: string, code: string): Promise<BatteryRecord | undefined> {
  await lockByName(tx, `battery-code ${studyId} ${code}`);
  await Battery.query(tx).findOne({ study_id: studyId, code }).forUpdate().select('id');
  return shown(tx).findOne({ 'b.study_id': studyId, 'b.code': code }).castTo<BatteryRecord | undefined>();
}

const shown = (tx: Tx) => Battery.query(tx).alias('b').select(raw(COLUMNS));

export async function insertBattery(
  tx: Tx,
  battery: BatteryFields & { study_id: string; code: string; name: string },
): Promise<number> {
  return (await Battery.query(tx).insert(battery).returning('id')).id;
}

/** An update without fields is allowed: related rows changed, and `updated_at` must show it. */
export async function updateBattery(tx: Tx, id: number, change: BatteryFields): Promise<void> {
  await Battery.query(tx)
    .findById(id)
    .patch({ ...change, updated_at: raw('clock_timestamp()') });
}

export async function deleteBattery(tx: Tx, id: number): Promise<void> {
  await Battery.query(tx).deleteById(id);
}

/** Whether windows, events, visits, sessions or the capture system's mapping name the battery. */
export async function batteryInUse(tx: Tx, id: number): Promise<boolean> {
  const rows = await query<{ used: boolean }>(
    tx,
    `select exists (select from visit_windows where battery_id = $1) or exists (select from event_definitions
      where battery_id = $1)
       or exists (select from scheduled_visits where battery_id = $1) or exists (select from assessment_sessions
         where battery_id = $1)
       or exists (select from datacapture_configs d, jsonb_each(d.event_battery_mapping) e
         where e.value->>'battery_id' = ($2)::text) as used`,
    [id, id],
  );
  return rows[0]!.used;
}

// --- modules of a version

export async function insertModules(
  tx: Tx,
  version: { battery_id: number; version: number; study_id: string },
  modules: readonly (Omit<ModuleRow, 'id'> & { id?: string })[],
): Promise<void> {
  if (modules.length > 0) await BatteryModule.query(tx).insert(modules.map((module) => ({ ...version, ...module })));
}

export async function updateModule(
  tx: Tx,
  key: { battery_id: number; version: number; id: string },
  change: Partial<Omit<ModuleRow, 'id' | 'position'>>,
): Promise<void> {
  await BatteryModule.query(tx).where(key).patch(change);
}

/** Deletes a module and closes the gap. */
export async function deleteModule(tx: Tx, key: { battery_id: number; version: number; id: string }): Promise<void> {
  await BatteryModule.query(tx).where(key).delete();
  await execute(
    tx,
    `update battery_modules m set position = n.position from (
       select id, row_number() over (order by position) as position from battery_modules
         where battery_id = $1 and version = $2) n
     where m.battery_id = $1 and m.version = $2 and m.id = n.id and m.position <> n.position`,
    [key.battery_id, key.version],
  );
}

export async function deleteModules(tx: Tx, version: { battery_id: number; version: number }): Promise<void> {
  await Battery.relatedQuery('modules', tx).for(version.battery_id).where({ version: version.version }).delete();
}

/** Sets the order of the modules, in one statement. */
export async function orderModules(
  tx: Tx,
  version: { battery_id: number; version: number },
  ids: readonly string[],
): Promise<void> {
  await execute(
    tx,
    `update battery_modules m set position = n.position from unnest($1::uuid[]) with ordinality as n(id, position)
     where m.battery_id = $2 and m.version = $3 and m.id = n.id`,
    [[...ids], version.battery_id, version.version],
  );
}

/** The next version starts as a copy of this one; its modules keep their ids. */
export async function copyModules(tx: Tx, batteryId: number, from: number, to: number): Promise<void> {
  await execute(
    tx,
    `insert into battery_modules (battery_id, version, id, study_id, position, task, name, settings, required,
      estimated_minutes)
     select battery_id, $1, id, study_id, position, task, name, settings, required, estimated_minutes
       from battery_modules where battery_id = $2 and version = $3`,
    [to, batteryId, from],
  );
}

// --- versions

export interface VersionRow {
  battery_id: number;
  version: number;
  status: 'draft' | 'published';
  name: string;
  description: string | null;
  published_at: string | null;
  published_by_id: string | null;
  imported: boolean;
  imported_by: string | null;
  original_users: Record<string, string> | null;
  modules: ModuleRow[];
}

export async function insertVersion(tx: Tx, battery: BatteryRecord, publishedById: string): Promise<void> {
  await BatteryVersion.query(tx).insert({
    battery_id: battery.id,
    version: battery.version,
    study_id: battery.study_id,
    name: battery.name,
    description: battery.description,
    published_by_id: publishedById,
  });
}

/** A version of a list: long modules are null, and read by themselves (`writtenModules`). */
export type ListedVersion = Omit<VersionRow, 'modules'> & { modules: ModuleRow[] | null };
export type VersionOutline = Omit<VersionRow, 'modules'> & { modules: ModuleOutline[] };

/** Every version, newest first; the draft among them where there is one. */
export const listBatteryVersions = (tx: Tx, batteryId: number): Promise<ListedVersion[]> =>
  versionsOf(tx, batteryId, modulesIfShort('b.version'));

/** The same without the settings of modules. */
export const listVersionOutlines = (tx: Tx, batteryId: number): Promise<VersionOutline[]> =>
  versionsOf(tx, batteryId, outlinesOf('b.version'));

const versionsOf = <Row>(tx: Tx, batteryId: number, modules: string): Promise<Row[]> =>
  query<Row>(
    tx,
    `select b.battery_id, b.version, b.status, b.name, b.description, b.published_at, b.published_by_id, b.imported,
      b.imported_by, b.original_users, ${modules} from (
       select v.battery_id as id, v.battery_id, v.version, 'published' as status, v.name, v.description, v.published_at,
         v.published_by_id, v.imported, v.imported_by, v.original_users from battery_versions v where v.battery_id = $1
       union all
       select d.id, d.id, d.version, 'draft', d.name, d.description, null, null, false, null, null from batteries d
       where d.id = $1 and not exists (select from battery_versions v
         where v.battery_id = d.id and v.version = d.version)) b
     order by b.version desc`,
    [batteryId],
  );

export interface CompileSource {
  id: number;
  study_id: string;
  version: number;
  published: boolean;
}

/** `compileSource` as a statement. */
export const compileStatement = (id: number, version: number | undefined): Statement => ({
  sql: `select b.id, b.study_id, w.version, (v.version is not null) as published
     from batteries b cross join lateral (select coalesce($1::integer, b.published_version, b.version) as version) w
     left join battery_versions v on v.battery_id = b.id and v.version = w.version
     where b.id = $2 and (v.version is not null or w.version = b.version)`,
  values: [version ?? null, id],
});

/**
 * The version that a client gets: the named one, else the newest published, else the draft. Undefined: no such battery
 * or version.
 */
export async function compileSource(
  tx: Tx,
  id: number,
  version: number | undefined,
): Promise<CompileSource | undefined> {
  const { sql, values } = compileStatement(id, version);
  return (await prepared<CompileSource>(tx, sql, values))[0];
}

export async function modulesOfVersion(tx: Tx, batteryId: number, version: number): Promise<ModuleRow[]> {
  return tx('battery_modules')
    .where({ battery_id: batteryId, version })
    .orderBy('position')
    .select('id', 'position', 'task', 'name', 'settings', 'required', 'estimated_minutes');
}
