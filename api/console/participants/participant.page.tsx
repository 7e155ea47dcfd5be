import type { ComponentChildren } from 'preact';
import { Notice } from '../html/form.js';
import { DefinitionList } from '../html/table.js';
import { useUi } from '../html/ui.js';
import type { ParticipantView } from './participant.service.js';
import { DateWithStatus, ZonedInstant, useAwaited } from './parts.js';

export const tabs = ['timeline', 'schedule', 'date', 'facts', 'sessions', 'messages', 'audit'] as const;
export type Tab = (typeof tabs)[number];
export const personPath = (id: string): string => `/console/participants/${id}`;
export const displayZoneOf = ({ record, row }: ParticipantView): string =>
  record.timezone ?? row.site_timezone ?? row.study.timezone;

/** A participant: identity, pending work, and one tab. */
export function ParticipantPage({
  person,
  tab,
  temporal,
  children,
}: {
  person: ParticipantView;
  tab: Tab;
  /** The address of the participant's workflow in the Temporal Web UI. */
  temporal?: string | undefined;
  children: ComponentChildren;
}) {
  const { words, user } = useUi();
  const { record, row } = person;
  const shown = tabs.filter((one) => one !== 'audit' || user?.role === 'admin');
  return (
    <article class="person">
      <p class="crumbs">
        <a href="/console/participants">{words.participant.back}</a>
      </p>
      <h1>
        <bdi>{record.participant_code}</bdi>{' '}
        <span class={`tag ${record.status}`}>{words.participant.statuses[record.status]}</span>
      </h1>
      <div class="head">
        <p>
          <small>{words.participant.date}</small>
          <DateWithStatus
            date={row.anchor.enrollment_date_value}
            status={row.anchor.status}
            overridden={row.anchor.is_override}
          />
        </p>
        <p>
          <small>{words.participant.study}</small>
          <a href={`/console/studies/${record.study_id}`}>
            <bdi>{row.study_code}</bdi>
          </a>
        </p>
        <p>
          <small>{words.participant.site}</small>
          <bdi>{record.site_code ?? words.participant.noSite}</bdi>
        </p>
        <Contact person={person} temporal={temporal} />
      </div>
      <WaitsFor person={person} />
      <nav class="tabs" aria-label={words.participant.tabsLabel}>
        <ul>
          {shown.map((one) => (
            <li key={one}>
              <a href={`${personPath(record.id)}?tab=${one}`} {...(one === tab && { 'aria-current': 'page' as const })}>
                {words.participant.tabs[one]}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <section class="tab" aria-label={words.participant.tabs[tab]}>
        {children}
      </section>
    </article>
  );
}

/** Contact data for a coordinator on the telephone. */
function Contact({ person, temporal }: { person: ParticipantView; temporal: string | undefined }) {
  const { words } = useUi();
  const { record } = person;
  const given: [string, ComponentChildren][] = [
    [
      words.participant.phone,
      record.phone && <a href={`tel:${record.phone.replace(/[^+\d]/g, '')}`}>{record.phone}</a>,
    ],
    [words.participant.email, record.email],
    [words.participant.language, record.preferred_language],
    [words.participant.zone, displayZoneOf(person)],
    [words.participant.externalId, record.external_id && <bdi>{record.external_id}</bdi>],
    [words.participant.arm, record.arm && <bdi>{record.arm}</bdi>],
    [
      words.participant.workflow,
      temporal && (
        <a href={temporal} rel="noreferrer">
          participant-anchor
        </a>
      ),
    ],
  ];
  return (
    <details class="contact">
      <summary>{words.participant.contact}</summary>
      <DefinitionList of={given.filter(([, value]) => value)} />
    </details>
  );
}

function WaitsFor({ person }: { person: ParticipantView }) {
  const { words } = useUi();
  const { waiting, record } = person;
  const what = useAwaited(waiting);
  const zone = displayZoneOf(person);
  if (waiting.closed) return <Notice>{words.participant.closed}</Notice>;
  const faults = waiting.rule_errors;
  return (
    <>
      {what === undefined ? (
        <p class="waits quiet">{words.participant.waitsForNothing}.</p>
      ) : (
        <Notice>
          <strong>{words.participant.waitsFor(what)}</strong> {words.participant.waitsSince}{' '}
          <ZonedInstant value={waiting.since} zone={zone} /> ({zone}). <Next person={person} />
        </Notice>
      )}
      {faults.length > 0 && (
        <Notice kind="alert" title={words.participant.ruleErrors}>
          {faults.map(({ message }) => message).join('; ')}{' '}
          <a href={`/console/studies/${record.study_id}`}>{words.participant.study}</a>
        </Notice>
      )}
    </>
  );
}

/** The link to the next step that the reader may take; without one, to the tab that shows what is missing. */
function Next({ person: { waiting, record, may } }: { person: ParticipantView }) {
  const { words } = useUi();
  const { next, anchor, tabs: names } = words.participant;
  if (waiting.request_id) return <a href={`/console/approvals/${waiting.request_id}`}>{next.approval}</a>;
  const known: Record<string, { tab: Tab; step: string; mayTake: boolean } | undefined> = {
    date: { tab: 'date', step: next.date, mayTake: may.set },
    evaluation: { tab: 'date', step: anchor.evaluate, mayTake: may.evaluate },
    consent: { tab: 'facts', step: next.facts, mayTake: may.consent },
    eligibility: { tab: 'facts', step: next.facts, mayTake: may.eligibility },
  };
  const steps = waiting.waiting_for.flatMap((one) => known[one] ?? []);
  const shown = steps.find(({ mayTake }) => mayTake) ?? steps[0];
  if (!shown) return null;
  const { tab, step, mayTake } = shown;
  return <a href={`${personPath(record.id)}?tab=${tab}`}>{mayTake ? step : names[tab]}</a>;
}
