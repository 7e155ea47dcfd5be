import { findConfig, trialPlace } from '../../db/capture/datacapture-configs.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import type { ConnectionReport } from '../../workflows/domain/capture/query.js';
import { auditActor } from '../http/audit-actor.js';
import { invalid } from '../http/errors.js';
import { requireOutgoingUrl } from '../http/outgoing-urls.js';
import { seal } from '../secrets.js';
import { changedOrigin } from './capture-origin.js';
import { askCaptureOrRefuse } from './capture-query.service.js';
import type { Saving } from './config-change.js';

/**
 * Tries a connection before it is saved, with a new token or the stored one. Nothing is stored except the audit record
 * of the user and the address.
 * @throws 400 URL, CONNECTION_FAILED in the capture system's words; 422 TOKEN_REQUIRED, REQUIRED; 503
 */
export async function tryConnection(
  { services, studyId, actor, context }: Omit<Saving, 'strict' | 'assertIfMatch'>,
  input: { api_url: string; api_token?: string },
): Promise<ConnectionReport | undefined> {
  requireOutgoingUrl(services.settings, input.api_url, 'api_url');
  await withStudyScope(services.database, studyId, async ({ tx, audit }) => {
    const stored = await findConfig(tx, studyId);
    changedOrigin(stored?.api_url, input);
    if (!stored && input.api_token === undefined)
      throw invalid('api_token', 'REQUIRED', 'is required for a new configuration');
    audit.record({
      ...auditActor(actor, context),
      study_id: studyId,
      action: 'datacapture_connection_tried',
      resource_type: 'datacapture_config',
      resource_id: studyId,
      metadata: { origin: new URL(input.api_url).origin },
    });
  });
  const answer = await askCaptureOrRefuse(services, {
    kind: 'try-connection',
    study_id: studyId,
    api_url: input.api_url,
    ...(input.api_token !== undefined && {
      sealed_token: seal(services, input.api_token, trialPlace(studyId, input.api_url)),
    }),
  });
  return answer.connection;
}
