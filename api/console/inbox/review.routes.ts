import { h } from 'preact';
import type { Tx } from '../../../db/client/database.js';
import { Type, oneOf, text } from '../../http/common.schemas.js';
import type { Problem } from '../../http/errors.js';
import { reviewVisit, targetNow } from '../../scheduling/visit-review.service.js';
import { getVisitOrThrow } from '../../scheduling/visits.service.js';
import { assertFormVersion } from '../routing/form-version.js';
import { consoleForm, consolePage } from '../routing/page.js';
import { refusalText } from '../html/refusal.js';
import { redirect } from '../routing/render.js';
import type { Ui } from '../html/ui.js';
import { inboxAccess } from './inbox.service.js';
import { ReviewPage } from './review.page.js';
import type { ReviewAnswer, ReviewView } from './review.page.js';

const path = '/console/inbox/reviews/{visit_id}';

async function load(tx: Tx, id: string): Promise<ReviewView> {
  const visit = await getVisitOrThrow(tx, id);
  return { visit, planned: visit.needs_review ? await targetNow(tx, visit) : null };
}

function answerOf({ words }: Ui, form: URLSearchParams, fault: Problem): ReviewAnswer {
  const given = { keep: form.get('keep') ?? '', resolution: form.get('resolution') ?? '' };
  if (fault.code === 'STALE') return { ...given, said: 'stale' };
  if (fault.code === 'NOTHING_TO_REVIEW') return { ...given, said: 'already' };
  return { ...given, refused: refusalText(words, fault) };
}

export const reviewRoutes = [
  consolePage({
    path,
    summary: 'Show a completed visit whose schedule moved',
    access: inboxAccess.review,
    transaction: 'read',
    view: async ({ tx, params, ui }) => ({
      title: ui.words.inbox.reviewing.title,
      content: h(ReviewPage, { view: await load(tx, params.visit_id) }),
    }),
  }),
  consoleForm({
    path,
    summary: 'Finish the review of a visit in the console',
    access: inboxAccess.review,
    transaction: 'change',
    fields: Type.Object({ keep: oneOf('yes', 'no'), resolution: Type.Optional(text(2000)) }),
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const resolution = (form.get('resolution') ?? '').trim();
      await reviewVisit(
        { tx, audit, actor, context },
        params.visit_id,
        { keep_target: form.get('keep') === 'yes', resolution: resolution || null },
        assertFormVersion(form),
      );
      return redirect('/console/inbox?done=review');
    },
    again: async ({ read, params, form, fault, ui }) => ({
      title: ui.words.inbox.reviewing.title,
      content: h(ReviewPage, {
        view: await read((tx) => load(tx, params.visit_id)),
        answer: answerOf(ui, form, fault),
      }),
    }),
  }),
];
