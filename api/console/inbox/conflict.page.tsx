import type { ConflictHead } from '../../../db/assessment/offline-conflicts.queries.js';
import type { ConflictOutline } from '../../../db/assessment/offline-conflicts-results.queries.js';
import { InstantText } from '../html/date.js';
import { Form, Notice } from '../html/form.js';
import { ReasonField } from '../html/reason-field.js';
import { DefinitionList, Table } from '../html/table.js';
import { useUi } from '../html/ui.js';

/** The typed fields of a refused resolution. */
export interface ConflictAnswer {
  keep?: string;
  reason?: string;
  keepError?: string;
  reasonError?: string;
  refused?: string;
}
export interface ConflictView {
  conflict: ConflictHead;
  outline: ConflictOutline;
  participant_code: string;
}
const KEEPS = ['server', 'local', 'both'] as const;

/** Both sides of a conflict, and the choice between them. */
export function ConflictPage({ view, answer = {} }: { view: ConflictView; answer?: ConflictAnswer }) {
  const { words } = useUi();
  const { resolve } = words.inbox;
  const { conflict, outline, participant_code } = view;
  return (
    <article>
      <p class="crumbs">
        <a href="/console/inbox">{words.inbox.back}</a>
      </p>
      <h1>{resolve.title}</h1>
      {answer.refused && <Notice kind="alert">{answer.refused}</Notice>}
      <p>{words.inbox.conflicts[conflict.conflict_type] ?? conflict.message}</p>
      <DefinitionList
        of={[
          [
            words.inbox.participant,
            <a href={`/console/participants/${conflict.participant_id}`}>
              <bdi>{participant_code}</bdi>
            </a>,
          ],
          [words.inbox.item, <bdi>{words.inbox.conflict(conflict.task)}</bdi>],
          [resolve.detected, <InstantText value={conflict.detected_at} />],
        ]}
      />
      <Sides outline={outline} />
      {conflict.status === 'open' ? <Resolve conflict={conflict} answer={answer} /> : <Resolved conflict={conflict} />}
    </article>
  );
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/;
const MAX_LETTERS = 200;

function Sides({ outline: { fields, total, trials } }: { outline: ConflictOutline }) {
  const { words } = useUi();
  const { resolve } = words.inbox;
  const side = (value: string | null) => {
    if (value === null) return <em>{resolve.nothing}</em>;
    if (INSTANT.test(value)) return <InstantText value={value} seconds />;
    const shown = value.length > MAX_LETTERS ? `${value.slice(0, MAX_LETTERS)}…` : value;
    return <bdi>{resolve.values[value] ?? shown}</bdi>;
  };
  const table = (
    <Table
      caption={resolve.compare}
      rows={fields}
      rowKey={({ field }) => field}
      rowClass={({ differs }) => (differs ? 'changed' : undefined)}
      columns={[
        {
          title: resolve.field,
          head: true,
          cell: ({ field, differs }) => (
            <>
              <bdi title={field}>{resolve.fields[field] ?? field}</bdi> {differs && <mark>{resolve.differs}</mark>}
            </>
          ),
        },
        { title: resolve.device, cell: (line) => side(line.local) },
        { title: resolve.server, cell: (line) => side(line.server) },
      ]}
    />
  );
  return (
    <>
      {table}
      {total > fields.length && <p>{resolve.more(total - fields.length)}</p>}
      {trials && <p>{resolve.trials(trials)}</p>}
    </>
  );
}

function Resolve({ conflict, answer }: { conflict: ConflictHead; answer: ConflictAnswer }) {
  const { words } = useUi();
  const { resolve } = words.inbox;
  return (
    <section class="card decide">
      <Form action={`/console/inbox/conflicts/${conflict.id}`}>
        <fieldset class="options" {...(answer.keepError && { 'aria-describedby': 'keep-error' })}>
          <legend>{resolve.keep}</legend>
          {answer.keepError && (
            <p class="error" id="keep-error">
              {answer.keepError}
            </p>
          )}
          {KEEPS.map((keep) => (
            <label key={keep} class="check">
              <input type="radio" name="keep" value={keep} required checked={answer.keep === keep} />{' '}
              {resolve.keeps[keep]}
            </label>
          ))}
        </fieldset>
        <ReasonField
          label={resolve.reason}
          hint={resolve.reasonHint}
          error={answer.reasonError}
          value={answer.reason}
        />
        <p class="buttons">
          <button class="primary">{resolve.submit}</button>
        </p>
      </Form>
    </section>
  );
}

function Resolved({ conflict: { keep, reason, resolved_at } }: { conflict: ConflictHead }) {
  const { words } = useUi();
  const { resolve } = words.inbox;
  return (
    <section>
      <h2>{resolve.resolved}</h2>
      <DefinitionList
        of={[
          [resolve.keep, keep ? resolve.keeps[keep] : '–'],
          [
            resolve.reason,
            <p class="typed-text" dir="auto">
              {reason}
            </p>,
          ],
          [resolve.resolved, <InstantText value={resolved_at} />],
        ]}
      />
    </section>
  );
}
