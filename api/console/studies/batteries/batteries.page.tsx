import type {
  BatteryOutline,
  BatteryRecord,
  ModuleRow,
  VersionOutline,
} from '../../../../db/assessment/batteries.queries.js';
import type { StudyRecord } from '../../../../db/studies/studies.queries.js';
import { compileBattery } from '../../../../workflows/domain/assessment/compile.js';
import { TASKS, taskNames } from '../../../../workflows/domain/assessment/tasks.js';
import { InstantText } from '../../html/date.js';
import { LOCALES } from '../../html/dates.js';
import { EmptyState } from '../../html/empty-state.js';
import { Form, Notice } from '../../html/form.js';
import { refusalText } from '../../html/refusal.js';
import { Table } from '../../html/table.js';
import { useUi } from '../../html/ui.js';
import type { Edit } from '../edit/edit.js';
import { EditField, EditForm, EditRefusal } from '../edit/edit-form.js';
import { StudyHead } from '../edit/study-tabs.js';
import { mayConfigure } from '../studies.service.js';
import { Life, Seen, copyError } from './battery-life.js';
import type { RefusedCopy } from './battery-life.js';
import { languagesOf, publicationOf } from './batteries.service.js';
import type { BatteryView } from './batteries.service.js';

export const batteryNotices = ['saved', 'published', 'retired', 'added', 'removed', 'copied'] as const;
export type BatteryNotice = (typeof batteryNotices)[number];

/** The batteries of a study, and the form of a new one. */
export function BatteriesPage({
  study,
  batteries,
  edit,
  said,
}: {
  study: StudyRecord;
  batteries: BatteryOutline[];
  edit: Edit;
  said?: BatteryNotice | undefined;
}) {
  const { words, user, language } = useUi();
  const { batteries: texts, studies } = words;
  const number = new Intl.NumberFormat(LOCALES[language]);
  const at = `/console/studies/${study.id}/batteries`;
  const configures = mayConfigure(user?.role);
  return (
    <>
      <StudyHead study={study} tab="batteries" />
      {said && <Notice kind="good">{texts.said[said]}</Notice>}
      {batteries.length === 0 ? (
        <EmptyState title={texts.none}>
          {texts.noneWhat} {configures && texts.createWhat}
        </EmptyState>
      ) : (
        <Table<BatteryOutline>
          caption={studies.batteriesCaption(batteries.length)}
          rows={batteries}
          rowKey={({ id }) => String(id)}
          columns={[
            {
              title: studies.name,
              head: true,
              cell: ({ id, name }) => (
                <a href={`${at}/${id}`}>
                  <bdi>{name}</bdi>
                </a>
              ),
            },
            { title: studies.code, cell: ({ code }) => <bdi>{code}</bdi> },
            { title: studies.status, cell: ({ status }) => <Status of={status} /> },
            { title: studies.version, numeric: true, cell: ({ published_version }) => published_version ?? '–' },
            { title: studies.tasks, numeric: true, cell: ({ modules }) => modules.length },
            { title: texts.minutes, numeric: true, cell: ({ modules }) => number.format(minutesOf(modules)) },
          ]}
        />
      )}
      {configures && (
        <>
          <h2>{texts.add}</h2>
          <section class="card">
            <EditRefusal edit={edit} labels={{ code: studies.code, name: studies.name }} />
            <EditForm action={at} edit={edit}>
              <EditField edit={edit} name="code" label={studies.code} required maxLength={64} />
              <EditField edit={edit} name="name" label={studies.name} required maxLength={300} />
              <button class="primary">{texts.create}</button>
            </EditForm>
          </section>
        </>
      )}
    </>
  );
}

const minutesOf = (modules: readonly Pick<ModuleRow, 'estimated_minutes'>[]): number =>
  Math.round(modules.reduce((sum, { estimated_minutes }) => sum + estimated_minutes, 0) * 100) / 100;

function Status({ of }: { of: BatteryRecord['status'] }) {
  const { studies } = useUi().words;
  return <span class={`tag ${of === 'published' ? 'approved' : ''}`}>{studies.batteryStatuses[of]}</span>;
}

