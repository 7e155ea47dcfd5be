import { requestOfStudy } from '../../db/anchor/override-requests.queries.js';
import type { Database } from '../../db/client/database.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { Problem } from '../http/errors.js';
import type { RequestContext } from '../http/request-context.js';

/** Who was to decide which override request. */
interface Deciding {
  studyId: string;
  requestId: string;
  userId: string;
  via?: 'page' | undefined;
}

/** A decision on an override that is refused before its workflow is asked: a record of the study. */
class RefusedDecision extends Problem {
  constructor(
    private readonly fault: Problem,
    private readonly about: Deciding,
  ) {
    super(fault.status, fault.code, fault.message, fault.options);
  }

  override async afterRollback(database: Database, context: RequestContext): Promise<void> {
    const { requestId, userId, via = 'rest' } = this.about;
    const studyId = this.about.studyId.toLowerCase();
    await this.fault.afterRollback?.(database, context);
    await withStudyScope(database, studyId, async ({ tx, audit }) =>
      audit.record({
        study_id: studyId,
        user_id: userId,
        action: 'override_decision_refused',
        resource_type: 'participant',
        resource_id: (await requestOfStudy(tx, studyId, requestId))?.participant_id ?? null,
        request_id: context.requestId,
        metadata: { code: this.fault.code, override_request_id: requestId, via, identity: 'verified' },
      }),
    );
  }
}

/** Does the work; a refusal of it that is no record yet is a record of the study. @throws its refusal */
export async function recordingRefusals<T>(about: Deciding, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (fault) {
    const isUnrecorded = fault instanceof Problem && fault.status < 500 && !fault.options.recorded;
    throw isUnrecorded ? new RefusedDecision(fault, about) : fault;
  }
}
