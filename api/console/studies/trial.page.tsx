import type { PolicyTrial } from '../../studies/policy-trials.service.js';
import { Notice } from '../html/form.js';
import { Progress } from '../html/progress.js';
import { useUi } from '../html/ui.js';
import { PolicyEditor, useCount } from './policy.page.js';
import type { StudyView } from './studies.service.js';

interface TrialView {
  view: StudyView;
  trialId: string;
  /** Not set: it is unknown, or no longer kept. */
  trial: PolicyTrial | undefined;
}

/** A dry run of a policy in a large study: its progress, then its result. */
export function TrialPage(props: TrialView) {
  const { studies } = useUi().words;
  const { study } = props.view;
  return (
    <>
      <p class="crumbs">
        <a href={`/console/studies/${study.id}/policy`}>{studies.toPolicy}</a>
      </p>
      <h1>
        {studies.policyTitle}: <bdi>{study.study_code}</bdi>
      </h1>
      <TrialProgress {...props} />
    </>
  );
}

/** It reloads until the dry run is done; then it shows the result. */
export function TrialProgress({ view, trialId, trial }: TrialView) {
  const { studies } = useUi().words;
  const count = useCount();
  if (trial?.result) return <PolicyEditor view={view} text={trial.policy_text} trial={trial.result} />;
  if (trial?.status !== 'running') return <Notice kind="alert" title={studies.trialGone} />;
  return (
    <Progress
      id="trial"
      label={studies.dryRun}
      from={`/console/studies/${view.study.id}/policy/trials/${encodeURIComponent(trialId)}/progress`}
      running
      done={trial.seen}
      total={trial.total}
    >
      <p>
        {studies.trialRunning(count(trial.seen), count(trial.total))} <span class="quiet">{studies.trialLeave}</span>
      </p>
    </Progress>
  );
}
