import { putOutbox } from '../../db/outbox/outbox.js';
import { beforeZoneChange, returnEarly } from '../../db/scheduling/early-visits.js';
import type { Site } from '../../db/models/records.js';
import { insertSite, siteById, updateSite } from '../../db/studies/sites.queries.js';
import { problem } from '../http/errors.js';
import { mapConstraintErrors } from '../http/to-problem.js';
import { auditActor, beforeAndAfter, changedFields } from '../http/audit-actor.js';
import { withEarlierOverrides } from './earlier-overrides.service.js';
import type { WithEarlierOverrides } from './earlier-overrides.service.js';
import type { RequestScope } from '../http/state.js';
import type { Tx } from '../../db/client/database.js';

type Fields = Partial<Pick<Site, 'site_code' | 'name' | 'timezone' | 'status'>>;
const unique = { sites_study_id_site_code_key: 'SITE_CODE_TAKEN' } as const;

/** @throws 409 SITE_CODE_TAKEN */
export async function createSite(
  { tx, audit, actor, context }: RequestScope,
  studyId: string,
  input: Fields & { site_code: string },
): Promise<Site> {
  const site = await mapConstraintErrors(unique, () => insertSite(tx, { ...input, study_id: studyId }));
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'site_created',
    resource_type: 'site',
    resource_id: site.id,
    metadata: { fields: Object.keys(input).sort() },
  });
  return site;
}

/** A changed zone or code is evaluated for every participant of the study. @throws 404, 409 SITE_CODE_TAKEN, STALE */
export async function changeSite(
  { tx, audit, actor, context }: RequestScope,
  id: string,
  input: Fields,
  assertIfMatch: (record: Record<string, unknown>) => void,
): Promise<WithEarlierOverrides<Site>> {
  if (input.timezone !== undefined) {
    const { study_id, timezone } = await getSiteOrThrow(tx, id);
    if (input.timezone !== timezone) await beforeZoneChange(tx, study_id);
  }
  const before = await getSiteOrThrow(tx, id, true);
  assertIfMatch({ ...before });
  const fields = changedFields({ ...before }, input);
  if (fields.length === 0) return before;
  await mapConstraintErrors(unique, () => updateSite(tx, id, input));
  audit.record({
    ...auditActor(actor, context),
    study_id: before.study_id,
    action: 'site_changed',
    resource_type: 'site',
    resource_id: id,
    metadata: { fields, ...beforeAndAfter({ ...before }, input, fields, ['site_code', 'timezone', 'status']) },
  });
  if (fields.includes('timezone'))
    await returnEarly({ tx, audit }, auditActor(actor, context), { studyId: before.study_id, siteId: id });
  const replans = fields.includes('timezone') || fields.includes('site_code');
  if (replans) {
    await putOutbox(tx, [
      {
        topic: 'study-changed',
        studyId: before.study_id,
        subject: before.study_id,
        payload: { kind: 'study', actor_user_id: actor.id },
      },
    ]);
  }
  const site = await getSiteOrThrow(tx, id);
  return replans ? withEarlierOverrides(tx, site.study_id, site) : site;
}

export async function getSiteOrThrow(tx: Tx, id: string, lock = false): Promise<Site> {
  const site = await siteById(tx, id, lock);
  if (!site) throw problem('NOT_FOUND', { detail: 'There is no such site.' });
  return site;
}
