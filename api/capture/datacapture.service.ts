import type { AuditTrail } from '../../db/audit/audit.js';
import { putOutbox } from '../../db/outbox/outbox.js';
import { breakerOf, forgetOutage } from '../../db/capture/breakers.queries.js';
import {
  configForUpdate,
  findConfig,
  insertConfig,
  pushCounts,
  tokenPlace,
  unknownBatteries,
  updateConfig,
  webhookSecretPlace,
} from '../../db/capture/datacapture-configs.queries.js';
import type { ConfigChange, DatacaptureConfigRow } from '../../db/capture/datacapture-configs.queries.js';
import {
  requestMissedPushes,
  requestOpenPushesAgain,
  requeueWaitingPushes,
  retryForbidden,
  retryUnmapped,
  retryUnseen,
} from '../../db/capture/push-requests.queries.js';
import { forgetUnmatched } from '../../db/capture/unmatched-triggers.queries.js';
import { withStudyScope, readInScope } from '../../db/client/transaction.js';
import { Problem, problem } from '../http/errors.js';
import { contentTag } from '../http/conventions/etag.js';
import { auditActor, changedFields } from '../http/audit-actor.js';
import { seal } from '../secrets.js';
import type { Actor } from '../http/access.js';
import type { RequestContext } from '../http/request-context.js';
import type { Dependencies } from '../dependencies.js';
import { captureDefaults } from './capture-defaults.js';
import { withPresentEvents } from './capture-events.js';
import { changedOrigin } from './capture-origin.js';
import { withEarlierOverrides } from '../studies/earlier-overrides.service.js';
import type { WithEarlierOverrides } from '../studies/earlier-overrides.service.js';
import { askCapture, askCaptureOrRefuse, askingFor } from './capture-query.service.js';
import { mergeMappings, newlyMapped } from './capture-mapping.service.js';
import { hasNames, namesIn, refuseUnknownNames } from './unknown-names.service.js';
import { requireOutgoingUrl } from '../http/outgoing-urls.js';
import { withoutBlanks } from './config-change.js';
import type { ConfigChangeRequest, Saving, ConfigWarning } from './config-change.js';
import type { Tx } from '../../db/client/database.js';

/** How long a save that is not `strict` waits for the check against the capture system. */
const CHECK_SECONDS = 4;

export const configNotFound = () => problem('CONFIG_NOT_FOUND');

export const configView = (row: DatacaptureConfigRow) => ({
  id: row.id,
  study_id: row.study_id,
  api_url: row.api_url,
  project_id: row.project_id,
  enrollment_instrument: row.enrollment_instrument,
  enrollment_event: row.enrollment_event,
  participant_field_mapping: row.participant_field_mapping,
  event_battery_mapping: row.event_battery_mapping,
  webhook_enabled: row.webhook_enabled,
  sync_status: row.sync_status,
});

/**
 * The configuration for its tag: configured and displayed fields. Triggers and polls update times on the row, without
 * changing the tag.
 */
export function configVersion(row: DatacaptureConfigRow): { id: string; version: string } {
  const {
    created_at: _created,
    updated_at: _updated,
    polled_at: _polled,
    known_events: _known,
    last_webhook_received: _received,
    last_sync_at: _synced,
    sync_error_message: _error,
    ...configured
  } = row;
  return { id: row.id, version: contentTag(configured) };
}

export async function requireConfig(tx: Tx, studyId: string): Promise<DatacaptureConfigRow> {
  return (await findConfig(tx, studyId)) ?? Promise.reject(configNotFound());
}

/** `moved`: whose schedules all move with another mapping since an override had left them. */
interface Saved {
  row: DatacaptureConfigRow;
  warnings: ConfigWarning[];
  moved: WithEarlierOverrides<object>;
}

/**
 * Creates a study's configuration or changes it. Mappings are merged, then compared with the capture system's
 * dictionary: unknown names become `warnings`, or refuse the change when `strict`.
 * @throws 400 URL, unknown names; 409 STALE; 422 missing fields, TOKEN_REQUIRED for another server
 */
