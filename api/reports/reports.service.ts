import { nowIso } from '../../db/client/clock.js';
import type { ReportScope, ReportFilter } from '../../db/reports/base.queries.js';
import { reportedParticipant } from '../../db/reports/participant.queries.js';
import { problem } from '../http/errors.js';

/**
 * A report's question from a query.
 * @throws 400 FROM_AFTER_TO
 */
export function reportFilter(study: string | undefined, query: ReportFilter): ReportScope {
  const { from, to, site_code, arm } = query;
  if (from !== undefined && to !== undefined && from > to) {
    throw problem('RULE_VIOLATED', {
      detail: 'from lies after to.',
      errors: [{ path: 'query.from', code: 'FROM_AFTER_TO', message: 'from lies after to' }],
    });
  }
  return { study: study ?? null, from, to, site_code, arm };
}

/** A report with the head of all reports: its time and its filter. */
export function report<T extends object>({ from, to, site_code, arm }: ReportFilter, content: T) {
  return {
    generated_at: nowIso(),
    filters: { from: from ?? null, to: to ?? null, site_code: site_code ?? null, arm: arm ?? null },
    ...content,
  };
}

/**
 * One participant: codes, anchor, schedule, live visits, sessions, and each metric over time. @param rows of
 * `participantStatements` @throws 404, 400 FROM_AFTER_TO
 */
export function participantReport(rows: readonly unknown[][], filter: Pick<ReportFilter, 'from' | 'to'>) {
  reportFilter(undefined, filter);
  const found = reportedParticipant(rows);
  if (!found) throw problem('NOT_FOUND', { detail: 'There is no such participant.' });
  return found;
}
