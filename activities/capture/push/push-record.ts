import { isDeepStrictEqual } from 'node:util';
import type { DatacaptureConfigRow } from '../../../db/capture/datacapture-configs.queries.js';
import { armOf } from '../../../workflows/domain/capture/arms.js';
import type { KnownEvents } from '../../../workflows/domain/capture/known-events.js';
import { sameRecord } from '../../../workflows/domain/capture/record.js';
import { EVENT_FIELD, listedValues, missingFrom, pushValuesOf } from '../../../workflows/domain/capture/push-record.js';
import type {
  FieldFault,
  PushPlan,
  PushWarning,
  PushRecordRow,
} from '../../../workflows/domain/capture/push-record.js';
import type { CaptureClient } from '../client/client.js';
import { clientOf } from '../client/connection.js';
import { USUAL_KEY } from '../client/dictionary.js';
import { projectFacts } from '../client/project-facts.js';
import { CaptureFailure } from '../client/failure.js';
import { redact } from '../client/redact.js';
import { eventNow } from '../follow-events.js';
import type { PushDeps } from './deps.js';
import { dictionaryOf, forgetDictionary } from './dictionary.js';
import type { PushAttempt, PushOutcome } from './complete-push.js';

interface Delivery {
  attempt: PushAttempt;
  plan: Extract<PushPlan, { kind: 'push' }>;
  config: DatacaptureConfigRow;
  unanswered: boolean;
  /** The fields in which results of another visit stand, delivered to the same event. */
  taken: readonly string[];
}

/** The progress of an attempt, in case the next step fails. */
interface Progress {
  contacted: boolean;
  sent: 'no' | 'perhaps';
  /** Why the dictionary could not be read: values are then sent unchecked. */
  unread?: CaptureFailure | undefined;
}

/**
 * Writes the record to the capture system. `unanswered`: an earlier attempt may have written it; the record is read
 * back, and existing values are not written again.
 * @param keep extends the lock for one more call
 */
export async function pushRecord(
  deps: PushDeps,
  { attempt, plan, config, unanswered, taken }: Delivery,
  keep: () => Promise<void>,
): Promise<PushOutcome> {
  const progress: Progress = { contacted: false, sent: unanswered ? 'perhaps' : 'no' };
  const connection = attempt.passage!.connection;
  const call = async () => {
    await keep();
    progress.contacted = true;
  };
  try {
    const client = await clientOf(deps, config);
    const send = async (row: Checked): Promise<PushOutcome> => {
      progress.unread = row.unread;
      await keep();
      const { warnings } = row;
      const facts = async (when: 'kept' | 'anew') => {
        await call();
        return projectFacts(deps, { config, client }, when);
      };
      const isClassic = async () => {
        if ((await facts('kept')).classic) return true;
        const { classic, unread } = await facts('anew');
        // An import that names an event would be refused for good.
        if (unread?.retryable) throw unread;
        return classic;
      };
      const eventOf = (event: string) => eventNow(deps, { config, client }, event, call);
      const place = await existing(client, { plan, isClassic, eventOf }, row.primaryKey, call);
      // A project without events has one place for all visits: there the last results stay.
      if (place.event !== null) requireFree(taken);
      const open = unanswered
        ? missingFrom(row.values, await standing(client, place, row.primaryKey, row.values, call))
        : row.values;
      const done = (records: number, alreadyThere: boolean): PushOutcome =>
        row.refused.length === 0
          ? { kind: 'success', records, alreadyThere, warnings }
          : {
              kind: 'failed',
              type: 'rejected',
              message: refusalOf(row.refused, 'these results, and has the others'),
              inShort: namesOf(row.refused, 'these results, and has the others'),
              contacted: true,
              sent: 'no',
              records,
              warnings,
            };
      if (Object.keys(open).length === 0) return done(1, true);
      await call();
      progress.sent = 'perhaps';
      const records = await client.importRecords(
        [{ [row.primaryKey]: place.record, ...(place.event !== null && { [EVENT_FIELD]: place.event }), ...open }],
        { overwriteBehavior: 'overwrite' },
      );
      if (records < 1)
        throw new CaptureFailure(
          'invalid_response',
          'The capture system took the import and says that it imported no record.',
        );
      return done(records, false);
    };
    const deliver = async (row: Checked, repeats: number): Promise<PushOutcome> => {
      try {
        return await send(row);
      } catch (failure) {
        if (!(failure instanceof CaptureFailure && failure.status === REFUSED_VALUES) || repeats === 0) throw failure;
        // The cached dictionary may be outdated: a field has another type.
        if (!row.fresh) forgetDictionary(connection);
        const rechecked = row.fresh ? row : await checked(client, plan, connection, call);
        const isSame = rechecked.primaryKey === row.primaryKey && isDeepStrictEqual(rechecked.values, row.values);
        const next = isSame ? (rechecked.listed ?? withoutFaults(rechecked, failure.faults)) : rechecked;
        if (!next) throw failure;
        return deliver(next, repeats - 1);
      }
    };
    return await deliver(await checked(client, plan, connection, call), REPEATS);
  } catch (failure) {
    if (!(failure instanceof CaptureFailure)) throw failure;
    if (failure.errorType === 'rejected') forgetDictionary(connection);
    // A refusal of unchecked values is not final, if the dictionary may be readable the next time.
    const told = failure.errorType === 'rejected' && progress.unread?.retryable ? progress.unread : failure;
    // A refusal is an answer, and a call may not have been made: the last one wrote nothing; earlier ones perhaps did.
    const refused = failure.errorType === 'rejected' || failure.status === TOO_MANY;
    const sent = (refused || failure.unasked) && !unanswered ? 'no' : progress.sent;
    return {
      kind: 'failed',
      type: told.errorType,
      forbidden: told.forbidden,
      message: withoutRecord(told, plan.record),
      inShort: told.inShort,
      contacted: progress.contacted && told.errorType !== 'configuration',
      sent,
      ...(told.limitedMs !== undefined && { limitedMs: told.limitedMs }),
      ...(told.unasked && { unasked: true }),
    };
  }
}