/** A battery: its tasks, changes since the last publication, versions, and the compiled output. */
export function BatteryPage({
  view,
  edit,
  said,
  language,
  refusedCopy,
}: {
  view: BatteryView;
  edit: Edit;
  said?: BatteryNotice | undefined;
  language: string;
  refusedCopy?: RefusedCopy;
}) {
  const { words, user } = useUi();
  const { batteries: texts, studies } = words;
  const { study, battery } = view;
  const list = `/console/studies/${study.id}/batteries`;
  const at = `${list}/${battery.id}`;
  const configures = mayConfigure(user?.role);
  const isOpen = configures && battery.status !== 'retired';
  const labels = { code: studies.code, name: studies.name, description: studies.description };
  return (
    <>
      <StudyHead study={study} tab="batteries">
        <bdi>{battery.name}</bdi> <Status of={battery.status} />
      </StudyHead>
      <p class="crumbs">
        <a href={list}>{texts.back}</a>
      </p>
      {said && <Notice kind="good">{texts.said[said]}</Notice>}
      <EditRefusal edit={edit} labels={labels} />
      {refusedCopy && (
        <Notice kind="alert" title={words.edit.refused}>
          {copyError(refusedCopy, words) === undefined ? refusalText(words, refusedCopy.fault) : undefined}
        </Notice>
      )}
      <p class="quiet">
        {battery.published_version === null ? texts.neverPublished : texts.inForce(battery.published_version)}{' '}
        {battery.status === 'published' && isOpen && texts.nextDraft(battery.version + 1)}
      </p>
      <Modules battery={battery} at={at} isOpen={isOpen} />
      {isOpen && <AddModule battery={battery} at={at} />}
      {battery.status === 'draft' && <PublicationOf view={view} at={at} configures={configures} />}
      <Preview battery={battery} at={at} language={language} />
      <Versions versions={view.versions} />
      {configures && (
        <>
          <h2>{texts.settings}</h2>
          <section class="card">
            <EditForm action={at} edit={edit}>
              <EditField edit={edit} name="code" label={labels.code} required maxLength={64} />
              <EditField edit={edit} name="name" label={labels.name} required maxLength={300} />
              <EditField edit={edit} name="description" label={labels.description} multiline maxLength={10_000} />
              <button class="primary">{studies.save}</button>
            </EditForm>
          </section>
          <Life battery={battery} at={at} copy={refusedCopy} />
        </>
      )}
    </>
  );
}

function Modules({ battery, at, isOpen }: { battery: BatteryRecord; at: string; isOpen: boolean }) {
  const { words, language } = useUi();
  const { batteries: texts, studies } = words;
  const { modules } = battery;
  const number = new Intl.NumberFormat(LOCALES[language]);
  if (modules.length === 0) return <EmptyState title={texts.noTasks}>{isOpen && texts.noTasksWhat}</EmptyState>;
  return (
    <Table<ModuleRow>
      caption={texts.tasksCaption(modules.length, minutesOf(modules))}
      rows={modules}
      rowKey={({ id }) => id}
      columns={[
        {
          title: texts.task,
          head: true,
          cell: ({ name, required }) => (
            <>
              <bdi>{name}</bdi> {!required && <span class="tag">{texts.optional}</span>}
            </>
          ),
        },
        { title: texts.kind, cell: ({ task }) => task },
        { title: texts.minutes, numeric: true, cell: ({ estimated_minutes }) => number.format(estimated_minutes) },
        { title: texts.settings, cell: ({ settings }) => <Settings of={settings} /> },
        ...(isOpen
          ? [
              {
                title: words.edit.change,
                cell: ({ id, name, position }: ModuleRow) => (
                  <Form action={`${at}/modules/${id}/move`} class="row-acts">
                    <Seen of={battery} />
                    <a class="button" href={`${at}/modules/${id}`} aria-label={studies.editOf(name)}>
                      {words.edit.change}
                    </a>
                    {position > 1 && (
                      <button class="small" name="to" value="up" aria-label={texts.upOf(name)}>
                        {texts.up}
                      </button>
                    )}
                    {position < modules.length && (
                      <button class="small" name="to" value="down" aria-label={texts.downOf(name)}>
                        {texts.down}
                      </button>
                    )}
                  </Form>
                ),
              },
            ]
          : []),
      ]}
    />
  );
}

