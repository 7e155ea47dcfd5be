import { CalendarDate, InstantText } from '../html/date.js';
import { daysBetween } from '../../../workflows/domain/util/dates.js';
import { dateText } from '../html/dates.js';
import { Form, Notice } from '../html/form.js';
import { ProofField } from '../html/proof-field.js';
import { DefinitionList } from '../html/table.js';
import { Typed } from '../html/problem.js';
import { ReasonField } from '../html/reason-field.js';
import { refusalText } from '../html/refusal.js';
import { useUi } from '../html/ui.js';
import type { Words } from '../words/words.js';
import { seenOf } from './approvals.service.js';
import type { ApprovalView } from './approvals.service.js';
import { VisitChanges, Warning } from './impact.js';

/** The result of a decision sent from the page, and its typed fields. */
export interface ApprovalDecision {
  said?: 'stale' | 'already' | 'done';
  /** Another refusal, as text. */
  refused?: string;
  reason?: string;
  reasonError?: string | undefined;
  proofError?: string | undefined;
}

/** A change of an enrollment date that is pending or decided. */
export function ApprovalPage({ view, decision = {} }: { view: ApprovalView; decision?: ApprovalDecision }) {
  const { words } = useUi();
  const { state } = view;
  const { said, refused } = decision;
  return (
    <article class="approval">
      <p class="crumbs">
        <a href="/console/inbox">{words.approval.toInbox}</a>
      </p>
      <h1>
        {words.approval.title}
        {state !== 'pending' && (
          <>
            {' '}
            <span class={`tag ${state}`}>{words.approval[state]}</span>
          </>
        )}
      </h1>
      {said === 'stale' && (
        <Notice kind="alert" title={words.approval.stale}>
          {words.approval.staleWhat}
        </Notice>
      )}
      {said === 'already' && (
        <Notice kind="alert" title={words.approval.already}>
          {view.decidedByCaller ? words.approval.yours : words.approval.notYours}
        </Notice>
      )}
      {said === 'done' && <Done view={view} />}
      {state === 'pending' && view.cannot && <Cannot because={view.cannot} />}
      {refused && <Notice kind="alert">{refused}</Notice>}
      {isLeftOver(view, decision) && <Typed typed={[[words.approval.decisionReason, decision.reason ?? '']]} />}
      <div class="question">
        <div class="ask">
          <Dates view={view} />
          {state !== 'pending' && <ApprovalResult view={view} />}
          <DefinitionList of={asked(view, words)} />
        </div>
        {state === 'pending' && !view.cannot && <Decide view={view} decision={decision} />}
        <div class="more">
          <DefinitionList of={place(view, words)} />
        </div>
      </div>
      {view.warnings.length > 0 && (
        <section>
          <h2 id="warnings">{words.approval.warnings}</h2>
          <ul class="warnings">
            {view.warnings.map((one) => (
              <li key={one}>
                <Warning text={one} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {view.cannot && view.impossible && (
        <Notice kind="alert" title={words.approval.impossible}>
          {refusalText(words, view.impossible)}
        </Notice>
      )}
      <Visits view={view} isStale={said === 'stale'} />
    </article>
  );
}

/** Whether the typed reason has no place in the page: the form is gone, and the stored decision has another reason. */
const isLeftOver = (view: ApprovalView, { reason }: ApprovalDecision): boolean =>
  view.state === 'pending'
    ? view.cannot !== undefined
    : !view.decidedByCaller || view.approval.decision_reason !== reason?.trim();

/** Who wants the change, for whom, and why. */
const asked = (view: ApprovalView, { approval: texts }: Words) => {
  const { approval } = view;
  return [
    [
      texts.participant,
      <a href={`/console/participants/${approval.participant_id}`}>
        <bdi>{approval.participant_code}</bdi>
      </a>,
    ],
    [texts.askedBy, <Asked view={view} />],
    [
      texts.reason,
      <p class="typed-text" dir="auto">
        {approval.reason ?? texts.noReason}
      </p>,
    ],
  ] as const;
};

/** Where the participant belongs, and until when the request waits. */
const place = ({ approval, state }: ApprovalView, { approval: texts }: Words) => [
  [texts.study, <bdi>{approval.study_code}</bdi>] as const,
  [texts.site, approval.site_code ? <bdi>{approval.site_code}</bdi> : texts.noSite] as const,
  ...(state === 'pending' ? [[texts.deadline, <Deadline at={approval.expires_at} />] as const] : []),
];

/** The result of the decision just made. */
function Done({ view: { approval, state, visits } }: { view: ApprovalView }) {
  const { words, language } = useUi();
  const { done } = words.approval;
  const moves = approval.regenerate_schedule && visits.some(({ action }) => action === 'move');
  const text = moves ? done.approved : done.approvedAlone;
  return (
    <Notice kind="good">
      {state === 'approved' ? text(dateText(language, approval.new_enrollment_date)) : done.denied}
    </Notice>
  );
}

function Cannot({ because }: { because: NonNullable<ApprovalView['cannot']> }) {
  const { words } = useUi();
  return <Notice>{because === 'own' ? words.approval.own : words.approval.notApprover}</Notice>;
}

function Dates({ view: { approval, state } }: { view: ApprovalView }) {
  const { words } = useUi();
  const isDone = state === 'approved';
  const days = daysBetween(approval.enrollment_date, approval.new_enrollment_date);
  return (
    <p class="dates">
      <span>
        <small>{isDone ? words.approval.was : words.approval.from}</small>{' '}
        <CalendarDate value={approval.enrollment_date} />
      </span>
      <svg class="arrow" viewBox="0 0 20 24" aria-hidden="true">
        <path d="M2 12h15M12 7l5 5-5 5" />
      </svg>
      <span>
        <small>{isDone ? words.approval.is : words.approval.to}</small>{' '}
        <strong>
          <CalendarDate value={approval.new_enrollment_date} />
        </strong>
      </span>
      <span class="difference">{days === 0 ? words.approval.sameDay : words.approval.days(days)}</span>
    </p>
  );
}

function Asked({ view: { approval } }: { view: ApprovalView }) {
  return (
    <>
      <bdi>{approval.asker ?? '–'}</bdi>, <InstantText value={approval.requested_at} />
    </>
  );
}

function Deadline({ at }: { at: string }) {
  const { words } = useUi();
  return (
    <>
      <InstantText value={at} /> <span class="quiet">{words.approval.deadlineWhat}</span>
    </>
  );
}

function ApprovalResult({ view: { approval, state } }: { view: ApprovalView }) {
  const { words } = useUi();
  if (state === 'expired') return <Notice title={words.approval.expired}>{words.approval.expiredWhat}</Notice>;
  const hasWithdrawn = approval.decided_by_id === null && approval.decision_reason === 'withdrawn';
  return (
    <section class="outcome">
      <DefinitionList
        of={[
          [words.approval.decidedBy, <bdi>{approval.decided_by ?? words.approval.nobody}</bdi>],
          [words.approval.decidedAt, <InstantText value={approval.decided_at} />],
          [
            words.approval.decidedReason,
            <p class="typed-text" dir="auto">
              {hasWithdrawn ? words.approval.hasWithdrawn : (approval.decision_reason ?? words.approval.noReason)}
            </p>,
          ],
        ]}
      />
    </section>
  );
}

function Visits({ view, isStale }: { view: ApprovalView; isStale: boolean }) {
  const { words } = useUi();
  const { visits, removed, differs, approval } = view;
  return (
    <section>
      <h2 id="visits">{words.approval.visits}</h2>
      {!approval.regenerate_schedule && <p>{words.approval.noSchedule}</p>}
      {differs && !isStale && <Notice>{words.approval.sinceRequest}</Notice>}
      {removed.length > 0 && <p>{words.approval.removed(removed.join(', '))}</p>}
      {visits.length === 0 ? <p>{words.approval.noVisits}</p> : <VisitChanges visits={visits} />}
    </section>
  );
}

/** What approving does to the visits, in a line; the table below has each of them. */
function Effect({ view: { approval, visits, warnings } }: { view: ApprovalView }) {
  const { approval: texts } = useUi().words;
  if (!approval.regenerate_schedule) return <p class="effect">{texts.noSchedule}</p>;
  const counts = (['move', 'new', 'supersede', 'keep'] as const)
    .map((action) => [action, visits.filter((visit) => visit.action === action).length] as const)
    .filter(([, n]) => n > 0);
  return (
    <p class="effect">
      {counts.length === 0 ? (
        texts.noVisits
      ) : (
        <a href="#visits">{texts.effect(counts.map(([action, n]) => texts.counts[action](n)).join(', '))}</a>
      )}
      {warnings.length > 0 && (
        <>
          {' '}
          <a href="#warnings">{texts.warningCount(warnings.length)}</a>
        </>
      )}
    </p>
  );
}

function Decide({ view, decision }: { view: ApprovalView; decision: ApprovalDecision }) {
  const { words } = useUi();
  const action = `/console/approvals/${view.approval.id}`;
  return (
    <section class="card decide">
      <h2>{words.approval.decide}</h2>
      {view.impossible ? (
        <Notice kind="alert" title={words.approval.impossible}>
          {refusalText(words, view.impossible)}
        </Notice>
      ) : (
        <Effect view={view} />
      )}
      <Form action={action}>
        {/* The Enter key sends a form by its first button: here it decides nothing. */}
        <button disabled hidden />
        <input type="hidden" name="preview_hash" value={view.previewHash} />
        <input type="hidden" name="shown" value={seenOf(view.visits)} />
        <ReasonField
          label={words.approval.decisionReason}
          hint={words.approval.decisionReasonHint}
          error={decision.reasonError}
          value={decision.reason}
        />
        {view.asksAgain && <ProofField error={decision.proofError} />}
        <p class="buttons">
          <button class="primary" name="decision" value="approve" disabled={view.impossible !== undefined}>
            {words.approval.approve}
          </button>
          <button class="danger" name="decision" value="deny">
            {words.approval.deny}
          </button>
        </p>
      </Form>
    </section>
  );
}
