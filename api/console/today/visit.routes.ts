import { h } from 'preact';
import { visitSurroundings } from '../../../db/console/today.queries.js';
import { nowIso } from '../../../db/client/clock.js';
import type { Tx } from '../../../db/client/database.js';
import { mayReopen } from '../../../db/scheduling/visit-statuses.queries.js';
import { reminderByHand } from '../../../workflows/domain/notifications/by-hand.js';
import { dateIn, isDate, startOfDay } from '../../../workflows/domain/util/dates.js';
import { inStudy, staff } from '../../http/access.js';
import type { Actor } from '../../http/access.js';
import { Type, oneOf, text } from '../../http/common.schemas.js';
import { brokenRule, problem } from '../../http/errors.js';
import type { Problem } from '../../http/errors.js';
import { remindByHand } from '../../notifications/reminder-by-hand.service.js';
import { requestLink } from '../../portal/portal.service.js';
import { cancelVisit, reopenVisit } from '../../scheduling/visit-states.service.js';
import { changeVisit, completeVisit, getVisitOrThrow, keptReason } from '../../scheduling/visits.service.js';
import { backTo } from '../routing/done.js';
import { assertFormVersion } from '../routing/form-version.js';
import { consoleForm, consolePage } from '../routing/page.js';
import type { AgainInput } from '../routing/page.js';
import { refusalText, ruleText } from '../html/refusal.js';
import { redirect } from '../routing/render.js';
import { readJson } from '../studies/edit/edit.js';
import type { View } from '../routing/render.js';
import type { Ui } from '../html/ui.js';
import { VisitPage } from './visit.page.js';
import type { VisitAnswer, VisitView } from './visit.page.js';

const TODAY = '/console/today';
const NOON_MS = 12 * 3_600_000;

async function load(tx: Tx, { role }: Actor, id: string): Promise<VisitView> {
  const visit = await getVisitOrThrow(tx, id);
  const { study_code, zone, withdrawn, reminder } = (await visitSurroundings(tx, id))!;
  const mayChange = staff.participants.roles.includes(role);
  const isDone = visit.status === 'completed' || visit.status === 'cancelled';
  return {
    visit,
    study_code,
    zone,
    withdrawn,
    reminder: {
      last: reminder.last,
      next: reminder.next,
      now: reminderByHand(reminder, nowIso()),
      zone: reminder.zone,
    },
    mayChange,
    mayReopen: mayChange && !withdrawn && isDone && (await mayReopen(tx, id)),
  };
}

/** The fields that were typed: what was left as the page showed it gets what the visit has now. */
function whatWasTyped({ version: _version, seen, ...given }: Record<string, string>): Record<string, string> {
  const shown = readJson(seen ?? '') as Record<string, unknown> | null | undefined;
  return Object.fromEntries(Object.entries(given).filter(([name, value]) => shown?.[name] !== value));
}

/** The page's message for a refused change. */
function answerOf({ words }: Ui, form: URLSearchParams, fault: Problem): VisitAnswer {
  const { one } = words.today;
  const given = Object.fromEntries([...form].filter(([name]) => !name.startsWith('_')));
  const field = fault.options.errors?.[0];
  const at = field?.path?.replace(/^body\./, '');
  const says: Record<string, string> = {
    NO_ADDRESS: one.noAddress,
    QUOTA_EXCEEDED: one.quota,
    VISIT_CLOSED: one.closed,
    PARTICIPANT_WITHDRAWN: one.withdrawn,
  };
  const saysOfField: Record<string, string> = {
    OUTSIDE_WINDOW: one.outside,
    IN_FUTURE: one.future,
    NO_DAY: one.badDay,
    REASON_REQUIRED: one.cancel.reasonNeeded,
  };
  if (fault.code === 'STALE') return { given: whatWasTyped(given), stale: true };
  if (says[fault.code]) return { given, refused: says[fault.code]! };
  const name = at === 'completed_at' ? 'done_on' : at;
  if (field && name && name in given)
    return { given, errors: { [name]: saysOfField[field.code] ?? ruleText(words.problems, field) ?? field.message } };
  return { given, refused: refusalText(words, fault) };
}

type AgainOfVisit = Omit<AgainInput<'/console/visits/{visit_id}'>, 'params'> & { params: { visit_id: string } };
const again = async ({ read, params, form, fault, ui }: AgainOfVisit): Promise<View> => ({
  title: ui.words.today.one.title,
  content: h(VisitPage, {
    view: await read((tx, actor) => load(tx, actor, params.visit_id)),
    answer: answerOf(ui, form, fault),
  }),
});

/** Noon of an earlier day; undefined for today, which means now. @throws 400 */
function momentOf(day: string, zone: string): string | undefined {
  if (!isDate(day)) throw brokenRule('done_on', 'NO_DAY', 'is not a day');
  if (day === dateIn(nowIso(), zone)) return undefined;
  return new Date(Date.parse(startOfDay(day, zone)) + NOON_MS).toISOString();
}

