import type { ReanchoringView } from '../../studies/reanchorings.js';
import type { DryRun } from '../../studies/policy-dry-run.service.js';
import type { Problem } from '../../http/errors.js';
import { LOCALES } from '../html/dates.js';
import { Field, Form, Notice } from '../html/form.js';
import { Progress } from '../html/progress.js';
import { ruleText } from '../html/refusal.js';
import { Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { PolicyInWords } from './policy-in-words.js';
import { FormRefusal } from './settings.page.js';
import { TryButtons } from './try-buttons.js';
import type { StudyView } from './studies.service.js';

/** The dry run of a policy, with the codes of its examples. */
export interface PolicyTrialView {
  run: DryRun;
  codes: ReadonlyMap<string, string>;
}

/** A study's policy as JSON and in words, with a dry run of another one. */
export function PolicyPage({
  view: { study, policy, figures },
  text,
  seen,
  trial,
  fault,
}: {
  view: StudyView;
  /** The typed text. */
  text?: string;
  /** The version that its author has seen; not set: the one in force. */
  seen?: number | undefined;
  trial?: PolicyTrialView;
  fault?: Problem;
}) {
  const { words } = useUi();
  const { studies } = words;
  const at = `/console/studies/${study.id}`;
  const faults = fault?.options.errors ?? [];
  return (
    <>
      <p class="crumbs">
        <a href={at}>{studies.toStudy}</a>
      </p>
      <h1>
        {studies.policyTitle}: <bdi>{study.study_code}</bdi>
      </h1>
      <p class="quiet">{studies.policyWhat(figures.policy_version)}</p>
      {faults.length > 0 ? (
        <Notice kind="alert" title={`${studies.refused} (${studies.faults(faults.length)})`}>
          <ul class="warnings">
            {faults.slice(0, 20).map((entry) => (
              <li key={`${entry.path} ${entry.message}`} dir="auto">
                {entry.path && entry.path !== 'policy' && (
                  <>
                    <code>{entry.path}</code>{' '}
                  </>
                )}
                {ruleText(words.problems, entry) ?? entry.message}
              </li>
            ))}
          </ul>
        </Notice>
      ) : (
        <FormRefusal fault={fault} fields={[]} />
      )}
      <PolicyEditor view={{ study, policy, figures }} text={text} seen={seen} trial={trial} />
    </>
  );
}

/** The policy form, with the dry run of another policy, and both in words. */
export function PolicyEditor({
  view: { study, policy, figures },
  text,
  seen,
  trial,
}: {
  view: Pick<StudyView, 'study' | 'policy' | 'figures'>;
  text?: string | undefined;
  seen?: number | undefined;
  trial?: PolicyTrialView | undefined;
}) {
  const { studies } = useUi().words;
  return (
    <>
      {trial && <Trial trial={trial} />}
      <Form action={`/console/studies/${study.id}/policy`} class="policy-editor">
        <input type="hidden" name="policy_version" value={seen ?? figures.policy_version} />
        <Field
          name="policy"
          label={studies.json}
          hint={studies.jsonHint}
          value={text ?? JSON.stringify(policy, null, 2)}
          multiline
          required
        />
        <p>
          <a href="/docs/expressions">{studies.expressions}</a>
        </p>
        <TryButtons isTried={trial !== undefined} labels={{ tryIt: studies.tryIt, save: studies.savePolicy }} />
      </Form>
      <h2>{trial ? studies.newInWords : studies.inWords}</h2>
      {trial && <p class="quiet">{studies.differs}</p>}
      <PolicyInWords policy={trial?.run.policy ?? policy} than={trial ? policy : undefined} />
    </>
  );
}

/** Formats a count in the reader's locale. */
export function useCount(): (n: number) => string {
  const { language } = useUi();
  return (n) => n.toLocaleString(LOCALES[language]);
}

function Trial({ trial: { run, codes } }: { trial: PolicyTrialView }) {
  const { studies } = useUi().words;
  const count = useCount();
  if (run.total === 0) return <Notice title={studies.dryRun}>{studies.nobody}</Notice>;
  const rows = Object.entries({ ...run.counts, schedules_regenerated: run.schedules_regenerated })
    .filter(([, n]) => n > 0)
    .map(([outcome, n]) => ({ outcome, n, examples: run.examples[outcome as keyof typeof run.examples] ?? [] }));
  return (
    <section class="trial" role="status">
      <h2>{studies.dryRun}</h2>
      <p class="headline">
        <strong>{studies.wouldMove(count(run.would_change), count(run.total))}</strong>{' '}
        {studies.wouldPlan(count(run.schedules_regenerated), count(run.total))}
      </p>
      <p class="quiet">{studies.wouldMoveWhat}</p>
      {run.moved_by_earlier_override > 0 && (
        <Notice kind="alert">{studies.earlier(run.moved_by_earlier_override)}</Notice>
      )}
      <Table<(typeof rows)[number]>
        caption={studies.outcomesCaption}
        rows={rows}
        rowKey={({ outcome }) => outcome}
        columns={[
          { title: studies.outcome, head: true, cell: ({ outcome }) => studies.outcomes[outcome] ?? outcome },
          { title: studies.howMany, numeric: true, cell: ({ n }) => count(n) },
          {
            title: studies.examples,
            cell: ({ examples }) => (
              <Examples of={examples.slice(0, 5).map((id) => ({ id, code: codes.get(id) ?? '–' }))} />
            ),
          },
        ]}
      />
    </section>
  );
}

/** Some participants, by their codes. */
export function Examples({ of }: { of: readonly { id: string; code: string }[] }) {
  if (of.length === 0) return <>–</>;
  return (
    <span class="examples">
      {of.map(({ id, code }, i) => (
        <span key={id}>
          {i > 0 && ', '}
          <a href={`/console/participants/${id}`}>
            <bdi>{code}</bdi>
          </a>
        </span>
      ))}
    </span>
  );
}

/** The progress of a study's change; it reloads until the change is done. */
export function ChangeProgress({
  studyId,
  changeId,
  change,
}: {
  studyId: string;
  changeId: string;
  change: ReanchoringView | undefined;
}) {
  const { studies } = useUi().words;
  const count = useCount();
  if (!change) return <p>{studies.changeGone}</p>;
  const { status, seen, total, moved, schedules } = change;
  return (
    <Progress
      id="change-progress"
      label={studies.changeTitle}
      from={`/console/studies/${studyId}/changes/${encodeURIComponent(changeId)}/progress`}
      running={status === 'pending' || status === 'running'}
      done={seen}
      total={total}
    >
      <p>
        {status === 'pending' && studies.changePending}
        {status === 'running' && studies.changeRunning(count(seen), count(total))}
        {status === 'completed' && <strong>{studies.changeDone}</strong>}
        {status === 'failed' && <strong class="bad">{studies.changeFailed}</strong>}{' '}
        {status === 'completed' && studies.changeFound(count(moved), count(schedules))}
      </p>
    </Progress>
  );
}

/** The page of a change in progress. */
export function ChangePage(props: { studyId: string; changeId: string; change: ReanchoringView | undefined }) {
  const { studies } = useUi().words;
  return (
    <>
      <p class="crumbs">
        <a href={`/console/studies/${props.studyId}`}>{studies.toStudy}</a>
      </p>
      <h1>{studies.changeTitle}</h1>
      <ChangeProgress {...props} />
    </>
  );
}
