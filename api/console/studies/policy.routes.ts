import { h } from 'preact';
import { policyInForce } from '../../../db/studies/policies.queries.js';
import { acceptPolicy, savePolicy } from '../../studies/policy.service.js';
import { dryRunFor } from '../../studies/dry-runs-at-once.js';
import { dryRunWithCodes, enrolledIn } from '../../studies/policy-dry-run.service.js';
import { LONG_TRIAL, startTrial, trialOf } from '../../studies/policy-trials.service.js';
import { reanchoring } from '../../studies/reanchorings.js';
import type { ReanchoringView } from '../../studies/reanchorings.js';
import type { Dependencies } from '../../dependencies.js';
import { inStudy, staff } from '../../http/access.js';
import { parseJson } from '../../http/body/json.js';
import { Type, oneOf, text } from '../../http/common.schemas.js';
import { Problem, problem } from '../../http/errors.js';
import { consoleForm, consolePage } from '../routing/page.js';
import { redirect } from '../routing/render.js';
import type { Ui } from '../html/ui.js';
import { ChangePage, ChangeProgress, PolicyPage } from './policy.page.js';
import { loadStudyView } from './studies.service.js';
import { TrialPage, TrialProgress } from './trial.page.js';

const path = '/console/studies/{study_id}/policy';
const trialPath = `${path}/trials/{trial_id}` as const;
const change = '/console/studies/{study_id}/changes/{change_id}';
const VERSION = /^[0-9]{1,9}$/;

/** The typed policy. @throws 422 if it is not JSON, or a name in it stands twice */
function policyIn(form: URLSearchParams, { words }: Ui): unknown {
  try {
    return parseJson(Buffer.from(form.get('policy')!));
  } catch (fault) {
    if (!(fault instanceof Problem) || fault.code !== 'MALFORMED_JSON') throw fault;
    const { message: why } = fault.cause instanceof Error ? fault.cause : fault;
    const message = `${words.studies.invalidJson} ${why}`;
    throw problem('VALIDATION_FAILED', {
      detail: message,
      errors: [{ path: 'policy', code: 'INVALID_JSON', message }],
      cause: fault,
    });
  }
}

/** The version that the form's page showed; undefined: none, or it was overtaken and the page shows the present one. */
function seenIn(form: URLSearchParams, fault: Problem): number | undefined {
  const said = form.get('policy_version') ?? '';
  return fault.code !== 'STALE' && VERSION.test(said) ? Number(said) : undefined;
}

/** The progress of a change; undefined if it is done and no longer stored. */
async function changeOf(services: Dependencies, studyId: string, id: string): Promise<ReanchoringView | undefined> {
  try {
    return await reanchoring(services, studyId, id);
  } catch (fault) {
    if (fault instanceof Problem && fault.status === 404) return undefined;
    throw fault;
  }
}

export const policyPages = [
  consolePage({
    path,
    summary: 'Show the enrollment-date policy in words and as JSON',
    access: staff.configure,
    transaction: 'read',
    view: async ({ tx, actor, params, ui }) => {
      const view = await loadStudyView(tx, actor, params.study_id.toLowerCase());
      return { title: ui.words.studies.policyTitle, content: h(PolicyPage, { view }) };
    },
  }),
  consoleForm({
    path,
    summary: 'Show what another enrollment-date policy would change, or save it',
    access: staff.configure,
    transaction: 'change',
    tries: (form) => form.get('do') === 'try',
    largest: 2 * 1024 * 1024,
    fields: Type.Object({
      policy: text(500_000, 1),
      policy_version: Type.String({ pattern: VERSION.source }),
      do: oneOf('try', 'save'),
    }),
    submit: async ({ tx, audit, actor, context, credential, services, params, form, ui }) => {
      const studyId = params.study_id.toLowerCase();
      const policy = acceptPolicy(policyIn(form, ui));
      const seen = Number(form.get('policy_version'));
      if (form.get('do') === 'try') {
        // Its result is compared with the policy in force, which the author has not seen.
        if ((await policyInForce(tx, studyId))?.policy_version !== seen) throw problem('STALE');
        const total = await enrolledIn(tx, studyId);
        if (total > LONG_TRIAL) {
          const by = { services, actor, credential, studyId };
          const id = await startTrial(by, { text: form.get('policy')!, policy, total });
          return redirect(`/console/studies/${studyId}/policy/trials/${id}`);
        }
        const trial = await dryRunFor(actor, () => dryRunWithCodes(tx, studyId, policy));
        const view = await loadStudyView(tx, actor, studyId);
        const content = h(PolicyPage, { view, trial, text: form.get('policy')! });
        return { title: ui.words.studies.policyTitle, content };
      }
      const { change_id } = await savePolicy({ tx, audit, actor, context }, studyId, policy, seen);
      return redirect(
        change_id === null
          ? `/console/studies/${studyId}?said=saved`
          : `/console/studies/${studyId}/changes/${encodeURIComponent(change_id)}`,
      );
    },
    again: async ({ read, params, form, fault, ui }) => {
      const view = await read((tx, actor) => loadStudyView(tx, actor, params.study_id.toLowerCase()));
      const content = h(PolicyPage, { view, fault, text: form.get('policy') ?? '', seen: seenIn(form, fault) });
      return { title: ui.words.studies.policyTitle, content };
    },
  }),
  consolePage({
    path: trialPath,
    summary: 'Show how far a dry run of a policy is, and what it came to',
    access: staff.configure,
    transaction: 'read',
    view: async ({ tx, actor, params, ui }) => {
      const studyId = params.study_id.toLowerCase();
      const view = await loadStudyView(tx, actor, studyId);
      const trial = await trialOf(tx, { actor, studyId }, params.trial_id);
      const content = h(TrialPage, { view, trialId: params.trial_id, trial });
      return { title: ui.words.studies.dryRun, content };
    },
  }),
  consolePage({
    path: `${trialPath}/progress`,
    summary: 'Show how far a dry run of a policy is, as a part',
    access: staff.configure,
    transaction: 'read',
    background: true,
    view: async ({ tx, actor, params, ui }) => {
      const studyId = params.study_id.toLowerCase();
      const trial = await trialOf(tx, { actor, studyId }, params.trial_id);
      // The fragment belongs to the page of the dry run.
      ui.path = `/console/studies/${studyId}/policy/trials/${encodeURIComponent(params.trial_id)}`;
      const view = await loadStudyView(tx, actor, studyId);
      const content = h(TrialProgress, { view, trialId: params.trial_id, trial });
      return { title: ui.words.studies.dryRun, fragment: true, content };
    },
  }),
  consolePage({
    path: change,
    summary: 'Show how far a change of a study is',
    access: inStudy(),
    view: async ({ services, params, ui }) => {
      const studyId = params.study_id.toLowerCase();
      const found = await changeOf(services, studyId, params.change_id);
      const content = h(ChangePage, { studyId, changeId: params.change_id, change: found });
      return { title: ui.words.studies.changeTitle, content };
    },
  }),
  consolePage({
    path: `${change}/progress`,
    summary: 'Show how far a change of a study is, as a part',
    access: inStudy(),
    background: true,
    view: async ({ services, params, ui }) => {
      const studyId = params.study_id.toLowerCase();
      const found = await changeOf(services, studyId, params.change_id);
      const content = h(ChangeProgress, { studyId, changeId: params.change_id, change: found });
      return { title: ui.words.studies.changeTitle, fragment: true, content };
    },
  }),
];
