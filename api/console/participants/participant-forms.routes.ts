import { randomUUID } from 'node:crypto';
import { h } from 'preact';
import { hashOf } from '../../../db/audit/hashing.js';
import { nowMs } from '../../../db/client/clock.js';
import type { Tx } from '../../../db/client/database.js';
import { listConsents } from '../../../db/participants/consents.queries.js';
import { eligibilityOf } from '../../../db/participants/eligibility.queries.js';
import { readFacts } from '../../../db/participants/facts.queries.js';
import type { FactRow } from '../../../db/participants/facts.queries.js';
import type { Eligibility } from '../../../db/models/records.js';
import {
  cancelProposal,
  evaluate,
  overrideBack,
  requestOverride,
  setEnrollmentDate,
} from '../../../workflows/contract.js';
import { policyAndFacts } from '../../../workflows/domain/anchor/facts.js';
import { isDate, startOfDay } from '../../../workflows/domain/util/dates.js';
import { commandSender, updateAnchor } from '../../anchor/anchor-updates.service.js';
import type { AnchorUpdate } from '../../anchor/anchor-updates.service.js';
import { previewOverride } from '../../anchor/anchors.service.js';
import { inStudy, staff, withNote } from '../../http/access.js';
import type { Actor } from '../../http/access.js';
import { Type, oneOf, text } from '../../http/common.schemas.js';
import { brokenRule, problem } from '../../http/errors.js';
import type { Problem } from '../../http/errors.js';
import type { RequestContext } from '../../http/request-context.js';
import type { Dependencies } from '../../dependencies.js';
import { createConsent } from '../../participants/consents.service.js';
import { mayApproveWaiver, saveEligibility } from '../../participants/eligibility.service.js';
import { getParticipantOrThrow } from '../../participants/participants.service.js';
import { errorOf } from '../html/form.js';
import { consoleForm } from '../routing/page.js';
import type { AgainInput, PageTools } from '../routing/page.js';
import { proofErrorOf, proofOf } from '../routing/proof.js';
import { fieldName, refusalText } from '../html/refusal.js';
import { redirect } from '../routing/render.js';
import type { Ui } from '../html/ui.js';
import { DateTab } from './date-tab.js';
import type { DateForm } from './date-tab.js';
import { FactsTab } from './facts-tab.js';
import type { FactsForm } from './facts-tab.js';
import { personPath } from './participant.page.js';
import { loadDate, loadPerson } from './participant.service.js';
import { loadFacts } from './participant-tabs.service.js';
import { personView } from './participant.routes.js';

const path = '/console/participants/{participant_id}';

/** A form sent twice has the same message id: same page, same fields. */
const messageId = (actor: Actor, form: URLSearchParams): string =>
  hashOf([actor.id, ...[...form].filter(([name]) => name !== '_token' && name !== '_back')]);

interface Sending extends PageTools {
  services: Dependencies;
  actor: Actor;
  context: RequestContext;
  form: URLSearchParams;
  params: { participant_id: string };
}

/** Sends a form's message to the participant's workflow. */
async function send(sending: Sending, definition: AnchorUpdate, message: object) {
  const { services, actor, context, form, params, read } = sending;
  const participantId = params.participant_id.toLowerCase();
  const { study_id } = await read((tx) => getParticipantOrThrow(tx, participantId));
  const version = form.get('_version');
  const target = { studyId: study_id, participantId, updateId: messageId(actor, form), via: 'page' as const };
  return updateAnchor(services, target, definition, {
    ...commandSender(actor, context),
    reason: form.get('reason')?.trim() || null,
    ...(definition.name !== evaluate.name && version && { expected_version: Number(version) }),
    ...message,
  });
}

const dateIn = (form: URLSearchParams, ui: Ui, name = 'date'): string => {
  const given = form.get(name)?.trim() ?? '';
  if (isDate(given)) return given;
  throw brokenRule(name, 'DATE', ui.words.participant.anchor.dateNeeded);
};

const typed = (form: URLSearchParams): Record<string, string> =>
  Object.fromEntries(
    ['date', 'reason', 'regenerate'].flatMap((name) => {
      const value = form.get(name);
      return value === null ? [] : [[name, value] as const];
    }),
  );

/** A refusal in the reader's words. */
function saidOf({ words }: Ui, fault: Problem, named?: (path: string) => string): string {
  const { codes } = words.participant.anchor;
  const away = fault.status >= 500 ? words.problems.byStatus[fault.status]?.what : undefined;
  return codes[fault.code] ?? away ?? refusalText(words, fault, named);
}

const done = (id: string, what: string) => redirect(`${personPath(id)}?tab=date&done=${what}`);