/**
 * A failure's message without the record, which the capture system's own words behind the colon may name. Other
 * messages never do: the digits in them stay, also if the record has a number as its name.
 */
function withoutRecord({ message, status, errorType }: CaptureFailure, record: string): string {
  const colon = message.indexOf(': ');
  const isQuoting = colon >= 0 && (status !== undefined || errorType === 'invalid_response');
  return isQuoting ? message.slice(0, colon) + redact(message.slice(colon), record) : message;
}

/** Nothing was written. */
const TOO_MANY = 429;
/** A refusal of values; a refusal of access (403, 429) is not retried here. */
const REFUSED_VALUES = 400;
/** Each for one reason: the dictionary was old; the project lacks a field; the refusal names fields. */
const REPEATS = 3;

interface Checked {
  primaryKey: string;
  values: PushRecordRow;
  warnings: PushWarning[];
  /** The fields that do not take their values, and are left out. */
  refused: FieldFault[];
  /** With a dictionary that was read now. */
  fresh: boolean;
  unread: CaptureFailure | undefined;
  /** Only the fields that the dictionary lists, if it lacks some. */
  listed?: Checked | undefined;
}

/**
 * The values in the dictionary's formats, without those that it does not take.
 * @throws CaptureFailure `rejected`, naming each field and its rule, if none is left
 */
async function checked(
  client: CaptureClient,
  plan: Delivery['plan'],
  connection: string,
  call: () => Promise<void>,
): Promise<Checked> {
  const need = { forms: plan.instruments, fields: plan.metrics.map(({ field }) => field) };
  let dictionary = await dictionaryOf(client, connection, need, call);
  let { fields } = dictionary;
  let { values, faults, warnings } = pushValuesOf(plan, fields);
  // The fault may come from the outdated cached dictionary.
  if (faults.length > 0 && !dictionary.fresh) {
    forgetDictionary(connection);
    dictionary = await dictionaryOf(client, connection, need, call);
    ({ fields } = dictionary);
    ({ values, faults, warnings } = pushValuesOf(plan, fields));
  }
  if (faults.length > 0 && Object.keys(values).length === 0)
    throw new CaptureFailure('rejected', refusalOf(faults, 'the results'), {
      inShort: namesOf(faults, 'the results'),
    });
  const found = {
    primaryKey: fields[0]?.field_name ?? USUAL_KEY,
    values,
    warnings,
    refused: faults,
    fresh: dictionary.fresh,
    unread: dictionary.unread,
  };
  const listed = listedValues(values, fields);
  if (!listed) return found;
  const unlisted = listed.unlisted.map((field) => ({ field, rule: 'the capture system does not list it' }));
  return { ...found, listed: { ...found, values: listed.values, refused: [...faults, ...unlisted] } };
}

const refusalOf = (faults: readonly FieldFault[], what: string): string =>
  `The capture system does not take ${what}: ${faults.map(({ field, rule }) => `${field}: ${rule}`).join('; ')}.`
    .replace(/\.\.$/, '.')
    .slice(0, 900);

/** As `refusalOf`, without the rules: a log gets none of the capture system's own words. */
function namesOf(faults: readonly FieldFault[], what: string): string {
  const names = faults.map(({ field }) => field).join(', ');
  return `The capture system does not take ${what}: ${names}.`.slice(0, 900);
}