function Settings({ of }: { of: Record<string, unknown> }) {
  const text = Object.entries(of)
    .map(([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value) : String(value as string)}`)
    .join(', ');
  return (
    <span class="quiet" dir="auto">
      {text.length > 160 ? `${text.slice(0, 160)}…` : text || '–'}
    </span>
  );
}

function AddModule({ battery, at }: { battery: BatteryRecord; at: string }) {
  const { words } = useUi();
  const { batteries: texts } = words;
  return (
    <Form action={`${at}/modules`} class="search-line after-table">
      <Seen of={battery} />
      <label for="task">{texts.addTask}</label>
      <select id="task" name="task">
        {taskNames.map((task) => (
          <option key={task} value={task}>
            {TASKS[task].title}
          </option>
        ))}
      </select>
      <button>{texts.addTaskDo}</button>
    </Form>
  );
}

function PublicationOf({ view, at, configures }: { view: BatteryView; at: string; configures: boolean }) {
  const { words } = useUi();
  const { batteries: texts } = words;
  const { battery } = view;
  const { added, removed, changed, reordered } = publicationOf(view);
  const shown = (value: unknown) => (value === null ? words.edit.nothing : JSON.stringify(value));
  const isSame = added.length + removed.length + changed.length === 0 && !reordered;
  return (
    <section id="publication">
      <h2>{texts.publication(battery.version)}</h2>
      <p class="quiet">{texts.publicationWhat}</p>
      {isSame ? (
        <p>{battery.published_version === null ? texts.neverSame : texts.same}</p>
      ) : (
        <ul>
          {added.map(({ id, name }) => (
            <li key={id}>
              {texts.isAdded} <bdi>{name}</bdi>
            </li>
          ))}
          {removed.map(({ id, name }) => (
            <li key={id}>
              {texts.isRemoved} <bdi>{name}</bdi>
            </li>
          ))}
          {changed.map(({ module, differences }) => (
            <li key={module.id}>
              {texts.isChanged} <bdi>{module.name}</bdi>
              <ul>
                {differences.map(({ path, from, to }) => (
                  <li key={path}>
                    {path.replace(/^settings\./, '')}: <del dir="auto">{shown(from)}</del>{' '}
                    <ins dir="auto">{shown(to)}</ins>
                  </li>
                ))}
              </ul>
            </li>
          ))}
          {reordered && <li>{texts.isReordered}</li>}
        </ul>
      )}
      {configures && (
        <Form action={`${at}/status`}>
          <Seen of={battery} />
          <button class="primary" name="status" value="published">
            {texts.publish(battery.version)}
          </button>
        </Form>
      )}
    </section>
  );
}

function Preview({ battery, at, language }: { battery: BatteryRecord; at: string; language: string }) {
  const { words } = useUi();
  const { batteries: texts } = words;
  const compiled = compileBattery(battery, battery.modules, language);
  return (
    <section id="preview">
      <h2>{texts.preview}</h2>
      <p class="quiet">{texts.previewWhat(battery.version)}</p>
      <form method="get" action={`${at}#preview`} class="search-line">
        <label for="language">{words.menu.language}</label>
        <select id="language" name="language">
          {languagesOf(battery.modules).map((one) => (
            <option key={one} value={one} selected={one === language}>
              {one}
            </option>
          ))}
        </select>
        <button>{texts.show}</button>
      </form>
      <details>
        <summary>{words.studies.showJson}</summary>
        <pre tabIndex={0}>{JSON.stringify(compiled, null, 2)}</pre>
      </details>
    </section>
  );
}

function Versions({ versions }: { versions: VersionOutline[] }) {
  const { words } = useUi();
  const { batteries: texts, studies } = words;
  return (
    <section>
      <h2>{texts.versions}</h2>
      <Table<VersionOutline>
        caption={texts.versionsCaption(versions.length)}
        rows={versions}
        rowKey={({ version }) => String(version)}
        columns={[
          { title: texts.version, head: true, cell: ({ version }) => version },
          { title: studies.status, cell: ({ status }) => <Status of={status} /> },
          { title: texts.publishedAt, cell: ({ published_at }) => <InstantText value={published_at} bare /> },
          {
            title: studies.tasks,
            cell: ({ modules }) => <bdi>{modules.map(({ name }) => name).join(', ') || '–'}</bdi>,
          },
        ]}
      />
    </section>
  );
}