export async function saveConfig(saving: Saving, given: ConfigChangeRequest): Promise<Saved & { created: boolean }> {
  const input = withoutBlanks(given);
  if (input.api_url !== undefined) requireOutgoingUrl(saving.services.settings, input.api_url, 'api_url');
  const { change, warnings: notices } = await withPresentEvents(saving, input, secondsOfCheck(saving));
  if (saving.strict) await refuseUnknownNames(saving, change);
  const { created, row, moved } = await withStudyScope(
    saving.services.database,
    saving.studyId,
    async ({ tx, audit }) => {
      const stored = await configForUpdate(tx, saving.studyId);
      saving.assertIfMatch(stored && configVersion(stored));
      const origins = changedOrigin(stored?.api_url, change);
      // A full import, or another setting then, may have brought an address that is not saved here.
      if (stored && change.api_token !== undefined && change.api_url === undefined)
        requireOutgoingUrl(saving.services.settings, stored.api_url, 'api_url');
      const whole = stored
        ? { ...change, ...(saving.replacesEvents && { event_battery_mapping: replacing(stored, change) }) }
        : { ...(await captureDefaults(tx, saving.studyId)), ...change };
      const values = valuesOf(saving.services, saving.studyId, stored, whole);
      await requireBatteries(tx, saving.studyId, change, values);
      // A body without fields changes nothing.
      const saved = !stored
        ? await insertConfig(tx, saving.studyId, values)
        : Object.keys(values).length === 0
          ? stored
          : await updateConfig(tx, saving.studyId, values);
      const replans = await recordChange({ tx, audit }, saving, stored, saved, whole, origins);
      // It locks sessions and visits: before the pushes, as the end of an attempt does.
      const mapped = newlyMapped(stored?.data_field_mapping ?? {}, saved.data_field_mapping);
      if (mapped.length > 0) {
        await requestMissedPushes(tx, saving.studyId, mapped);
        await retryUnmapped(tx, saving.studyId, tasksAdded(stored, saved));
      }
      const reconnects = stored !== undefined && connects(stored, change);
      if (reconnects) await requestOpenPushesAgain(tx, saving.studyId);
      if (stored && change.api_token !== undefined) {
        await retryForbidden(tx, saving.studyId, 'unknown');
        await retryUnseen(tx, saving.studyId);
      }
      // After the pushes are locked: an attempt locks its push first, then the breaker.
      if (reconnects) {
        await forgetOutage(tx, saving.studyId);
        await requeueWaitingPushes(tx, saving.studyId);
      }
      if (saved.project_id !== null && saved.project_id !== stored?.project_id)
        await forgetUnmatched(tx, saved.project_id);
      const moved = replans ? await withEarlierOverrides(tx, saving.studyId, {}) : {};
      return { created: stored === undefined, row: saved, moved };
    },
  );
  const isConnected = change.api_url !== undefined || change.api_token !== undefined;
  const toCheck = namesIn(change) || typeof change.project_id === 'string' || (isConnected && hasNames(row));
  if (!toCheck) return { created, row, warnings: notices, moved };
  const warnings = [...notices, ...(await checkSavedMapping(saving.services, saving.studyId, secondsOfCheck(saving)))];
  // The check may have found renamed events.
  const now = await readInScope(saving.services.database, saving.studyId, (tx) => requireConfig(tx, saving.studyId));
  return { created, row: now, warnings, moved };
}

/** Whether a change leads to another capture system, or to the same one with another token. */
const connects = (stored: DatacaptureConfigRow, { api_url: url, api_token: token }: ConfigChangeRequest): boolean =>
  token !== undefined || (url !== undefined && url !== stored.api_url);

/** Tasks that are mapped from now on. */
const tasksAdded = (stored: DatacaptureConfigRow | undefined, saved: DatacaptureConfigRow): string[] =>
  Object.keys(saved.data_field_mapping).filter((task) => !Object.hasOwn(stored?.data_field_mapping ?? {}, task));

