import { staff } from '../../http/access.js';
import type { Role } from '../../http/access.js';
import { mayConfirm } from '../../participants/eligibility.service.js';
import { Field, Form, Notice } from '../html/form.js';
import { ProofField } from '../html/proof-field.js';
import { DefinitionList, Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { personPath, displayZoneOf } from './participant.page.js';
import type { FactsView } from './participant-tabs.service.js';
import type { ParticipantView } from './participant.service.js';
import { Job, ZonedInstant } from './parts.js';

/** The result of a form of this tab, and its typed fields. */
export interface FactsForm {
  of?: 'consent' | 'eligibility' | 'waiver';
  values?: Record<string, string>;
  done?: string | undefined;
  refused?: string | undefined;
  dateError?: string | undefined;
  proofError?: string | undefined;
}

/** Consents, eligibility and randomization: facts behind the enrollment date. */
export function FactsTab({ person, view, form }: { person: ParticipantView; view: FactsView; form: FactsForm }) {
  const { words } = useUi();
  const { facts } = words.participant;
  const { row, may } = person;
  const zone = displayZoneOf(person);
  const notes: Record<string, string> = {
    consent: facts.consentDone,
    eligibility: facts.recordDone,
    waiver: facts.waiverDone,
  };
  const said = notes[form.done ?? ''];
  return (
    <>
      {said && <Notice kind="good">{said}</Notice>}
      {form.refused && (
        <Notice kind="alert" title={words.participant.anchor.refused}>
          {form.refused}
        </Notice>
      )}
      <p class="quiet zone">{words.participant.zoneNamed(zone)}</p>
      <h2>{facts.consents}</h2>
      <Consents view={view} zone={zone} />
      {may.consent && <RecordConsent person={person} form={form} />}
      <OthersDo person={person} what="consent" roles={staff.participants.roles} />
      <h2>{facts.eligibility}</h2>
      <Eligibility view={view} zone={zone} />
      {may.eligibility && <RecordEligibility person={person} view={view} form={form} />}
      <OthersDo person={person} what="eligibility" roles={mayConfirm} />
      {may.consent && view.approval && <ApproveWaiver person={person} view={view} form={form} />}
      <h2>{facts.randomization}</h2>
      {row.randomization ? (
        <p>
          <bdi>{facts.arm(row.randomization.arm)}</bdi>,{' '}
          <ZonedInstant value={row.randomization.randomized_at} zone={zone} />
        </p>
      ) : (
        <p class="quiet">{facts.notRandomized}</p>
      )}
    </>
  );
}

/** Who records what is waited for, for a reader who may not. */
function OthersDo({
  person: { may, waiting },
  what,
  roles,
}: {
  person: ParticipantView;
  what: 'consent' | 'eligibility';
  roles: readonly Role[];
}) {
  const { words } = useUi();
  if (may[what] || !waiting.waiting_for.includes(what)) return null;
  return <p class="quiet">{words.participant.facts.doneBy[what](roles.map((role) => words.policy.roles[role]))}</p>;
}

function Consents({ view: { consents }, zone }: { view: FactsView; zone: string }) {
  const { words } = useUi();
  const { facts } = words.participant;
  if (consents.length === 0) return <p class="quiet">{facts.noConsents}</p>;
  return (
    <Table
      caption={facts.caption(consents.length)}
      rows={consents}
      rowKey={({ id }) => id}
      columns={[
        { title: facts.version, head: true, cell: ({ consent_version_id }) => <bdi>{consent_version_id ?? '–'}</bdi> },
        {
          title: facts.state,
          cell: ({ status }) => <span class={`tag ${status}`}>{facts.states[status] ?? status}</span>,
        },
        { title: facts.signed, cell: ({ signed_at }) => <ZonedInstant value={signed_at} zone={zone} /> },
        { title: facts.revoked, cell: ({ revoked_at }) => <ZonedInstant value={revoked_at} zone={zone} /> },
        { title: facts.purpose, cell: ({ purpose }) => <span dir="auto">{purpose ?? '–'}</span> },
      ]}
    />
  );
}

function RecordConsent({ person, form }: { person: ParticipantView; form: FactsForm }) {
  const { words } = useUi();
  const { facts, anchor } = words.participant;
  const typed = form.of === 'consent' ? form.values : undefined;
  const waits = person.waiting.waiting_for.includes('consent');
  return (
    <Job title={facts.recordConsent} open={waits || typed !== undefined}>
      <Form action={`${personPath(person.record.id)}/consents`}>
        <Field
          name="consent_version_id"
          label={facts.version}
          hint={facts.versionHint}
          value={typed?.consent_version_id}
          maxLength={200}
        />
        <Field
          name="signed_on"
          type="date"
          label={facts.signedOn}
          hint={anchor.dateHint}
          value={typed?.signed_on}
          error={typed && form.dateError}
          required
        />
        <button class="primary">{facts.consentButton}</button>
      </Form>
    </Job>
  );
}

function Eligibility({ view: { eligibility }, zone }: { view: FactsView; zone: string }) {
  const { words } = useUi();
  const { facts } = words.participant;
  if (!eligibility) return <p class="quiet">{facts.noEligibility}</p>;
  const { status, confirmed_at, has_waiver, waiver_reason, waiver_criteria_ids, waiver_approved_at } = eligibility;
  return (
    <DefinitionList
      of={[
        [facts.state, <span class={`tag ${status}`}>{facts.eligibilities[status] ?? status}</span>],
        [facts.confirmed, <ZonedInstant value={confirmed_at} zone={zone} />],
        ...(has_waiver
          ? ([
              [facts.waiver, <bdi>{waiver_criteria_ids.join(', ')}</bdi>],
              [facts.waiverReason, <span dir="auto">{waiver_reason ?? '–'}</span>],
              [
                facts.waiverApproved,
                waiver_approved_at ? <ZonedInstant value={waiver_approved_at} zone={zone} /> : facts.waiverWaits,
              ],
            ] as const)
          : []),
      ]}
    />
  );
}

/** A waiver is approved by a form of its own: whoever records the eligibility need not have looked at it. */
function ApproveWaiver({ person, view, form }: { person: ParticipantView; view: FactsView; form: FactsForm }) {
  const { words } = useUi();
  const { facts } = words.participant;
  return (
    <Job title={facts.approveWaiver} open={form.of === 'waiver'}>
      <p class="quiet">{facts.approveWaiverWhat}</p>
      <Form action={`${personPath(person.record.id)}/waiver`}>
        <input type="hidden" name="_seen" value={String(view.eligibility?.updated_at ?? '')} />
        {view.approval?.again && <ProofField error={form.proofError} />}
        <button class="primary">{facts.approveWaiver}</button>
      </Form>
    </Job>
  );
}

function RecordEligibility({ person, view, form }: { person: ParticipantView; view: FactsView; form: FactsForm }) {
  const { words } = useUi();
  const { facts } = words.participant;
  const typed = form.of === 'eligibility' ? form.values : undefined;
  const chosen = typed?.status ?? view.eligibility?.status ?? 'eligible';
  return (
    <Job title={facts.record} open={person.waiting.waiting_for.includes('eligibility') || typed !== undefined}>
      <Form action={`${personPath(person.record.id)}/eligibility`}>
        <input type="hidden" name="_seen" value={String(view.eligibility?.updated_at ?? '')} />
        <fieldset class="choice">
          <legend>{facts.state}</legend>
          {Object.entries(facts.eligibilities).map(([status, label]) => (
            <label class="check" key={status}>
              <input type="radio" name="status" value={status} checked={status === chosen} required /> {label}
            </label>
          ))}
        </fieldset>
        <button class="primary">{facts.recordButton}</button>
      </Form>
    </Job>
  );
}
