import { setImmediate as others } from 'node:timers/promises';
import type { Static, TSchema } from 'typebox';
import { MAX_TRIALS } from '../../../workflows/domain/assessment/submission.js';
import type { DeviceSetting } from '../../../workflows/domain/assessment/times.js';
import { isLong } from '../../../workflows/domain/util/length.js';
import { atOnce, inTurns } from '../../util/in-turns.js';
import { invalidTextIn } from '../../http/body/json.js';
import { Problem } from '../../http/errors.js';
import { withKnownSettings } from '../sessions/device-settings.js';
import { ResponseItem, SessionItem } from './sync.schemas.js';
import { check } from '../../http/validation/validation.js';
import { checkInSlices } from '../../http/validation/in-slices.js';
import { readTask } from '../sessions/sessions-content.js';
import type { TaskContent } from '../sessions/sessions-content.js';

export interface ItemResult {
  kind: 'session' | 'response';
  local_id: string | null;
  server_id: string | null;
  status: 'created' | 'duplicate' | 'conflict' | 'rejected';
  conflict_type?: string;
  resolution?: string;
  code?: string;
  message?: string;
  warnings?: ItemNotice[];
  quality_flags?: ItemNotice[];
}
/** A remark on an accepted item. */
export interface ItemNotice {
  code: string;
  message: string;
  visit_ids?: string[];
}
export type SessionGiven = Static<typeof SessionItem>;
/** A response as it was sent, and its content as it is stored. */
export class ResponseGiven {
  readonly id: string;
  readonly sessionId: string;
  readonly deviceId: string | null;
  readonly task: string;
  readonly moduleId: string | null;

  /** @param computed the content of a long response, which was read in turns with other requests */
  constructor(
    private readonly raw: Static<typeof ResponseItem>,
    private computed: TaskContent | undefined,
  ) {
    this.id = raw.id;
    this.sessionId = raw.sessionId;
    this.deviceId = raw.deviceId ?? null;
    this.task = raw.task;
    this.moduleId = raw.moduleId ?? null;
  }

  /** Of a short response it is computed on first use: it is most of its cost. */
  get content(): TaskContent {
    return (this.computed ??= atOnce(contentOf(this.raw)));
  }
}
const contentOf = ({ task, summary, trials }: Static<typeof ResponseItem>) =>
  readTask(task, summary ?? {}, trials ?? []);

/** A valid item, with its index among all sent items. */
export type SyncItem =
  | { kind: 'session'; index: number; given: SessionGiven; unknown: readonly DeviceSetting[] }
  | { kind: 'response'; index: number; given: ResponseGiven };

export const rejection = (
  kind: ItemResult['kind'],
  local_id: string | null,
  code: string,
  message: string,
): ItemResult => ({ kind, local_id, server_id: null, status: 'rejected', code, message });

/** Items read before yielding to other requests; long ones are read by themselves. */
const AT_A_TIME = 100;

/** Reads each item separately: invalid ones are answered, the others go on. Sessions come before responses. */
export async function readItems(
  sessions: readonly unknown[],
  responses: readonly unknown[],
): Promise<{ items: SyncItem[]; results: ItemResult[] }> {
  const items: SyncItem[] = [];
  const results: ItemResult[] = [];
  const take = async (
    kind: ItemResult['kind'],
    raw: unknown,
    read: (index: number, long: boolean) => SyncItem | ItemResult | Promise<SyncItem | ItemResult>,
  ) => {
    const index = results.length;
    const long = isLong(raw);
    const schema = kind === 'session' ? SessionItem : ResponseItem;
    const fault = invalidTextIn(raw) ?? (long ? await longSchemaFault(schema, raw) : schemaFault(schema, raw));
    const outcome = fault === undefined ? await read(index, long) : rejection(kind, idOf(raw), 'INVALID_ITEM', fault);
    if ('given' in outcome) items.push(outcome);
    results.push('given' in outcome ? rejection(kind, idOf(raw), 'INVALID_ITEM', 'was not looked at') : outcome);
    if (results.length % AT_A_TIME === 0 || long) await others();
  };
  for (const raw of sessions) {
    const { item, unknown } = withKnownSettings(raw);
    await take('session', item, (index) => readSession(item as SessionGiven, index, unknown));
  }
  for (const raw of responses)
    await take('response', raw, (index, long) => readResponse(raw as Static<typeof ResponseItem>, index, long));
  return { items, results };
}

/** A leap second fits the schema and is no instant of the calendar. */
function readSession(input: SessionGiven, index: number, unknown: readonly DeviceSetting[]): SyncItem | ItemResult {
  const bad = (['startedAt', 'completedAt'] as const).find((name) =>
    Number.isNaN(Date.parse(input[name] ?? '1970-01-01')),
  );
  return bad === undefined
    ? { kind: 'session', index, given: input, unknown }
    : rejection('session', input.id, 'INVALID_ITEM', `${bad} is no instant of the calendar`);
}

const composed = (task: string): string => task.normalize('NFC');

async function readResponse(
  raw: Static<typeof ResponseItem>,
  index: number,
  long: boolean,
): Promise<SyncItem | ItemResult> {
  const trials = raw.trials ?? [];
  if (trials.length > MAX_TRIALS)
    return rejection(
      'response',
      raw.id,
      'TOO_MANY_TRIALS',
      `trials has ${trials.length} items: at most ${MAX_TRIALS} are taken`,
    );
  const strange = trials.find(
    ({ task }) => task !== undefined && task !== raw.task && composed(task) !== composed(raw.task),
  );
  if (strange)
    return rejection(
      'response',
      raw.id,
      'INVALID_ITEM',
      `trials has one of the task ${strange.task}, the response is of ${raw.task}`,
    );
  if (trials.length === 0 && Object.keys(raw.summary ?? {}).length === 0)
    return rejection('response', raw.id, 'EMPTY', 'has neither a metric in summary nor a trial');
  const content = long ? await inTurns(contentOf(raw)) : undefined;
  return { kind: 'response', index, given: new ResponseGiven(raw, content) };
}

function schemaFault(schema: TSchema, raw: unknown): string | undefined {
  try {
    check(schema, raw, 'body');
    return undefined;
  } catch (fault) {
    return messageOf(fault);
  }
}

async function longSchemaFault(schema: TSchema, raw: unknown): Promise<string | undefined> {
  try {
    await checkInSlices(schema, raw);
    return undefined;
  } catch (fault) {
    return messageOf(fault);
  }
}

function messageOf(fault: unknown): string {
  if (fault instanceof Problem) return fault.message;
  throw fault;
}

/** As far as readable: without half a character at its end; null if it has text that cannot be stored. */
const idOf = (raw: unknown): string | null => {
  const id = typeof raw === 'object' && raw !== null ? (raw as { id?: unknown }).id : undefined;
  return typeof id === 'string' && !/[\0\p{Surrogate}]/u.test(id)
    ? id.slice(0, 200).replace(/\p{Surrogate}$/u, '')
    : null;
};
