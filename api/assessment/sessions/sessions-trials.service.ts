import { Readable } from 'node:stream';
import type { SessionRecord } from '../../../db/assessment/sessions.queries.js';
import { nextTrials } from '../../../db/assessment/trials.queries.js';
import type { TrialCursor } from '../../../db/assessment/trials.queries.js';
import { readInScope } from '../../../db/client/transaction.js';
import { reply } from '../../http/route.js';
import type { Reply } from '../../http/route.js';
import type { Database } from '../../../db/client/database.js';

interface Wanted {
  /** The session id that is shown to the caller. */
  shown: string;
  task?: string | undefined;
  skip?: number | undefined;
  limit?: number | undefined;
}

/**
 * Streams a session's raw trials: a thousand at a time are in memory, and no transaction stays open while a slow client
 * reads (trials are only ever added, so the pages fit together).
 * @param session the session, which the caller may see
 */
export function streamTrials(
  database: Database,
  session: SessionRecord,
  wanted: Wanted & { format?: 'json' | 'ndjson' | undefined; total: number },
): Reply {
  const lines = wanted.format === 'ndjson';
  const body = Readable.from(
    pieces(
      database,
      session,
      wanted,
      lines
        ? { head: '', between: '\n', tail: '\n' }
        : { head: `{"session_id":"${wanted.shown}","total":${wanted.total},"items":[`, between: ',', tail: ']}' },
    ),
  );
  return reply(200, body, { 'Content-Type': `application/${lines ? 'x-ndjson' : 'json'}; charset=utf-8` });
}

async function* pieces(
  database: Database,
  session: SessionRecord,
  { task, skip = 0, limit = Infinity }: Omit<Wanted, 'shown'>,
  form: { head: string; between: string; tail: string },
): AsyncGenerator<string> {
  if (form.head !== '') yield form.head;
  let cursor: TrialCursor | null = null;
  let first = true;
  let seen = 0;
  while (seen < skip + limit) {
    const at: TrialCursor | null = cursor;
    const next: Awaited<ReturnType<typeof nextTrials>> = await readInScope(database, session.study_id, (tx) =>
      nextTrials(tx, session.id, at, task),
    );
    if (!next) break;
    const trials = next.trials.slice(Math.max(0, skip - seen), Math.max(0, skip + limit - seen));
    if (trials.length > 0)
      yield (first ? '' : form.between) + trials.map((trial) => JSON.stringify(trial)).join(form.between);
    first &&= trials.length === 0;
    seen += next.trials.length;
    cursor = next.cursor;
  }
  if (form.head !== '' || !first) yield form.tail;
}
