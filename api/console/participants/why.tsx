import type { ComponentChildren } from 'preact';
import { CalendarDate } from '../html/date.js';
import { dateText } from '../html/dates.js';
import { TranslatedText } from '../html/said.js';
import { DefinitionList, Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import type { Facts } from '../../../workflows/domain/util/types.js';
import type { Why } from './participant.service.js';
import { ZonedInstant } from './parts.js';

/** The explanation of a date: sources, rules, facts, and the policy version. */
export function WhyDate({ why, zone }: { why: Why; zone: string }) {
  const { words, language } = useUi();
  const { anchor } = words.participant;
  const { entry, trace, policyVersion } = why;
  const named = entry?.enrollment_date_value
    ? dateText(language, entry.enrollment_date_value)
    : words.participant.noDate;
  return (
    <section class="explanation" id="why">
      <h2>{entry ? anchor.whyTitle(anchor.events[entry.event_type] ?? entry.event_type, named) : anchor.nowTitle}</h2>
      <p class="quiet">{anchor.policyVersion(policyVersion)}</p>
      {trace.sources.length === 0 ? (
        <p>{anchor.sourcesNone}</p>
      ) : (
        <Table
          caption={anchor.sources}
          rows={trace.sources}
          rowKey={({ type, priority }) => `${type} ${priority}`}
          rowClass={({ outcome }) => (outcome === 'chosen' ? 'chosen' : undefined)}
          columns={[
            { title: anchor.source, head: true, cell: ({ type }) => <>{anchor.sourceNames[type] ?? type}</> },
            {
              title: anchor.outcome,
              cell: ({ outcome, reason }) => (
                <>
                  <span class={`tag ${outcome}`}>{anchor.outcomes[outcome]}</span>{' '}
                  {reason && <TranslatedText text={reason} />}
                </>
              ),
            },
            { title: anchor.value, cell: ({ date }) => <CalendarDate value={date} /> },
          ]}
        />
      )}
      <Rules why={why} />
      <h3>{anchor.facts}</h3>
      <Known facts={why.facts} zone={zone} />
    </section>
  );
}

function Rules({ why: { trace, facts } }: { why: Why }) {
  const { words } = useUi();
  const { anchor } = words.participant;
  // A study that keeps consents elsewhere has none to show here, and the rule holds all the same.
  const elsewhere = facts.study.consent_mode !== 'econsent';
  const rules = [
    ...trace.validation.map(({ rule, passed }) => ({ name: rule, ok: passed, said: passed ? anchor.yes : anchor.no })),
    ...trace.prerequisites.map(({ name, met }) => ({
      name,
      ok: met,
      said: name === 'consent' && elsewhere ? anchor.metElsewhere : met ? anchor.met : anchor.missing,
    })),
  ];
  if (rules.length === 0) return null;
  return (
    <Table
      caption={anchor.rules}
      rows={rules}
      rowKey={({ name }) => name}
      columns={[
        { title: anchor.rule, head: true, cell: ({ name }) => <bdi>{anchor.ruleNames[name] ?? name}</bdi> },
        { title: anchor.passed, cell: ({ ok, said }) => <span class={`tag ${ok ? 'good' : 'bad'}`}>{said}</span> },
      ]}
    />
  );
}

/** The facts of the decision: only those that the policy reads. */
function Known({ facts, zone }: { facts: Facts; zone: string }) {
  const { words } = useUi();
  const { anchor } = words.participant;
  const names = anchor.factNames;
  const given: [string, ComponentChildren][] = [
    [names.today!, <CalendarDate value={facts.today} />],
    ...facts.consents
      .filter(({ signed_at }) => signed_at)
      .map(({ signed_at }): [string, ComponentChildren] => [
        names.consent!,
        <ZonedInstant value={signed_at} zone={zone} />,
      ]),
  ];
  if (facts.eligibility)
    given.push([
      names.eligibility!,
      words.participant.facts.eligibilities[facts.eligibility.status] ?? facts.eligibility.status,
    ]);
  if (facts.randomization)
    given.push([names.randomization!, <ZonedInstant value={facts.randomization.randomized_at} zone={zone} />]);
  if (facts.manual) given.push([names.manual!, <CalendarDate value={facts.manual.enrollment_date} />]);
  for (const { completed_at } of facts.baseline)
    if (completed_at) given.push([names.baseline!, <ZonedInstant value={completed_at} zone={zone} />]);
  if (facts.study.start_date) given.push([names.start!, <CalendarDate value={facts.study.start_date} />]);
  for (const form of facts.forms)
    for (const [item, value] of Object.entries(form.items))
      given.push([
        `${form.form_oid} / ${item}`,
        <span dir="auto">{typeof value === 'string' ? value : JSON.stringify(value)}</span>,
      ]);
  return <DefinitionList of={given} />;
}