const secondsOfCheck = ({ services }: Saving) => Math.min(CHECK_SECONDS, services.settings.REQUEST_TIMEOUT_SECONDS);

const READ_BY = [
  'api_url',
  'project_id',
  'enrollment_instrument',
  'enrollment_event',
  'participant_field_mapping',
  'create_missing_sites',
] as const;

function valuesOf(
  services: Dependencies,
  studyId: string,
  stored: DatacaptureConfigRow | undefined,
  change: ConfigChangeRequest,
): ConfigChange {
  const { api_token, webhook_secret, participant_field_mapping, event_battery_mapping, data_field_mapping, ...plain } =
    change;
  const missing = stored ? [] : (['api_url', 'api_token'] as const).filter((name) => change[name] === undefined);
  const before = stored ?? { participant_field_mapping: {}, event_battery_mapping: {}, data_field_mapping: {} };
  const { merged, faults } = mergeMappings(before, {
    ...(participant_field_mapping && { participant_field_mapping }),
    ...(event_battery_mapping && { event_battery_mapping }),
    ...(data_field_mapping && { data_field_mapping }),
  });
  const errors = [
    ...missing.map((path) => ({ path, code: 'REQUIRED', message: `${path} is required for a new configuration` })),
    ...faults,
  ];
  if (errors.length > 0)
    throw problem('VALIDATION_FAILED', { detail: errors.map((e) => e.message).join('; '), errors });

  const values: ConfigChange = { ...plain, ...merged };
  if (api_token !== undefined) values.api_token_encrypted = seal(services, api_token, tokenPlace(studyId));
  if (webhook_secret !== undefined)
    values.webhook_secret_encrypted =
      webhook_secret === null ? null : seal(services, webhook_secret, webhookSecretPlace(studyId));
  // Readings under another mapping or connection do not apply any more; another token may see other records.
  if (
    stored &&
    (api_token !== undefined ||
      READ_BY.some(
        (name) => values[name] !== undefined && JSON.stringify(values[name]) !== JSON.stringify(stored[name]),
      ))
  )
    values.polled_at = null;
  // Another capture system has other ids: its events are found by name first.
  if (stored && change.api_url !== undefined && change.api_url !== stored.api_url)
    values.known_events = Object.fromEntries(
      Object.entries(stored.known_events).map(([id, event]) => [`before:${id}`, event]),
    );
  // The new connection is untested.
  if (stored && connects(stored, change)) {
    values.sync_status = 'pending';
    values.sync_error_message = null;
  }
  return values;
}

/** @returns whether schedules may follow */
async function recordChange(
  work: { tx: Tx; audit: AuditTrail },
  saving: Saving,
  stored: DatacaptureConfigRow | undefined,
  saved: DatacaptureConfigRow,
  change: ConfigChangeRequest,
  origins: ReturnType<typeof changedOrigin>,
): Promise<boolean> {
  const { actor, context, studyId } = saving;
  const secrets = (['api_token', 'webhook_secret'] as const).filter((name) => change[name] !== undefined);
  const { api_token: _token, webhook_secret: _secret, ...shown } = change;
  const fields = stored
    ? changedFields(
        { ...stored },
        Object.fromEntries(Object.keys(shown).map((name) => [name, saved[name as keyof DatacaptureConfigRow]])),
      )
    : Object.keys(shown).sort();
  if (stored && fields.length + secrets.length === 0) return false;
  work.audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: stored ? 'datacapture_config_changed' : 'datacapture_config_created',
    resource_type: 'datacapture_config',
    resource_id: saved.id,
    metadata: { fields: [...fields, ...secrets], ...origins },
  });
  if (fields.includes('poll_interval_minutes') || !stored)
    await putOutbox(work.tx, [{ topic: 'datacapture-poll', studyId, subject: studyId }]);
  // The field mapping provides candidates for anchors, and schedules may follow the event mapping.
  const kind = ['participant_field_mapping', 'enrollment_instrument'].some((name) => fields.includes(name))
    ? 'fields'
    : fields.includes('event_battery_mapping')
      ? 'mapping'
      : null;
  if (kind !== null) {
    await putOutbox(work.tx, [
      {
        topic: 'study-changed',
        studyId,
        subject: studyId,
        payload: { kind, actor_user_id: actor.id, request_id: context.requestId },
      },
    ]);
  }
  return kind !== null;
}

