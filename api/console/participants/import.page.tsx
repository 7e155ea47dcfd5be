import type { ImportRecord } from '../../../db/imports/imports.queries.js';
import type { FailedRow, ImportOverview } from '../../imports/files/result.js';
import { InstantText } from '../html/date.js';
import { Form, Notice } from '../html/form.js';
import { DefinitionList, Table } from '../html/table.js';
import { ruleText } from '../html/refusal.js';
import { TranslatedText } from '../html/said.js';
import { useUi } from '../html/ui.js';
import type { ImportView } from './import.service.js';

export interface ImportForm {
  /** The id of the import that the form starts: sent twice, it is one import. */
  importId: string;
  mode?: 'insert' | 'upsert';
  makesSites?: boolean;
  preview?: ImportOverview & { sha256: string };
  fault?: string | undefined;
}
const importPath = (studyId: string) => `/console/studies/${studyId}/import`;

/** Imports participants: a file, its preview, the import. */
export function ImportPage({ view: { study, recent }, form }: { view: ImportView; form: ImportForm }) {
  const { words, user } = useUi();
  const { participants } = words;
  const makesSites = user && ['admin', 'researcher', 'data_manager'].includes(user.role);
  const template = `${importPath(study.id)}-template`;
  return (
    <section>
      <p class="crumbs">
        <a href="/console/participants">{words.participant.back}</a>
      </p>
      <h1>{participants.importTitle(study.study_code)}</h1>
      <p>{participants.importWhat}</p>
      <p>
        {participants.template}: <a href={`${template}?format=csv`}>CSV</a>,{' '}
        <a href={`${template}?format=xlsx`}>Excel</a>
      </p>
      <Form action={importPath(study.id)} upload class="card">
        <input type="hidden" name="import_id" value={form.importId} />
        <div class="field">
          <label for="field-file">{participants.file}</label>
          {form.preview && (
            <p class="hint no-script" id="field-file-hint">
              {participants.fileAgain}
            </p>
          )}
          <input
            id="field-file"
            type="file"
            name="file"
            required
            accept=".csv,.txt,.xlsx,text/csv,application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
            {...(form.preview && { 'aria-describedby': 'field-file-hint' })}
          />
        </div>
        <fieldset class="choice">
          <legend>{participants.mode}</legend>
          {(['insert', 'upsert'] as const).map((mode) => (
            <label class="check" key={mode}>
              <input type="radio" name="mode" value={mode} checked={mode === (form.mode ?? 'insert')} />{' '}
              {participants.modes[mode]}
            </label>
          ))}
        </fieldset>
        {makesSites && (
          <label class="check">
            <input type="checkbox" name="sites" value="1" checked={form.makesSites === true} /> {participants.sites}
          </label>
        )}
        <button
          class="primary"
          name="step"
          value="preview"
          hx-post={importPath(study.id)}
          hx-encoding="multipart/form-data"
          hx-target="#result"
          hx-select="#result"
          hx-swap="outerHTML"
        >
          {participants.preview}
        </button>
        <div id="result" aria-live="polite">
          {form.fault && <Notice kind="alert">{form.fault}</Notice>}
          {form.preview && <Preview preview={form.preview} />}
        </div>
      </Form>
      {recent.length > 0 && <Recent recent={recent} studyId={study.id} />}
    </section>
  );
}

/** The counts of an import or its preview. */
function Counts({ of }: { of: Partial<Record<string, unknown>> }) {
  const { words } = useUi();
  return (
    <DefinitionList
      of={Object.entries(words.participants.counts).map(([name, title]) => [title, String(of[name] ?? '–')] as const)}
    />
  );
}

