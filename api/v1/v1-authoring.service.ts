import type { BatteryRecord } from '../../db/assessment/batteries.queries.js';
import { batteryByCode } from '../../db/assessment/batteries.queries.js';
import { windowByCode } from '../../db/scheduling/windows.queries.js';
import type { VisitWindow } from '../../db/models/records.js';
import { brokenRule, problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import { reply } from '../http/route.js';
import type { Reply } from '../http/route.js';
import { differences } from '../assessment/batteries/authoring-diff.js';
import type { Difference } from '../assessment/batteries/authoring-diff.js';
import { acceptModules, changeBattery, createBattery } from '../assessment/batteries/batteries.service.js';
import type { GivenModule } from '../assessment/batteries/batteries.service.js';
import { withEarlierOverrides } from '../studies/earlier-overrides.service.js';
import type { RequestScope } from '../http/state.js';
import {
  changeWindow,
  createWindow,
  getWindowOrThrow,
  requireBattery,
  withPresentEvent,
} from '../scheduling/windows.service.js';

/** The target of a write: a record of one study, by its code. */
interface Target {
  studyId: string;
  code: string;
  dryRun: boolean;
  assertIfMatch: (record: Record<string, unknown> | undefined) => void;
}
export interface WantedBattery {
  code?: string;
  name: string;
  description?: string | null;
  modules?: Omit<GivenModule, 'position'>[];
  publish?: boolean;
}
export interface WantedWindow {
  code?: string;
  name: string;
  target_day: number;
  window_before?: number;
  window_after?: number;
  battery_id?: number | null;
  battery_code?: string | null;
  is_baseline?: boolean;
  datacapture_event?: string | null;
  sort_order?: number;
}

/**
 * Sets a battery to the body's content: omitted fields get their defaults. The same body again changes nothing. A
 * published battery that differs gets a next version, which `publish` publishes.
 * @throws 409 BATTERY_RETIRED or STALE, 422 bad settings, 400 another code than the path's
 */
export async function putBattery(
  change: RequestScope,
  { studyId, code, dryRun, assertIfMatch }: Target,
  wanted: WantedBattery,
): Promise<Reply> {
  assertSame(code, wanted.code);
  const modules = await acceptModules(change.tx, studyId, wanted.modules ?? []);
  const before = await batteryByCode(change.tx, studyId, code);
  assertIfMatch(before && { ...before });
  const fields = { name: wanted.name, description: wanted.description ?? null };
  const status = wanted.publish ? 'published' : (before?.status ?? 'draft');
  const changes = differences(before ? { ...contentOf(before), status: before.status } : null, {
    ...fields,
    modules,
    status:
      before?.status === 'published' && !wanted.publish && differs(before, { ...fields, modules }) ? 'draft' : status,
  });
  const answer = (battery: BatteryRecord | null) => answered(before, changes, dryRun, { battery });
  const isRetired = before?.status === 'retired';
  if (isRetired && differs(before, { ...fields, modules })) throw problem('BATTERY_RETIRED');
  if (dryRun || changes.length === 0) return answer(before ?? null);
  const given = wanted.modules ?? [];
  let battery = before
    ? await changeBattery(
        change,
        before.id,
        {
          ...(differs(before, { ...fields, modules }) && { ...fields, modules: given }),
          ...(wanted.publish && { status: 'published' as const }),
        },
        () => undefined,
      )
    : await createBattery(change, studyId, { code, ...fields, modules: given });
  if (!before && wanted.publish)
    battery = await changeBattery(change, battery.id, { status: 'published' }, () => undefined);
  record(change, studyId, 'battery', String(battery.id), changes);
  return answer(battery);
}

function assertSame(code: string, input: string | undefined): void {
  if (input !== undefined && input !== code)
    throw brokenRule('code', 'CODE_MISMATCH', 'must be the code of the path, or left out');
}

const contentOf = ({ name, description, modules }: BatteryRecord) => ({
  name,
  description,
  modules: modules.map(({ id: _id, ...module }) => module),
});
const differs = (battery: BatteryRecord, wanted: object): boolean => differences(contentOf(battery), wanted).length > 0;

/**
 * Sets a visit window to the body's content; `battery_code` names a battery of the study. @throws 409 STALE, 400 an
 * unknown battery, or two batteries
 */
export async function putWindow(
  change: RequestScope,
  { studyId, code, dryRun, assertIfMatch }: Target,
  { battery_code, ...wanted }: WantedWindow,
): Promise<Reply> {
  assertSame(code, wanted.code);
  const batteryId = battery_code
    ? (await batteryByCode(change.tx, studyId, battery_code))?.id
    : (wanted.battery_id ?? null);
  if (batteryId === undefined) throw brokenRule('battery_code', 'UNKNOWN_BATTERY', 'is not a battery of the study');
  if (battery_code && wanted.battery_id != null && wanted.battery_id !== batteryId)
    throw brokenRule('battery_code', 'BATTERY_CONFLICT', 'names another battery than battery_id');
  await requireBattery(change.tx, batteryId, studyId);
  const fields = await withPresentEvent(change.tx, studyId, {
    name: wanted.name,
    battery_id: batteryId,
    target_day: wanted.target_day,
    window_before: wanted.window_before ?? 0,
    window_after: wanted.window_after ?? 7,
    is_baseline: wanted.is_baseline ?? false,
    datacapture_event: wanted.datacapture_event ?? null,
    sort_order: wanted.sort_order ?? 0,
  });
  const before = await windowByCode(change.tx, studyId, code);
  assertIfMatch(before && { ...before });
  const standing =
    before && Object.fromEntries(Object.keys(fields).map((key) => [key, before[key as keyof typeof fields]]));
  const changes = differences(standing ?? null, fields);
  const moved = changes.length > 0 ? await withEarlierOverrides(change.tx, studyId, {}) : {};
  const answer = (window: VisitWindow | null) => answered(before, changes, dryRun, { visit_window: window, ...moved });
  if (dryRun || changes.length === 0) return answer(before ?? null);
  const { id } = before
    ? await changeWindow(change, before.id, fields, () => undefined)
    : await createWindow(change, studyId, { code, ...fields });
  record(change, studyId, 'visit_window', id, changes);
  return answer(await getWindowOrThrow(change.tx, id));
}

function answered(before: unknown, changes: readonly Difference[], dryRun: boolean, record: object): Reply {
  const action = before === undefined ? 'created' : changes.length > 0 ? 'updated' : 'unchanged';
  return reply(action === 'created' && !dryRun ? 201 : 200, { action, dry_run: dryRun, changes, ...record });
}

function record(
  { audit, actor, context }: RequestScope,
  studyId: string,
  type: string,
  id: string,
  changes: readonly Difference[],
): void {
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'authored',
    resource_type: type,
    resource_id: id,
    metadata: { token_id: actor.tokenId ?? null, paths: changes.map(({ path }) => path).slice(0, 100) },
  });
}