export const visitPageRoutes = [
  consolePage({
    path: '/console/visits/{visit_id}',
    summary: 'Show a visit with what can be done about it',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({ done: Type.Optional(text(20)) }),
    view: async ({ tx, actor, params, query, ui }) => ({
      title: ui.words.today.one.title,
      content: h(VisitPage, { view: await load(tx, actor, params.visit_id), done: query.done }),
    }),
  }),
  consoleForm({
    path: '/console/visits/{visit_id}/complete',
    summary: 'Complete a visit in the console',
    access: staff.participants,
    transaction: 'change',
    fields: Type.Object({ done_on: Type.Optional(text(10)) }),
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const day = form.get('done_on') ?? '';
      const surroundings = await visitSurroundings(tx, params.visit_id);
      if (!surroundings) throw problem('NOT_FOUND', { detail: 'There is no such visit.' });
      const completed_at = day === '' ? undefined : momentOf(day, surroundings.zone);
      const visit = await completeVisit({ tx, audit, actor, context }, params.visit_id, {
        ...(completed_at && { completed_at }),
      });
      // Somebody completed it meanwhile for another day: what was typed here is not what is recorded.
      if (day !== '' && dateIn(String(visit.completed_at), surroundings.zone) !== day) throw problem('STALE');
      return redirect(leadsTo(form, params.visit_id, 'complete'));
    },
    again,
  }),
  consoleForm({
    path: '/console/visits/{visit_id}/move',
    summary: 'Move a visit in the console',
    access: staff.participants,
    transaction: 'change',
    fields: Type.Object({ target_date: text(10), window_open: text(10), window_close: text(10) }),
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const days = {
        target_date: dayIn(form, 'target_date'),
        window_open: dayIn(form, 'window_open'),
        window_close: dayIn(form, 'window_close'),
      };
      await changeVisit({ tx, audit, actor, context }, params.visit_id, days, assertFormVersion(form));
      return redirect(leadsTo(form, params.visit_id, 'move'));
    },
    again,
  }),
  consoleForm({
    path: '/console/visits/{visit_id}/cancel',
    summary: 'Cancel a visit in the console',
    access: staff.participants,
    transaction: 'change',
    fields: Type.Object({ reason: Type.Optional(text(2000)) }),
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const reason = (form.get('reason') ?? '').trim();
      if (reason === '') throw brokenRule('reason', 'REASON_REQUIRED', 'is required');
      const { status, status_reason } = await getVisitOrThrow(tx, params.visit_id);
      if (status === 'cancelled' && status_reason !== keptReason(reason)) throw problem('STALE');
      await cancelVisit({ tx, audit, actor, context }, params.visit_id, reason);
      return redirect(leadsTo(form, params.visit_id, 'cancel'));
    },
    again,
  }),
  consoleForm({
    path: '/console/visits/{visit_id}/reopen',
    summary: 'Reopen a visit in the console',
    access: staff.participants,
    transaction: 'change',
    // Not the name of the reason of a cancellation: what was typed there is no reason to reopen.
    fields: Type.Object({ reopen_reason: Type.Optional(text(2000)) }),
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const reason = (form.get('reopen_reason') ?? '').trim();
      if (reason === '') throw brokenRule('reopen_reason', 'REASON_REQUIRED', 'is required');
      await reopenVisit({ tx, audit, actor, context }, params.visit_id, reason);
      return redirect(leadsTo(form, params.visit_id, 'reopen'));
    },
    again,
  }),
  consoleForm({
    path: '/console/visits/{visit_id}/message',
    summary: 'Send the participant of a visit a portal link or reminder',
    access: staff.participants,
    transaction: 'change',
    fields: Type.Object({ send: oneOf('email', 'sms', 'reminder') }),
    submit: async ({ tx, audit, actor, context, services, params, form }) => {
      const change = { tx, audit, actor, context };
      const { participant_id } = await getVisitOrThrow(tx, params.visit_id);
      const send = form.get('send');
      if (send === 'email' || send === 'sms') {
        await requestLink(change, services.settings, { participant_id, channel: send });
        return redirect(leadsTo(form, params.visit_id, 'link'));
      }
      const channel = await remindByHand(change, params.visit_id);
      return redirect(leadsTo(form, params.visit_id, `remind_${channel}`));
    },
    again,
  }),
];

/** A date field of a form. @throws 400 */
function dayIn(form: URLSearchParams, name: string): string {
  const day = form.get(name) ?? '';
  if (!isDate(day)) throw brokenRule(name, 'NO_DAY', 'is not a day');
  return day;
}

/** Returns to the list that the form was on, or to the visit's own page. */
const leadsTo = (form: URLSearchParams, visitId: string, done: string): string => {
  const own = `/console/visits/${visitId.toLowerCase()}`;
  if (!form.get('_back')?.startsWith(TODAY)) return backTo(form, own, { done });
  // A visit that is done leaves the list: who pressed the wrong button finds it by the notice.
  return backTo(form, TODAY, { done, ...(done === 'complete' && { of: visitId.toLowerCase() }) });
};
