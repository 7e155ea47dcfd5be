import { h } from 'preact';
import { conflictOutline } from '../../../db/assessment/offline-conflicts-results.queries.js';
import { studyOfConflict } from '../../../db/console/inbox.queries.js';
import type { Tx } from '../../../db/client/database.js';
import { getConflictOrThrow, resolve } from '../../assessment/offline-sync/sync-conflicts.service.js';
import type { Keep } from '../../assessment/offline-sync/sync-conflicts.service.js';
import { Type, text } from '../../http/common.schemas.js';
import { brokenRule, problem } from '../../http/errors.js';
import type { Problem } from '../../http/errors.js';
import { getParticipantOrThrow } from '../../participants/participants.service.js';
import { errorOf } from '../html/form.js';
import { consoleForm, consolePage } from '../routing/page.js';
import { refusalText } from '../html/refusal.js';
import { redirect } from '../routing/render.js';
import type { Ui } from '../html/ui.js';
import { ConflictPage } from './conflict.page.js';
import type { ConflictAnswer, ConflictView } from './conflict.page.js';
import { inboxAccess } from './inbox.service.js';

const path = '/console/inbox/conflicts/{conflict_id}';
const SIDES: readonly string[] = ['server', 'local', 'both'] satisfies Keep[];

/** A page is short, however long what a device sent is. */
const MAX_FIELDS = 60,
  MAX_LETTERS = 200;
const NOT_SHOWN = ['participantId', 'studyId', 'participant_id', 'study_id'];

async function studyOrThrow(tx: Tx, id: string): Promise<string> {
  const study = await studyOfConflict(tx, id);
  if (!study) throw problem('NOT_FOUND', { detail: 'There is no such conflict.' });
  return study;
}

async function load(tx: Tx, id: string): Promise<ConflictView> {
  const conflict = await getConflictOrThrow(tx, await studyOrThrow(tx, id), id);
  const { participant_code } = await getParticipantOrThrow(tx, conflict.participant_id);
  const outline = await conflictOutline(tx, id, { fields: MAX_FIELDS, letters: MAX_LETTERS, hidden: NOT_SHOWN });
  return { conflict, outline, participant_code };
}

/** The page's message for a refused resolution. */
function answerOf({ words }: Ui, form: URLSearchParams, fault: Problem): ConflictAnswer {
  const { inbox } = words;
  const given = { keep: form.get('keep') ?? '', reason: form.get('reason') ?? '' };
  if (fault.code === 'CONFLICT_RESOLVED') return { ...given, refused: inbox.done.already };
  const [keepError, reasonError] = [errorOf(fault, 'keep', words), errorOf(fault, 'reason', words)];
  if (reasonError)
    return { ...given, reasonError: given.reason.trim() === '' ? inbox.resolve.reasonNeeded : reasonError };
  if (keepError) return { ...given, keepError: SIDES.includes(given.keep) ? keepError : inbox.resolve.keepNeeded };
  return { ...given, refused: refusalText(words, fault) };
}

export const conflictRoutes = [
  consolePage({
    path,
    summary: 'Show both sides of a sync conflict',
    access: inboxAccess.conflict,
    transaction: 'read',
    view: async ({ tx, params, ui }) => ({
      title: ui.words.inbox.resolve.title,
      content: h(ConflictPage, { view: await load(tx, params.conflict_id) }),
    }),
  }),
  consoleForm({
    path,
    summary: 'Resolve a sync conflict in the console',
    access: inboxAccess.conflict,
    transaction: 'change',
    fields: Type.Object({ keep: Type.Optional(text(10)), reason: Type.Optional(text(2000)) }),
    submit: async ({ tx, audit, actor, context, params, form, ui }) => {
      const study = await studyOrThrow(tx, params.conflict_id);
      const keep = form.get('keep') ?? '';
      const reason = (form.get('reason') ?? '').trim();
      if (!SIDES.includes(keep)) throw brokenRule('keep', 'REQUIRED', ui.words.inbox.resolve.keepNeeded);
      if (reason === '') throw brokenRule('reason', 'REASON_REQUIRED', ui.words.inbox.resolve.reasonNeeded);
      await resolve({ tx, audit, actor, context }, study, params.conflict_id, { keep: keep as Keep, reason });
      return redirect('/console/inbox?done=conflict');
    },
    again: async ({ read, params, form, fault, ui }) => ({
      title: ui.words.inbox.resolve.title,
      content: h(ConflictPage, {
        view: await read((tx) => load(tx, params.conflict_id)),
        answer: answerOf(ui, form, fault),
      }),
    }),
  }),
];
