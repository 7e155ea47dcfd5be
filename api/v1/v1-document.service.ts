import { Readable } from 'node:stream';
import { datasetRows, momentOf } from '../../db/exports/datasets.queries.js';
import type { PageDatasetName } from '../../db/exports/datasets.queries.js';
import { studyById } from '../../db/studies/studies.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import type { Actor } from '../http/access.js';
import { auditActor } from '../http/audit-actor.js';
import { reply } from '../http/route.js';
import type { Reply } from '../http/route.js';
import type { Dependencies } from '../dependencies.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';

/** The version of the documents' format; a change that readers must know of increments it. */
const FORMAT = 1;
const SNAPSHOT: readonly PageDatasetName[] = ['sites', 'participants', 'anchors', 'schedules', 'visits', 'sessions'];
const EXPORT: readonly PageDatasetName[] = [
  'sites',
  'participants',
  'anchors',
  'anchor_history',
  'schedule_versions',
  'all_visits',
  'sessions',
];
const NAMES: Partial<Record<PageDatasetName, string>> = { all_visits: 'visits' };
const nameOf = (set: PageDatasetName): string => NAMES[set] ?? set;

export interface SnapshotOptions {
  tx: Tx;
  services: Dependencies;
  actor: Actor;
  context: RequestContext;
  studyId: string;
}

/** A study in one snapshot, with the head of its audit chain. The transaction must have one snapshot. */
export async function studySnapshot(asked: SnapshotOptions): Promise<Reply> {
  await recordRead(asked, 'snapshot_read', {});
  const head = await headOf(asked, 'taken_at');
  return json(Readable.from(document(asked.tx, asked.studyId, head, SNAPSHOT)));
}

/** All data of a study, including history and superseded visits; raw trials on request. */
export async function exportSnapshot(
  asked: SnapshotOptions,
  { format = 'json', include }: { format?: 'json' | 'ndjson'; include?: readonly 'raw_trials'[] },
): Promise<Reply> {
  const sets = include?.includes('raw_trials') ? [...EXPORT, 'raw_trials' as const] : EXPORT;
  await recordRead(asked, 'study_exported', { format, raw_trials: sets.includes('raw_trials') });
  const head = await headOf(asked, 'exported_at');
  if (format === 'json') return json(Readable.from(document(asked.tx, asked.studyId, head, sets)));
  return reply(200, Readable.from(lines(asked.tx, asked.studyId, head, sets)), {
    'Content-Type': 'application/x-ndjson',
  });
}

const json = (body: Readable): Reply => reply(200, body, { 'Content-Type': 'application/json; charset=utf-8' });

async function headOf({ tx, studyId }: SnapshotOptions, when: string): Promise<Record<string, unknown>> {
  const { at, audit_head } = await momentOf(tx, studyId);
  return { format: FORMAT, [when]: at, audit_head, study: await studyById(tx, studyId) };
}

async function* document(
  tx: Tx,
  studyId: string,
  head: Record<string, unknown>,
  sets: readonly PageDatasetName[],
): AsyncGenerator<string> {
  yield JSON.stringify(head).slice(0, -1);
  for (const set of sets) {
    yield `,${JSON.stringify(nameOf(set))}:[`;
    let first = true;
    for await (const rows of datasetRows(tx, set, studyId)) {
      yield `${first ? '' : ','}${rows.map((row) => JSON.stringify(row)).join(',')}`;
      first = false;
    }
    yield ']';
  }
  yield '}\n';
}

/** One object a line, `set` is its kind; the last line states completeness. */
async function* lines(
  tx: Tx,
  studyId: string,
  head: Record<string, unknown>,
  sets: readonly PageDatasetName[],
): AsyncGenerator<string> {
  yield `${JSON.stringify({ set: 'head', ...head })}\n`;
  let count = 0;
  for (const set of sets) {
    for await (const rows of datasetRows(tx, set, studyId)) {
      count += rows.length;
      yield rows.map((row) => `${JSON.stringify({ set: nameOf(set), ...row })}\n`).join('');
    }
  }
  yield `${JSON.stringify({ set: 'end', rows: count })}\n`;
}

/** A bulk read is recorded before its first byte; the snapshot was taken before and does not include the record. */
async function recordRead(
  { services, actor, context, studyId }: SnapshotOptions,
  action: string,
  metadata: Record<string, unknown>,
): Promise<void> {
  await withStudyScope(services.database, studyId, async ({ audit }) => {
    audit.record({
      ...auditActor(actor, context),
      study_id: studyId,
      action,
      resource_type: 'study',
      resource_id: studyId,
      metadata: { ...metadata, token_id: actor.tokenId ?? null },
    });
  });
}