function Preview({ preview }: { preview: NonNullable<ImportForm['preview']> }) {
  const { words } = useUi();
  const { participants } = words;
  const { error_count: failed, first_errors: errors, warnings, created_sites: sites } = preview;
  return (
    <>
      <h2>{participants.previewTitle}</h2>
      <input type="hidden" name="sha256" value={preview.sha256} />
      {warnings.length > 0 && (
        <Notice>
          <ul class="plain">
            {warnings.map(({ message }) => (
              <li key={message}>
                <TranslatedText text={message} />
              </li>
            ))}
          </ul>
        </Notice>
      )}
      <Counts of={{ ...preview }} />
      {sites.length > 0 && <p>{participants.newSites(sites.join(', '))}</p>}
      {errors.length > 0 && (
        <Table<FailedRow>
          caption={participants.errorsCaption(errors.length, failed)}
          rows={errors}
          rowKey={({ row }) => String(row)}
          columns={[
            { title: participants.row, head: true, numeric: true, cell: ({ row }) => <>{row}</> },
            { title: participants.field, cell: ({ field }) => <>{field ? <code>{field}</code> : '–'}</> },
            {
              title: participants.fault,
              cell: (fault) => <span dir="auto">{ruleText(words.problems, fault) ?? fault.message}</span>,
            },
          ]}
        />
      )}
      <p class="buttons">
        <button
          class="primary"
          name="step"
          value="import"
          disabled={preview.imported_count + preview.updated_count === 0}
        >
          {participants.start}
        </button>
        {failed > 0 && (
          <button name="step" value="failed_rows" data-download>
            {participants.failedRows}
          </button>
        )}
      </p>
    </>
  );
}

function Recent({ recent, studyId }: { recent: ImportRecord[]; studyId: string }) {
  const { words } = useUi();
  const { participants } = words;
  return (
    <>
      <h2>{participants.recent}</h2>
      <Table
        caption={participants.recentCaption(recent.length)}
        rows={recent}
        rowKey={({ id }) => id}
        columns={[
          {
            title: participants.at,
            head: true,
            cell: ({ id, created_at }) => (
              <a href={`/console/studies/${studyId}/imports/${id}`}>
                <InstantText value={created_at} />
              </a>
            ),
          },
          {
            title: participants.state,
            cell: ({ status }) => <span class={`tag ${status}`}>{participants.states[status]}</span>,
          },
          ...(['imported_count', 'updated_count', 'skipped_count', 'error_count'] as const).map((name) => ({
            title: participants.counts[name]!,
            numeric: true,
            cell: (one: ImportRecord) => <>{one[name] ?? '–'}</>,
          })),
        ]}
      />
    </>
  );
}

/** The page of one import: users may leave it and return. */
export function ImportProgressPage({ record }: { record: ImportRecord }) {
  const { words } = useUi();
  const { participants } = words;
  return (
    <section class="form-page">
      <p class="crumbs">
        <a href={importPath(record.study_id)}>{participants.toImport}</a>
      </p>
      <h1>{participants.progressTitle}</h1>
      <ProgressPart record={record} />
    </section>
  );
}

/** The progress; the page reloads it until the import ends. */
export function ProgressPart({ record }: { record: ImportRecord }) {
  const { words } = useUi();
  const { participants } = words;
  const percent = Math.round(record.progress * 100);
  const at = `/console/studies/${record.study_id}/imports/${record.id}`;
  const isRunning = record.status === 'running';
  return (
    <div
      id="progress"
      role="status"
      {...(isRunning && { 'hx-get': `${at}/progress`, 'hx-trigger': 'every 2s', 'hx-swap': 'outerHTML' })}
    >
      <p>
        <span class={`tag ${record.status}`}>{participants.states[record.status]}</span>
      </p>
      {isRunning && (
        <>
          <progress max={100} value={percent} aria-label={participants.progressTitle} />
          <p>{participants.progress(percent)}</p>
          <p class="quiet">{participants.leave}</p>
          <noscript>
            <a href={at}>{words.capture.lookAgain}</a>
          </noscript>
        </>
      )}
      {record.status === 'failed' && <p>{participants.failedWhat}</p>}
      {record.status === 'completed' && (
        <>
          <Counts of={{ ...record }} />
          <p>
            <a class="button" href={`/console/participants?study=${record.study_id}`}>
              {participants.toList}
            </a>
          </p>
        </>
      )}
    </div>
  );
}
