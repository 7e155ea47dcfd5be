import type { ConflictRecord } from '../../../db/assessment/offline-conflicts.queries.js';
import { InstantText } from '../html/date.js';
import { Field, Form, Notice } from '../html/form.js';
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
  conflict: ConflictRecord;
  participant_code: string;
}
const KEEPS = ['server', 'local', 'both'] as const;
const MAX_ROWS = 60;

/** Both sides of a conflict, and the choice between them. */
export function ConflictPage({ view, answer = {} }: { view: ConflictView; answer?: ConflictAnswer }) {
  const { words } = useUi();
  const { resolve } = words.inbox;
  const { conflict, participant_code } = view;
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
      <Sides conflict={conflict} />
      {conflict.status === 'open' ? <Resolve conflict={conflict} answer={answer} /> : <Resolved conflict={conflict} />}
    </article>
  );
}

interface Line {
  field: string;
  local: string | undefined;
  server: string | undefined;
}
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/;
const NOT_SHOWN = new Set(['participantId', 'studyId', 'participant_id', 'study_id']);

function textOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (Array.isArray(value)) return `[${value.length}]`;
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
/** The fields of a side, those of nested objects such as a summary's metrics one by one. */
function fieldsOf(side: Record<string, unknown> | null): Map<string, string | undefined> {
  const found = new Map<string, string | undefined>();
  for (const [name, value] of Object.entries(side ?? {})) {
    if (NOT_SHOWN.has(name)) continue;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) found.set(name, textOf(value));
    else for (const [inner, one] of Object.entries(value)) found.set(`${name}.${inner}`, textOf(one));
  }
  return found;
}

function Sides({ conflict: { local_content, server_content } }: { conflict: ConflictRecord }) {
  const { words } = useUi();
  const { resolve } = words.inbox;
  const [local, server] = [fieldsOf(local_content), fieldsOf(server_content)];
  const lines: Line[] = [...new Set([...local.keys(), ...server.keys()])]
    .map((field) => ({ field, local: local.get(field), server: server.get(field) }))
    .filter((line) => line.local !== undefined || line.server !== undefined)
    .slice(0, MAX_ROWS);
  const side = (value: string | undefined) => {
    if (value === undefined) return <em>{resolve.nothing}</em>;
    return INSTANT.test(value) ? <InstantText value={value} seconds /> : <bdi>{resolve.values[value] ?? value}</bdi>;
  };
  return (
    <Table
      caption={resolve.compare}
      rows={lines}
      rowKey={({ field }) => field}
      rowClass={(line) => (line.local === line.server ? undefined : 'changed')}
      columns={[
        {
          title: resolve.field,
          head: true,
          cell: ({ field, ...line }) => (
            <>
              <bdi title={field}>{resolve.fields[field] ?? field}</bdi>{' '}
              {line.local !== line.server && <mark>{resolve.differs}</mark>}
            </>
          ),
        },
        { title: resolve.device, cell: (line) => side(line.local) },
        { title: resolve.server, cell: (line) => side(line.server) },
      ]}
    />
  );
}

function Resolve({ conflict, answer }: { conflict: ConflictRecord; answer: ConflictAnswer }) {
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
        <Field
          name="reason"
          multiline
          required
          maxLength={2000}
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

function Resolved({ conflict: { keep, reason, resolved_at } }: { conflict: ConflictRecord }) {
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
