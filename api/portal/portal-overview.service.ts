import type { Listed } from '../../db/client/paging.js';
import { portalVisits, reachableChannels, resultsPassedOn } from '../../db/portal/portal.queries.js';
import type { PortalVisit } from '../../db/portal/portal.queries.js';
import { studyShownTo } from '../../db/studies/study-face.queries.js';
import { chosenLanguage } from '../../workflows/domain/notifications/built-in.js';
import { contactOf, publicName } from '../../workflows/domain/notifications/study-face.js';
import { visitTitle } from '../../workflows/domain/scheduling/visit-title.js';
import type { ParticipantCaller } from '../http/access.js';
import { problem } from '../http/errors.js';
import type { Tx } from '../../db/client/database.js';

/** The participant page's data besides visits, in its reader's language. */
export async function overview(tx: Tx, { id, preferred_language, caregiver }: ParticipantCaller) {
  const study = await studyShownTo(tx, id);
  if (!study) throw problem('NOT_FOUND');
  const own = caregiver?.preferred_language ?? preferred_language;
  const language = own ?? study.default_language;
  return {
    language: chosenLanguage(own, study.default_language) ?? null,
    study: { name: publicName(study, language), contact: contactOf(study) ?? null },
    channels: await reachableChannels(tx, id),
    results_passed_on: await resultsPassedOn(tx, id),
  };
}

/** A participant's own visits with readable names; completed ones have their date. */
export async function ownVisits(
  tx: Tx,
  participantId: string,
  range: { skip: number; limit: number },
): Promise<Listed<Omit<PortalVisit, 'completed_on'> & { completed_on?: string }>> {
  const { items, total } = await portalVisits(tx, participantId, range);
  return {
    total,
    items: items.map(({ completed_on, ...visit }) => ({
      ...visit,
      name: visitTitle(visit.name),
      ...(completed_on !== null && { completed_on }),
    })),
  };
}
