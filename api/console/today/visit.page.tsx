import type { ComponentChildren } from 'preact';
import type { ByHandRow } from '../../../db/notifications/by-hand.queries.js';
import type { VisitRecord } from '../../../db/scheduling/visits.queries.js';
import type { ByHand } from '../../../workflows/domain/notifications/by-hand.js';
import { reasonInWords } from '../../../workflows/domain/notifications/explain.js';
import { ZonedInstant } from '../participants/parts.js';
import { CalendarDate } from '../html/date.js';
import { Field, Form, Notice } from '../html/form.js';
import { versionOf } from '../routing/form-version.js';
import { Typed } from '../html/problem.js';
import { ReasonField } from '../html/reason-field.js';
import { TranslatedText } from '../html/said.js';
import { DefinitionList } from '../html/table.js';
import { useUi } from '../html/ui.js';
import type { Words } from '../words/words.js';

export interface VisitView {
  visit: VisitRecord;
  study_code: string;
  zone: string;
  withdrawn: boolean;
  reminder: {
    last: ByHandRow['last'];
    next: ByHandRow['next'];
    /** The preview of a reminder by hand. */
    now: ByHand;
    /** The participant's time zone. */
    zone: string;
  };
  mayChange: boolean;
  /** It is done or cancelled, and can be made undone. */
  mayReopen: boolean;
}
/** The typed fields of a refused change. */
export interface VisitAnswer {
  given?: Record<string, string>;
  stale?: boolean;
  refused?: string;
  /** By field name. */
  errors?: Record<string, string>;
}

/** One visit, with actions. */
export function VisitPage({
  view,
  done,
  answer = {},
}: {
  view: VisitView;
  done?: string | undefined;
  answer?: VisitAnswer;
}) {
  const { words } = useUi();
  const { one } = words.today;
  const { visit, mayChange, withdrawn } = view;
  const isOver = visit.status === 'completed' || visit.status === 'cancelled' || visit.status === 'superseded';
  const told = done && words.today.done[done];
  return (
    <article>
      <p class="crumbs">
        <a href="/console/today">{words.today.back}</a>
      </p>
      <h1>
        <bdi>{visit.name}</bdi> <span class={`tag ${visit.status}`}>{one.statuses[visit.status] ?? visit.status}</span>
      </h1>
      {told && <Notice kind="good">{told}</Notice>}
      {answer.stale && (
        <Notice kind="alert" title={one.stale}>
          {one.staleWhat}
        </Notice>
      )}
      {answer.refused && <Notice kind="alert">{answer.refused}</Notice>}
      {(isOver || withdrawn) && <Typed typed={typedIn(answer, one, view)} />}
      <VisitFacts view={view} />
      {isOver ? (
        <>
          <Notice>{one.closed}</Notice>
          {view.mayReopen && <Reopen view={view} answer={answer} />}
        </>
      ) : withdrawn ? (
        <Notice>{one.withdrawn}</Notice>
      ) : mayChange ? (
        <div class="cards-row">
          <Complete view={view} answer={answer} />
          <Move view={view} answer={answer} />
          <Cancel view={view} answer={answer} />
          <Message view={view} />
        </div>
      ) : (
        <Notice>{one.notAllowed}</Notice>
      )}
    </article>
  );
}

/** The typed fields of a form that the page does not have any more, by their labels. */
const typedIn = (
  { given = {} }: VisitAnswer,
  { complete, move, cancel, reopen }: Words['today']['one'],
  { mayReopen }: VisitView,
): [string, string][] => [
  [complete.day, given.done_on ?? ''],
  [move.target, given.target_date ?? ''],
  [move.open, given.window_open ?? ''],
  [move.close, given.window_close ?? ''],
  [cancel.reason, given.reason ?? ''],
  [reopen.title, mayReopen ? '' : (given.reopen_reason ?? '')],
];

function VisitFacts({ view: { visit, study_code, zone } }: { view: VisitView }) {
  const { words } = useUi();
  const { today } = words;
  return (
    <DefinitionList
      of={[
        [
          words.inbox.participant,
          <a href={`/console/participants/${visit.participant_id}`}>
            <bdi>{visit.participant_code}</bdi>
          </a>,
        ],
        [words.inbox.study, <bdi>{study_code}</bdi>],
        [words.inbox.site, visit.site_code ? <bdi>{visit.site_code}</bdi> : '–'],
        [today.target, <CalendarDate value={visit.target_date} />],
        [
          today.window,
          <>
            <CalendarDate value={visit.window_open} /> {today.to} <CalendarDate value={visit.window_close} />
          </>,
        ],
        [today.one.zone, zone],
        ...(visit.completed_at
          ? ([[today.one.completedAt, <ZonedInstant value={visit.completed_at} zone={zone} />]] as const)
          : []),
      ]}
    />
  );
}