/** The date tab with typed fields and a message. */
async function dateTabAgain(sending: Pick<Sending, 'read' | 'services' | 'params'>, form: DateForm, status = 200) {
  return sending.read(async (tx, actor) => {
    const person = await loadPerson(tx, actor, sending.params.participant_id.toLowerCase());
    const view = await loadDate(tx, person, undefined);
    return { ...personView(person, 'date', h(DateTab, { person, view, form }), sending.services), status };
  });
}

/** The preview of an override, for the confirmation page. */
const previewed = (sending: Pick<Sending, 'read' | 'params'>, date: string, regenerate: boolean) =>
  sending.read((tx, actor) =>
    previewOverride(tx, sending.params.participant_id.toLowerCase(), date, regenerate, actor.id),
  );

const drawAgain = async (input: AgainInput<typeof path>) => {
  const { form, fault, ui, params } = input;
  const values = typed(form);
  const shown: DateForm = { once: randomUUID(), action: form.get('action') ?? '', values };
  if (fault.code === 'PREVIEW_STALE') {
    const preview = await previewed({ ...input, params }, values.date!, values.regenerate === '1');
    return dateTabAgain(input, { ...shown, preview, stale: true }, fault.status);
  }
  const dateError = errorOf(fault, 'date', ui.words);
  if (dateError) return dateTabAgain(input, { ...shown, dateError }, fault.status);
  return dateTabAgain(input, { ...shown, refused: saidOf(ui, fault) }, fault.status);
};

const Fields = Type.Object({
  action: oneOf('set', 'cancel', 'preview', 'override', 'override_back'),
  date: Type.Optional(text(40)),
  reason: Type.Optional(text(2000)),
  preview_hash: Type.Optional(text(64)),
});

export const participantForms = [
  consoleForm({
    path: `${path}/date`,
    summary: 'Record, cancel, override or revert an enrollment date',
    access: withNote(inStudy(), 'and the policy’s can_set or can_override'),
    fields: Fields,
    submit: async (input) => {
      const { form, ui, params } = input;
      const id = params.participant_id.toLowerCase();
      const regenerate = form.get('regenerate') === '1';
      switch (form.get('action')) {
        case 'set':
          await send(input, setEnrollmentDate, { enrollment_date: dateIn(form, ui) });
          return done(id, 'set');
        case 'cancel':
          await send(input, cancelProposal, {});
          return done(id, 'cancelled');
        case 'override_back':
          await send(input, overrideBack, {});
          return done(id, 'reverted');
        case 'override': {
          const { result } = await send(input, requestOverride, {
            new_enrollment_date: dateIn(form, ui),
            regenerate_schedule: regenerate,
            preview_hash: form.get('preview_hash'),
          });
          return done(id, result === 'pending_approval' ? 'asked' : 'overridden');
        }
        default: {
          const preview = await previewed(input, dateIn(form, ui), regenerate);
          return dateTabAgain(input, { once: randomUUID(), action: 'preview', values: typed(form), preview });
        }
      }
    },
    again: (input) => drawAgain(input),
  }),
  consoleForm({
    path: `${path}/evaluate`,
    summary: 'Evaluate the enrollment date again',
    access: inStudy('researcher', 'coordinator', 'investigator'),
    submit: async (input) => {
      await send(input, evaluate, {});
      return done(input.params.participant_id.toLowerCase(), 'evaluated');
    },
    again: (input) => drawAgain(input),
  }),
  consoleForm({
    path: `${path}/consents`,
    summary: 'Record a signed consent',
    access: staff.participants,
    transaction: 'change',
    fields: Type.Object({ consent_version_id: Type.Optional(text(200)), signed_on: text(40) }),
    submit: async ({ tx, audit, actor, context, params, form, ui }) => {
      const id = params.participant_id.toLowerCase();
      const day = dateIn(form, ui, 'signed_on');
      const signed_at = await beginningOf(tx, id, day);
      const consent_version_id = form.get('consent_version_id')?.trim() || null;
      const { items } = await listConsents(tx, id, { skip: 0, limit: 500, sort: 'created_at' });
      const isThere = items.some(
        (one) =>
          one.status === 'signed' &&
          one.consent_version_id === consent_version_id &&
          Date.parse(String(one.signed_at)) === Date.parse(signed_at),
      );
      // The form was sent twice.
      if (!isThere)
        await createConsent({ tx, audit, actor, context }, id, { status: 'signed', signed_at, consent_version_id });
      return redirect(`${personPath(id)}?tab=facts&done=consent`);
    },
    again: (input) => factsTabAgain(input, 'consent'),
  }),
  consoleForm({
    path: `${path}/eligibility`,
    summary: 'Record the eligibility',
    access: withNote(staff.participants, 'eligible, ineligible: admin, researcher, investigator'),
    transaction: 'change',
    fields: Type.Object({ status: oneOf('pending', 'eligible', 'ineligible', 'deferred') }),
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const id = params.participant_id.toLowerCase();
      const before = await eligibilityOf(tx, id);
      const status = form.get('status') as 'pending' | 'eligible' | 'ineligible' | 'deferred';
      if (before?.status !== status)
        await saveEligibility({ tx, audit, actor, context }, id, { ...restOf(before), status }, asSeen(form));
      return redirect(`${personPath(id)}?tab=facts&done=eligibility`);
    },
    again: (input) => factsTabAgain(input, 'eligibility'),
  }),
  consoleForm({
    path: `${path}/waiver`,
    summary: 'Approve a waiver of eligibility criteria',
    access: withNote(inStudy('researcher', 'investigator'), 'but not who asked for the waiver'),
    transaction: 'change',
    fields: Type.Object({ proof_password: Type.Optional(text(1000)) }),
    submit: async ({ tx, audit, actor, context, credential, services, params, form }) => {
      const id = params.participant_id.toLowerCase();
      const before = await eligibilityOf(tx, id);
      // The form was sent twice.
      if (before?.waiver_approved_by_id !== actor.id) {
        if (!before?.has_waiver || before.waiver_approved_by_id !== null) throw problem('STALE');
        if (!mayApproveWaiver(before, actor))
          throw problem('SELF_APPROVAL', { detail: 'The author of a waiver does not approve it.' });
        const proof = proofOf(form.get('proof_password'), credential);
        const signing = { settings: services.settings, proof, meaning: undefined };
        const same = { ...restOf(before), status: before.status };
        await saveEligibility({ tx, audit, actor, context }, id, same, asSeen(form), { signing });
      }
      return redirect(`${personPath(id)}?tab=facts&done=waiver`);
    },
    again: (input) => factsTabAgain(input, 'waiver'),
  }),
];