/**
 * What is left of a row without the fields that its refusal names: one form may be locked. The status of a form is left
 * out, too. Undefined: nothing is left, or the refusal is not about results alone.
 */
function withoutFaults(row: Checked, faults: readonly FieldFault[]): Checked | undefined {
  // Unchecked values may be refused for their format alone.
  if (row.unread?.retryable) return undefined;
  const named = faults.map(({ field }) => field);
  const left = Object.entries(row.values).filter(([name]) => !named.includes(name) && !name.endsWith('_complete'));
  if (left.length === 0 || named.length === 0 || !named.every((name) => Object.hasOwn(row.values, name)))
    return undefined;
  return {
    ...row,
    values: Object.fromEntries(left),
    warnings: row.warnings.filter(({ field }) => !named.includes(field)),
    refused: [...row.refused, ...faults.filter(({ field }) => !field.endsWith('_complete'))],
    listed: undefined,
  };
}

/** The target of the results. */
interface Place {
  record: string;
  /** null: a classic project. */
  event: string | null;
}

/**
 * The record by its name in the capture system, and the event if its project has events: its rows tell that here and
 * now, since an import that names none would go to the first one. Importing an unknown record would create it.
 * @throws CaptureFailure `rejected` if there is none
 */
async function existing(
  client: CaptureClient,
  {
    plan: { record, event: planned },
    isClassic,
    eventOf,
  }: {
    plan: Delivery['plan'];
    isClassic: () => Promise<boolean>;
    eventOf: (event: string) => Promise<{ event: string; known: KnownEvents }>;
  },
  primaryKey: string,
  call: () => Promise<void>,
): Promise<Place> {
  await call();
  const rows = await client.exportRecords({ records: [record], fields: [primaryKey] });
  const names = rows.map((row) => String(row[primaryKey] ?? ''));
  const name = names.find((each) => each === record) ?? names.find((each) => sameRecord(each, record));
  if (name !== undefined) {
    const listed = rows.some((row) => typeof row[EVENT_FIELD] === 'string' && row[EVENT_FIELD] !== '');
    if (!listed && (await isClassic())) return { record: name, event: null };
    const { event, known } = await eventOf(planned);
    requireOwnArm(
      known,
      event,
      rows.filter((row) => String(row[primaryKey]) === name).map((row) => row[EVENT_FIELD]),
    );
    return { record: name, event };
  }
  throw new CaptureFailure(
    'rejected',
    'RECORD_NOT_FOUND: The capture system has no such record, and a push makes none: it was deleted or renamed, or ' +
      'the token may not see it. Restore it, or correct the external_id of the participant, and push again; or save ' +
      'a token that sees it.',
  );
}

/**
 * Results written to another arm would create the record there, as if it were enrolled twice. @throws CaptureFailure
 * `rejected`
 */
function requireOwnArm(known: KnownEvents, event: string, events: readonly unknown[]): void {
  const arm = armOf(known, event);
  const arms = events.flatMap((each) => (typeof each === 'string' ? (armOf(known, each) ?? []) : []));
  if (arm === undefined || arms.length === 0 || arms.includes(arm)) return;
  throw new CaptureFailure(
    'rejected',
    `OTHER_ARM: The record is in arm ${[...new Set(arms)].join(', ')}, and the event of the visit in arm ${arm}: ` +
      `nothing is written there. Correct datacapture_event of the visit, and push again.`,
  );
}

/** Results of one visit never replace those of another. @throws CaptureFailure `rejected` */
function requireFree(taken: readonly string[]): void {
  if (taken.length === 0) return;
  throw new CaptureFailure(
    'rejected',
    `EVENT_TAKEN: The results of another visit of the participant stand at this event, in the same fields ` +
      `(${taken.slice(0, 20).join(', ')}), and would be lost. Correct datacapture_event of one of the visits, or map ` +
      `its tasks to other fields in data_field_mapping, and push again.`,
  );
}

/** The record's rows at the event. @throws CaptureFailure */
async function standing(
  client: CaptureClient,
  { record, event }: Place,
  primaryKey: string,
  values: PushRecordRow,
  call: () => Promise<void>,
) {
  await call();
  const rows = await client.exportRecords({
    records: [record],
    ...(event !== null && { events: [event] }),
    fields: [primaryKey, ...Object.keys(values).map(exported)],
  });
  return rows.filter(
    (row) =>
      String(row[primaryKey] ?? '') === record &&
      (event === null || row[EVENT_FIELD] === undefined || row[EVENT_FIELD] === event),
  );
}
/** A checkbox is requested by its field, and returned as its boxes. */
const exported = (field: string): string => field.split('___', 1)[0]!;