/**
 * The issues of a study's saved mapping. An unavailable capture system is a warning, too.
 * @param seconds timeout
 */
export async function checkSavedMapping(
  services: Dependencies,
  studyId: string,
  seconds: number,
): Promise<ConfigWarning[]> {
  const unchecked = (reason: string): ConfigWarning[] => [
    { code: 'MAPPING_NOT_CHECKED', message: `The names could not be compared with the capture system: ${reason}` },
  ];
  try {
    const answer = await askCapture(services, { kind: 'check-mapping', study_id: studyId, proposed: {} }, seconds);
    return answer.ok ? (answer.warnings ?? []) : unchecked(answer.message);
  } catch (failure) {
    if (failure instanceof Problem && failure.status === 503) return unchecked(failure.message);
    throw failure;
  }
}

/** Batteries of the entries that a change names. @throws 422 UNKNOWN_BATTERY, each by its path */
async function requireBatteries(
  tx: Tx,
  studyId: string,
  change: ConfigChangeRequest,
  values: ConfigChange,
): Promise<void> {
  const named = Object.keys(change.event_battery_mapping ?? {}).flatMap((event) => {
    const entry = values.event_battery_mapping?.[event];
    return entry ? [{ event, battery: entry.battery_id }] : [];
  });
  if (named.length === 0) return;
  const unknown = await unknownBatteries(
    tx,
    studyId,
    named.map(({ battery }) => battery),
  );
  const errors = named
    .filter(({ battery }) => unknown.includes(battery))
    .map(({ event, battery }) => ({
      path: `event_battery_mapping.${event}.battery_id`,
      code: 'UNKNOWN_BATTERY',
      message: `The study has no battery ${battery}.`,
    }));
  if (errors.length > 0)
    throw problem('VALIDATION_FAILED', { detail: errors.map(({ message }) => message).join(' '), errors });
}

/** Replaces the event mapping. @throws 404 without a configuration */
export async function replaceEventMapping(
  saving: Saving,
  mapping: DatacaptureConfigRow['event_battery_mapping'],
): Promise<Saved> {
  const stored = await readInScope(saving.services.database, saving.studyId, (tx) => requireConfig(tx, saving.studyId));
  return saveConfig(
    { ...saving, replacesEvents: true },
    { event_battery_mapping: replacing(stored, { event_battery_mapping: mapping }) },
  );
}

/** A new event mapping as a merge: entries of the stored one that it does not have are removed. */
const replacing = (
  { event_battery_mapping: stored }: DatacaptureConfigRow,
  { event_battery_mapping: mapping = {} }: Pick<ConfigChangeRequest, 'event_battery_mapping'>,
) => ({ ...Object.fromEntries(Object.keys(stored).map((event) => [event, null])), ...mapping });

/** The status of the capture-system integration. */
export async function captureStatus(tx: Tx, studyId: string) {
  const config = await requireConfig(tx, studyId);
  return {
    sync_status: config.sync_status,
    last_sync_at: config.last_sync_at,
    last_webhook_received: config.last_webhook_received,
    sync_error_message: config.sync_error_message,
    breaker: await breakerOf(tx, studyId),
    pushes: await pushCounts(tx, studyId),
  };
}

/** Tests the stored connection, and stores the result. @throws 404, 400 CONNECTION_FAILED in its words, 503 */
export async function testConnection(
  services: Dependencies,
  { studyId, actor, context }: { studyId: string; actor: Actor; context: RequestContext },
) {
  await readInScope(services.database, studyId, (tx) => requireConfig(tx, studyId));
  const answer = await askCaptureOrRefuse(services, {
    kind: 'test-connection',
    study_id: studyId,
    ...(await askingFor(services, 'test-connection', { studyId, actor, context })),
  });
  return answer.connection;
}
