import type { ComponentChildren } from 'preact';
import { TASKS, taskNames } from '../../../workflows/domain/assessment/tasks.js';
import { participantFields } from '../../../workflows/domain/capture/participant.js';
import type { Difference } from '../../assessment/batteries/authoring-diff.js';
import type { ConfigWarning } from '../../capture/config-change.js';
import type { FaultEntry, Problem } from '../../http/errors.js';
import { EmptyState } from '../html/empty-state.js';
import { Field, Form, Notice, RefusalNotice } from '../html/form.js';
import { entryText } from '../html/refusal.js';
import { Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { EditRefusal } from '../studies/edit/edit-form.js';
import { StudyHead } from '../studies/edit/study-tabs.js';
import { eventColumns, resultColumns } from './mapping-form.js';
import type { MappingEventRow, MappingDraft, MappingRows, MappingResultRow } from './mapping-form.js';
import type { MappingView } from './capture.service.js';

/** The content of a mapping form, and its faults. */
export interface MappingEdit {
  rows: MappingRows;
  /** As JSON, if it was edited as JSON. */
  json?: string;
  version: string;
  seen: Required<MappingDraft>;
  fault?: Problem | undefined;
  /** Changes by other users since, by path. */
  changed?: readonly Difference[] | undefined;
  /** Names unknown to the capture system; empty: the check found none. */
  warnings?: readonly ConfigWarning[] | undefined;
  /** Empty rows after the filled ones. */
  more: number;
}

/** The mapping form: rows to fill in, and the whole as JSON. */
export function MappingEditPage({
  view: { study, config, batteries },
  edit,
  stored,
  fault,
}: {
  view: MappingView;
  edit: MappingEdit | undefined;
  stored: Required<MappingDraft> | undefined;
  /** A refusal to show above the page if there is no form to show it in. */
  fault?: Problem | undefined;
}) {
  const { words } = useUi();
  const { mapping: texts, capture } = words;
  return (
    <>
      <StudyHead study={study} tab="mapping">
        {texts.title}
      </StudyHead>
      {!config || !edit || !stored ? (
        <>
          {fault && <RefusalNotice fault={fault} />}
          <EmptyState title={capture.none}>
            <a href={`/console/capture/${study.id}/connection`}>{texts.connectFirst}</a>
          </EmptyState>
        </>
      ) : (
        <>
          <Said edit={edit} />
          <Form action={`/console/capture/${study.id}/mapping/edit`} class="mapping-form">
            <Drawn edit={edit} />
            <Enrollment edit={edit} />
            <Participants edit={edit} />
            <Events edit={edit} batteries={batteries} />
            <Results edit={edit} />
            <Doing />
          </Form>
          <details open={edit.json !== undefined}>
            <summary>{texts.asJson}</summary>
            <Form action={`/console/capture/${study.id}/mapping/edit`} class="policy-editor">
              <Drawn edit={edit} />
              <Field
                name="json"
                label={texts.json}
                hint={texts.jsonHint}
                value={edit.json ?? JSON.stringify(stored, null, 2)}
                error={edit.fault?.options.errors?.some(({ path }) => path === 'json') ? texts.noJson : undefined}
                multiline
                required
              />
              <Doing />
            </Form>
          </details>
        </>
      )}
    </>
  );
}

function Drawn({ edit: { version, seen } }: { edit: MappingEdit }) {
  return (
    <>
      <input type="hidden" name="version" value={version} />
      <input type="hidden" name="seen" value={JSON.stringify(seen)} />
    </>
  );
}

function Doing() {
  const { words } = useUi();
  return (
    <>
      <label class="check">
        <input type="checkbox" name="anyway" value="1" /> {words.mapping.anyway}
      </label>
      <p class="buttons">
        <button name="do" value="check">
          {words.mapping.check}
        </button>
        <button class="primary" name="do" value="save">
          {words.studies.save}
        </button>
      </p>
    </>
  );
}

/** All faults as a list, also those without a row. */
function Said({ edit: { fault, warnings, changed = [] } }: { edit: MappingEdit }) {
  const { words } = useUi();
  const { mapping: texts } = words;
  if (fault?.code === 'STALE') {
    const text = (value: unknown) => (value === null ? '' : JSON.stringify(value));
    const told = changed.map(({ path, from, to }) => ({ name: path, from: text(from), to: text(to) }));
    return <EditRefusal edit={{ values: {}, seen: {}, version: '', changed: told, fault }} labels={{}} />;
  }
  if (warnings?.length === 0) return <Notice kind="good">{texts.fits}</Notice>;
  const found: readonly (FaultEntry | ConfigWarning)[] = warnings ?? fault?.options.errors ?? [];
  if (found.length === 0) return fault ? <RefusalNotice fault={fault} /> : null;
  const title = warnings || fault?.code === 'UNKNOWN_NAMES' ? texts.unknown(found.length) : words.edit.refused;
  return (
    <Notice kind="alert" title={title}>
      <ul class="warnings">
        {found.slice(0, 50).map((entry) => (
          <li key={`${entry.code} ${entry.path}`}>
            {entry.path && <code>{entry.path}</code>} <FaultText of={entry} />
          </li>
        ))}
      </ul>
    </Notice>
  );
}

function FaultText({ of }: { of: FaultEntry | ConfigWarning }) {
  const { words } = useUi();
  const known = words.mapping.faults[of.code];
  if (known) return <>{known}</>;
  const { path: _path, ...entry } = of;
  return words.problems.rules[of.code] ? (
    <>{entryText(words.problems, entry)}</>
  ) : (
    <span lang="en" dir="auto">
      {of.message}
    </span>
  );
}

/** The faults of one row, below its first field. */
function RowFaults({ edit, paths }: { edit: MappingEdit; paths: readonly string[] }) {
  const found: readonly (FaultEntry | ConfigWarning)[] = edit.warnings ?? edit.fault?.options.errors ?? [];
  const own = found.filter(
    ({ path }) => path !== undefined && paths.some((one) => path === one || path.startsWith(`${one}.`)),
  );
  return (
    <>
      {own.map((entry) => (
        <p key={`${entry.code} ${entry.path}`} class="error">
          <FaultText of={entry} />
        </p>
      ))}
    </>
  );
}

function Cell({
  name,
  label,
  value,
  number = false,
  list,
}: {
  name: string;
  label: string;
  value: string;
  number?: boolean;
  list?: string;
}) {
  // JSX has a type for each input type; this is a text with or without suggestions.
  const more: Record<string, unknown> = number
    ? { inputMode: 'numeric', maxlength: 8, class: 'number' }
    : { maxlength: 200, ...(list && { list }) };
  return <input name={name} aria-label={label} value={value} autocomplete="off" {...more} />;
}

function Enrollment({ edit }: { edit: MappingEdit }) {
  const { words } = useUi();
  const { mapping: texts } = words;
  return (
    <section>
      <h2>{texts.enrollment}</h2>
      <p class="quiet">{texts.enrollmentWhat}</p>
      {(['enrollment_instrument', 'enrollment_event'] as const).map((name) => (
        <div class="field" key={name}>
          <label for={`field-${name}`}>{texts[name]}</label>
          <RowFaults edit={edit} paths={[name]} />
          <input id={`field-${name}`} name={name} value={edit.rows[name]} maxlength={4_000} autocomplete="off" />
        </div>
      ))}
    </section>
  );
}

function Participants({ edit }: { edit: MappingEdit }) {
  const { words } = useUi();
  const { mapping: texts } = words;
  const others = Object.keys(edit.rows.participant).filter((name) => !(name in texts.fields));
  return (
    <section>
      <h2>{texts.participants}</h2>
      <p class="quiet">{texts.participantsWhat}</p>
      <Table<string>
        caption={texts.participantsCaption}
        rows={participantFields}
        rowKey={(name) => name}
        columns={[
          { title: texts.ours, head: true, cell: (name) => texts.fields[name as keyof typeof texts.fields] },
          {
            title: texts.theirs,
            cell: (name) => (
              <>
                <Cell
                  name={`participant.${name}`}
                  label={texts.fieldFor(texts.fields[name as keyof typeof texts.fields])}
                  value={edit.rows.participant[name] ?? ''}
                />
                <RowFaults edit={edit} paths={[`participant_field_mapping.${name}`]} />
              </>
            ),
          },
        ]}
      />
      {others.length > 0 && <p class="quiet after-table">{texts.others(others.join(', '))}</p>}
    </section>
  );
}

/** Rows followed by empty ones. */
const withEmpty = <Column extends string>(
  rows: readonly Record<Column, string>[],
  columns: readonly Column[],
  more: number,
  start: Partial<Record<Column, string>> = {},
) =>
  [
    ...rows,
    ...Array.from(
      { length: more },
      () => ({ ...Object.fromEntries(columns.map((column) => [column, ''])), ...start }) as Record<Column, string>,
    ),
  ].map((row, index) => ({ row, at: index }));

function Events({ edit, batteries }: { edit: MappingEdit; batteries: Record<number, string> }) {
  const { words } = useUi();
  const { mapping: texts, capture } = words;
  type Placed = { row: MappingEventRow; at: number };
  const number = (column: 'day' | 'before' | 'after', title: string) => ({
    title,
    cell: ({ row, at }: Placed): ComponentChildren => (
      <Cell name={`${column}.${at}`} label={`${title}, ${texts.row(at + 1)}`} value={row[column]} number />
    ),
  });
  return (
    <section>
      <h2>{capture.events}</h2>
      <p class="quiet">{texts.eventsWhat}</p>
      <Table<Placed>
        caption={texts.eventsCaption}
        rows={withEmpty(edit.rows.events, eventColumns, edit.more, { before: '0', after: '7' })}
        rowKey={({ at }) => String(at)}
        columns={[
          {
            title: capture.event,
            head: true,
            cell: ({ row, at }) => (
              <>
                <Cell name={`event.${at}`} label={`${capture.event}, ${texts.row(at + 1)}`} value={row.event} />
                <RowFaults edit={edit} paths={[`event.${at}`, `event_battery_mapping.${row.event}`]} />
              </>
            ),
          },
          {
            title: capture.battery,
            cell: ({ row, at }) => (
              <select name={`battery.${at}`} aria-label={`${capture.battery}, ${texts.row(at + 1)}`}>
                <option value="">–</option>
                {Object.entries<string>({ ...(row.battery && { [row.battery]: row.battery }), ...batteries }).map(
                  ([id, name]) => (
                    <option key={id} value={id} selected={id === row.battery}>
                      {name}
                    </option>
                  ),
                )}
              </select>
            ),
          },
          number('day', capture.day),
          number('before', words.studies.before),
          number('after', words.studies.after),
        ]}
      />
      <More />
    </section>
  );
}

function More() {
  const { words } = useUi();
  return (
    <p class="after-table">
      <button name="do" value="more">
        {words.mapping.more}
      </button>
    </p>
  );
}

function Results({ edit }: { edit: MappingEdit }) {
  const { words } = useUi();
  const { mapping: texts, capture } = words;
  const metrics = [...new Set(taskNames.flatMap((task) => TASKS[task].metrics as readonly string[]))].sort();
  return (
    <section>
      <h2>{capture.results}</h2>
      <p class="quiet">{texts.resultsWhat}</p>
      <datalist id="metrics">
        {metrics.map((metric) => (
          <option key={metric} value={metric} />
        ))}
      </datalist>
      <Table<{ row: MappingResultRow; at: number }>
        caption={texts.resultsCaption}
        rows={withEmpty(edit.rows.results, resultColumns, edit.more)}
        rowKey={({ at }) => String(at)}
        columns={[
          {
            title: capture.task,
            head: true,
            cell: ({ row, at }) => (
              <>
                <select name={`task.${at}`} aria-label={`${capture.task}, ${texts.row(at + 1)}`}>
                  {['', ...new Set<string>([row.task, ...taskNames].filter((one) => one !== ''))].map((task) => (
                    <option key={task} value={task} selected={task === row.task}>
                      {task === '' ? '–' : task}
                    </option>
                  ))}
                </select>
                <RowFaults
                  edit={edit}
                  paths={[
                    `task.${at}`,
                    `form.${at}`,
                    `metric.${at}`,
                    `field.${at}`,
                    `data_field_mapping.${row.task}.datacapture_instrument`,
                    `data_field_mapping.${row.task}.fields.${row.metric}`,
                  ]}
                />
              </>
            ),
          },
          ...(
            [
              ['form', capture.instrument, undefined],
              ['metric', texts.metric, 'metrics'],
              ['field', texts.theirs, undefined],
            ] as const
          ).map(([column, title, list]) => ({
            title,
            cell: ({ row, at }: { row: MappingResultRow; at: number }) => (
              <Cell
                name={`${column}.${at}`}
                label={`${title}, ${texts.row(at + 1)}`}
                value={row[column]}
                {...(list && { list })}
              />
            ),
          })),
        ]}
      />
      <More />
    </section>
  );
}