/** An assessment as the service takes it, without its status. */
const restOf = (before: Eligibility | undefined) =>
  ({
    inclusion_criteria: before?.inclusion_criteria ?? {},
    exclusion_criteria: before?.exclusion_criteria ?? {},
    source_documents: before?.source_documents ?? [],
    has_waiver: before?.has_waiver ?? false,
    waiver_criteria_ids: before?.waiver_criteria_ids ?? [],
    waiver_reason: before?.waiver_reason ?? null,
  }) as Parameters<typeof saveEligibility>[2];

/** @throws 409 STALE if the assessment differs from the one that the page showed */
const asSeen = (form: URLSearchParams) => (record: Record<string, unknown> | undefined) => {
  if (String(record?.updated_at ?? '') !== form.get('_seen')) throw problem('STALE');
};

/**
 * The beginning of a typed day. The policy makes this day's date of it, and it is shown on this day in the
 * participant's time zone, if the day has begun there.
 */
async function beginningOf(tx: Tx, participantId: string, day: string): Promise<string> {
  const { timezone } = await getParticipantOrThrow(tx, participantId);
  const [row] = (await readFacts(tx, [participantId])) as [FactRow];
  const counted = startOfDay(day, policyAndFacts(row).facts.zone);
  const shown = startOfDay(day, timezone ?? row.site_timezone ?? row.study.timezone);
  return shown > counted && Date.parse(shown) <= nowMs() ? shown : counted;
}

/** The facts tab with typed fields and a message. */
const factsTabAgain = (
  { read, services, params, form, fault, ui }: AgainInput<typeof path>,
  part: NonNullable<FactsForm['of']>,
) =>
  read(async (tx, actor) => {
    const person = await loadPerson(tx, actor, params.participant_id.toLowerCase());
    // The time that the service refuses is of the typed day.
    const dateError = errorOf(fault, 'signed_on', ui.words) ?? errorOf(fault, 'signed_at', ui.words);
    const { facts } = ui.words.participant;
    const named = (name: string) => {
      const [, kind, criterion] = /^(inclusion|exclusion)_criteria\.(.+)$/.exec(name) ?? [];
      return kind ? `${facts[kind as 'inclusion' | 'exclusion']} ${criterion}` : fieldName(ui.words.problems, name);
    };
    const refused = fault.code === 'STALE' ? facts.stale : saidOf(ui, fault, named);
    const proofError = proofErrorOf(ui.words, fault);
    const shown: FactsForm = {
      of: part,
      values: Object.fromEntries(form),
      ...(dateError ? { dateError } : proofError ? { proofError } : { refused }),
    };
    const view = await loadFacts(tx, actor, person.record, services.settings);
    return personView(person, 'facts', h(FactsTab, { person, view, form: shown }), services);
  });