/** One action, as a form. */
function Job({
  view: { visit },
  title,
  action,
  version,
  children,
}: {
  view: VisitView;
  title: string;
  action: string;
  /** Of the visit as the page first showed it, if a refused form is shown again. */
  version?: string | undefined;
  children: ComponentChildren;
}) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <Form action={`/console/visits/${visit.id}/${action}`}>
        <input type="hidden" name="version" value={version ?? versionOf(visit)} />
        {children}
      </Form>
    </section>
  );
}

function Complete({ view, answer: { given = {}, errors = {} } }: { view: VisitView; answer: VisitAnswer }) {
  const { complete } = useUi().words.today.one;
  return (
    <Job view={view} title={complete.title} action="complete">
      <Field
        name="done_on"
        type="date"
        label={complete.day}
        hint={complete.dayHint}
        error={errors.done_on}
        value={given.done_on}
      />
      <p class="buttons">
        <button class="primary">{complete.submit}</button>
      </p>
    </Job>
  );
}

/** The days of a visit, for the form that moves it. */
export const daysOf = ({ target_date, window_open, window_close }: VisitRecord): string =>
  JSON.stringify({ target_date, window_open, window_close });

function Move({ view, answer: { given = {}, errors = {} } }: { view: VisitView; answer: VisitAnswer }) {
  const { move } = useUi().words.today.one;
  const { visit } = view;
  const day = (name: 'target_date' | 'window_open' | 'window_close', label: string, hint?: string) => (
    <Field
      name={name}
      type="date"
      required
      label={label}
      hint={hint}
      error={errors[name]}
      value={given[name] ?? visit[name]}
    />
  );
  return (
    <Job view={view} title={move.title} action="move" version={given.version}>
      <input type="hidden" name="seen" value={given.seen ?? daysOf(visit)} />
      {day('target_date', move.target, move.hint)}
      {day('window_open', move.open)}
      {day('window_close', move.close)}
      <p class="buttons">
        <button>{move.submit}</button>
      </p>
    </Job>
  );
}

function Cancel({ view, answer: { given = {}, errors = {} } }: { view: VisitView; answer: VisitAnswer }) {
  const { cancel } = useUi().words.today.one;
  return (
    <Job view={view} title={cancel.title} action="cancel">
      <ReasonField label={cancel.reason} hint={cancel.reasonHint} error={errors.reason} value={given.reason} />
      <p class="buttons">
        <button class="danger">{cancel.submit}</button>
      </p>
    </Job>
  );
}

/** For a wrong button: what was completed or cancelled by mistake. */
function Reopen({ view, answer: { given = {}, errors = {} } }: { view: VisitView; answer: VisitAnswer }) {
  const { cancel, reopen } = useUi().words.today.one;
  return (
    <Job view={view} title={reopen.title} action="reopen">
      <p class="quiet">{reopen.what}</p>
      <ReasonField
        name="reopen_reason"
        label={cancel.reason}
        hint={reopen.reasonHint}
        error={errors.reopen_reason}
        value={given.reopen_reason}
      />
      <p class="buttons">
        <button>{reopen.submit}</button>
      </p>
    </Job>
  );
}

function Message({ view }: { view: VisitView }) {
  const { words } = useUi();
  const { message } = words.today.one;
  const { reminder } = view;
  return (
    <Job view={view} title={message.title} action="message">
      <h3>{message.remind}</h3>
      <WhatIsSent of={reminder} />
      <p class="buttons">
        <button name="send" value="reminder" disabled={reminder.now.what !== 'send'}>
          {message.remindNow}
        </button>
      </p>
      <h3>{message.link}</h3>
      <p class="quiet">{message.linkHint}</p>
      <p class="buttons">
        <button name="send" value="email">
          {message.email}
        </button>
        <button name="send" value="sms">
          {message.sms}
        </button>
      </p>
    </Job>
  );
}

/** The channel of a reminder now, or why none is sent; the last and the next one. */
function WhatIsSent({ of: { now, last, next, zone } }: { of: VisitView['reminder'] }) {
  const { words } = useUi();
  const { message } = words.today.one;
  const by = words.participant.messages.channels;
  return (
    <>
      <p>
        {now.what === 'send' && message.goes(by[now.channel]!)}
        {now.what === 'wait' && (
          <>
            {message.quiet} <ZonedInstant value={now.until} zone={zone} /> ({zone}).
          </>
        )}
        {now.what === 'not' && (
          <>
            {message.not(now.channel ? by[now.channel] : undefined)} <TranslatedText text={reasonInWords(now.reason)} />
            .
          </>
        )}
      </p>
      <p class="quiet">
        {last ? (
          <>
            {message.lastSent(by[last.channel]!)} <ZonedInstant value={last.sent_at} zone={zone} />.
          </>
        ) : (
          message.noneSent
        )}{' '}
        {next && (
          <>
            {message.nextPlanned(by[next.channel]!)} <ZonedInstant value={next.due_at} zone={zone} />.
          </>
        )}
      </p>
    </>
  );
}
