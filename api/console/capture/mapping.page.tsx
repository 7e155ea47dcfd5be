import type { DataFields, EventBattery } from '../../../db/capture/datacapture-configs.queries.js';
import type { ConfigWarning } from '../../capture/config-change.js';
import { EmptyState } from '../html/empty-state.js';
import { Notice } from '../html/form.js';
import { TranslatedText } from '../html/said.js';
import { DefinitionList, Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { StudyTabs } from '../studies/edit/study-tabs.js';
import type { MappingView } from './capture.service.js';

/** A study's mapping, with the names that the capture system does not know. */
export function MappingPage({
  view,
  warnings,
  isSaved = false,
}: {
  view: MappingView;
  warnings: ConfigWarning[] | undefined;
  isSaved?: boolean;
}) {
  const { capture, mapping: editing } = useUi().words;
  const { study, config, batteries } = view;
  return (
    <>
      <p class="crumbs">
        <a href={`/console/capture/${study.id}`}>{capture.toCapture}</a>
      </p>
      <h1>
        {capture.mappingTitle}: <bdi>{study.study_code}</bdi>
      </h1>
      <StudyTabs studyId={study.id} tab="mapping" />
      {isSaved && <Notice kind="good">{editing.saved}</Notice>}
      {!config ? (
        <EmptyState title={capture.none}>
          <a href={`/console/capture/${study.id}/connection`}>{editing.connectFirst}</a>
        </EmptyState>
      ) : (
        <>
          {warnings && <Warnings of={warnings} />}
          <p class="buttons">
            <a class="button" href={`/console/capture/${study.id}/mapping?check=1`}>
              {warnings ? capture.checkAgain : capture.mapping}
            </a>
            <a class="button" href={`/console/capture/${study.id}/mapping/edit`}>
              {editing.edit}
            </a>
          </p>
          <EventMappingSection mapping={config.event_battery_mapping} batteries={batteries} />
          <h2>{capture.fields}</h2>
          {Object.keys(config.participant_field_mapping).length === 0 ? (
            <p>{capture.noMapping}</p>
          ) : (
            <DefinitionList
              of={Object.entries(config.participant_field_mapping).map(
                ([field, meaning]) => [field, <bdi>{meaning}</bdi>] as const,
              )}
            />
          )}
          <h2>{capture.results}</h2>
          <Results of={config.data_field_mapping} />
        </>
      )}
    </>
  );
}

function Warnings({ of }: { of: ConfigWarning[] }) {
  const { capture } = useUi().words;
  if (of.length === 0) return <Notice kind="good">{capture.mappingOk}</Notice>;
  return (
    <Notice kind="alert" title={capture.mappingWarnings(of.length)}>
      <ul class="warnings">
        {of.map(({ code, path, message }) => (
          <li key={`${code} ${path} ${message}`}>
            {path && (
              <>
                <code>{path}</code>:{' '}
              </>
            )}
            <TranslatedText text={message} />
          </li>
        ))}
      </ul>
    </Notice>
  );
}

/** The capture system's events, with the battery and the days of each. */
export function EventMappingSection({
  mapping,
  batteries,
}: {
  mapping: Record<string, EventBattery>;
  batteries: Record<number, string>;
}) {
  const { capture } = useUi().words;
  const rows = Object.entries(mapping)
    .map(([event, entry]) => ({ event, ...entry }))
    .sort((a, b) => a.target_day - b.target_day);
  return (
    <section>
      <h2>{capture.events}</h2>
      {rows.length === 0 ? (
        <p>{capture.noMapping}</p>
      ) : (
        <Table<(typeof rows)[number]>
          caption={capture.eventsCaption(rows.length)}
          rows={rows}
          rowKey={({ event }) => event}
          columns={[
            { title: capture.event, head: true, cell: ({ event }) => <bdi>{event}</bdi> },
            { title: capture.battery, cell: ({ battery_id }) => <bdi>{batteries[battery_id] ?? battery_id}</bdi> },
            { title: capture.day, numeric: true, cell: ({ target_day }) => target_day },
            {
              title: capture.window,
              cell: ({ window_before, window_after }) => capture.windowDays(window_before, window_after),
            },
          ]}
        />
      )}
    </section>
  );
}

function Results({ of }: { of: Record<string, DataFields> }) {
  const { capture } = useUi().words;
  const rows = Object.entries(of).map(([task, entry]) => ({ task, ...entry }));
  if (rows.length === 0) return <p>{capture.noMapping}</p>;
  return (
    <Table<(typeof rows)[number]>
      caption={capture.resultsCaption(rows.length)}
      rows={rows}
      rowKey={({ task }) => task}
      columns={[
        { title: capture.task, head: true, cell: ({ task }) => task },
        { title: capture.instrument, cell: ({ datacapture_instrument }) => <bdi>{datacapture_instrument}</bdi> },
        {
          title: capture.resultFields,
          cell: ({ fields }) => (
            <div>
              {Object.entries(fields).map(([result, field]) => (
                <div key={result}>
                  {result} → <bdi>{field}</bdi>
                </div>
              ))}
            </div>
          ),
        },
      ]}
    />
  );
}
