import type { AuditTrail } from '../../db/audit/audit.js';
import { findSync, openSync, startSync, syncIssues } from '../../db/capture/datacapture-syncs.queries.js';
import type { SyncRow } from '../../db/capture/datacapture-syncs.queries.js';
import { studyById } from '../../db/studies/studies.queries.js';
import type { Actor } from '../http/access.js';
import { problem } from '../http/errors.js';
import { auditActor } from '../http/audit-actor.js';
import { requireConfig } from './datacapture.service.js';
import type { Tx } from '../../db/client/database.js';
import type { RequestContext } from '../http/request-context.js';

/**
 * Starts a sync of every record of the study's enrollment instrument. One at a time: if one is running, its id is
 * returned, and its workflow is started again if it was lost.
 * @throws 404 without a configuration, 409 DATACAPTURE_DISABLED, 400 NO_ENROLLMENT_INSTRUMENT
 */
export async function startStudySync(
  { tx, audit, actor, context }: { tx: Tx; audit: AuditTrail; actor: Actor; context: RequestContext },
  studyId: string,
): Promise<{ status: 'started'; sync_id: string }> {
  const config = await requireConfig(tx, studyId);
  if (!(await studyById(tx, studyId))?.datacapture_enabled) throw problem('DATACAPTURE_DISABLED');
  if (config.enrollment_instrument === null) {
    throw problem('NO_ENROLLMENT_INSTRUMENT', {
      errors: [{ path: 'enrollment_instrument', code: 'REQUIRED', message: 'enrollment_instrument is not set' }],
    });
  }
  const { row, opened } = await openSync(tx, {
    study_id: studyId,
    kind: 'sync',
    changed_since: null,
    requested_by_id: actor.id,
  });
  await startSync(tx, row);
  if (opened)
    audit.record({
      ...auditActor(actor, context),
      study_id: studyId,
      action: 'datacapture_sync_started',
      resource_type: 'datacapture_sync',
      resource_id: row.id,
    });
  return { status: 'started', sync_id: row.id };
}

/** A sync for display. */
export function syncView({
  id,
  study_id,
  kind,
  status,
  requested_by_id,
  changed_since,
  counts,
  records_total,
  error_code,
  error,
  started_at,
  finished_at,
}: SyncRow) {
  const of = (outcome: string) => counts[outcome] ?? 0;
  const read = {
    created: of('created'),
    updated: of('updated'),
    unchanged: of('unchanged'),
    skipped: of('skipped'),
    override_required: of('override_required'),
    failed: of('failed'),
  };
  return {
    id,
    study_id,
    kind,
    status,
    requested_by_id,
    changed_since,
    progress: {
      total: records_total,
      done: Object.values(read).reduce((sum, n) => sum + n, 0),
      ...read,
      vanished: of('vanished'),
    },
    error: error_code === null ? null : { code: error_code, message: error ?? '' },
    started_at,
    finished_at,
  };
}

/** A sync with the issues of its records. A user restricted to sites sees those of their participants only. */
export async function syncReport(tx: Tx, actor: Actor, id: string, page: { skip?: number; limit?: number }) {
  const sync = await findSync(tx, id);
  if (!sync) throw problem('NOT_FOUND', { detail: 'There is no such sync.' });
  const issues = await syncIssues(tx, sync, {
    skip: page.skip ?? 0,
    limit: page.limit ?? 50,
    ofVisibleParticipants: actor.site_ids.length > 0,
  });
  return { ...syncView(sync), issues };
}
