import { overrideDecision } from '../../workflows/contract.js';
import type { OverrideDecision } from '../../workflows/contract.js';
import { addDays } from '../../workflows/domain/util/dates.js';
import { eventually } from './api.js';
import { scheduleOf } from './enroll.js';
import type { Enrolled } from './enroll.js';
import { addressesOf } from './place.js';
import type { Stage } from './place.js';
import type { Anchor, Diff, Impact, List, OverrideRequest, Version } from './records.js';
import { demand } from './telling.js';
import type { Tell, Telling } from './telling.js';

const SHIFT_DAYS = 3;

/** Shared by both parts of the chapter. */
function chapter(stage: Stage, enrolled: Enrolled) {
  const at = addressesOf(stage, enrolled.participantId);
  const handle = enrolled.client.workflow.getHandle(at.workflowId);
  return {
    at,
    newDate: addDays(enrolled.enrollmentDate, SHIFT_DAYS),
    decide: (decision: OverrideDecision) => handle.signal(overrideDecision, decision),
  };
}

/** The third chapter: the date was wrong; an override is requested and pending. @returns the request */
export async function ask(telling: Telling, stage: Stage, enrolled: Enrolled): Promise<string> {
  const {
    coordinator,
    approver,
    place: { run, workflow },
  } = stage;
  const { at, newDate, decide } = chapter(stage, enrolled);
  const requestId = await telling.step(
    `The coordinator asks for ${newDate} instead: it waits for an approval, with a preview`,
    async (tell) => {
      const asked = await coordinator.expect<{ status: string; override_request_id: string; impact: Impact }>(
        202,
        'POST',
        `${at.anchor}/override`,
        {
          new_enrollment_date: newDate,
          reason: 'The first training day was entered three days early.',
        },
      );
      const { impact } = asked;
      demand(
        asked.status === 'pending_approval' && impact.new_schedule_version === 2,
        `The request is ${asked.status}, for schedule version ${impact.new_schedule_version}.`,
      );
      tell(
        'would move',
        `${impact.pending_visits_to_reschedule} visits; ${impact.completed_visits_to_reconcile} completed one stays`,
      );
      for (const { action, name, from, to, notes } of impact.visits) {
        const dates = action === 'keep' ? from : [from, to].filter(Boolean).join(' → ');
        tell(action, `${name}: ${dates}${notes.length > 0 ? ` (${notes.join('; ')})` : ''}`);
      }
      const anchor = await coordinator.get<Anchor>(at.anchor);
      demand(anchor.enrollment_date === enrolled.enrollmentDate, 'The date moved before it was approved.');
      tell('see', `${run.api}/api/studies/${stage.study.id}/approvals?status=pending`);
      if (run.console !== null) tell('console', `${run.console}/approvals/${asked.override_request_id}`);
      tell('Temporal', workflow(at.workflowId));
      return asked.override_request_id;
    },
  );
  const mailUi = run.mail_ui;
  if (mailUi !== null)
    await telling.step('The approver gets a mail', (tell) => mailArrives(tell, mailUi, approver.email));
  await telling.step(
    'The coordinator’s own approval, sent as a signal, is refused and stands in the audit log',
    async (tell) => {
      await decide({
        request_id: requestId,
        decision: 'approve',
        approver_user_id: coordinator.userId,
        reason: 'mine',
      });
      const path = `/api/audit?study_id=${stage.study.id}&action=override_decision_refused`;
      const refused = await eventually(
        'A record of the refusal',
        async () =>
          (await stage.admin.get<List<{ user_id: string; audit_metadata: { code?: string } }>>(path)).items[0],
      );
      demand(
        refused.audit_metadata.code === 'SELF_APPROVAL' && refused.user_id === coordinator.userId,
        `The refusal is recorded as ${refused.audit_metadata.code}.`,
      );
      demand(
        (await requestOf(stage, at.requests, requestId))?.status === 'pending',
        'The refused decision changed the request.',
      );
      tell('refused', 'SELF_APPROVAL; the request still waits');
      tell('see', `${run.api}${path}`);
    },
  );
  return requestId;
}

/** The date is approved, and the schedule follows. */
export async function approve(telling: Telling, stage: Stage, enrolled: Enrolled, requestId: string): Promise<void> {
  const {
    coordinator,
    approver,
    place: { run, workflow },
  } = stage;
  const { at, newDate, decide } = chapter(stage, enrolled);
  await telling.step('The approver’s signal, sent by a Temporal client and not by the API, grants it', async (tell) => {
    const said = { decision: 'approve' as const, reason: 'Checked against the source document.' };
    const { authorization } = await approver.api.expect<{ authorization: string }>(
      200,
      'POST',
      `/api/studies/${stage.study.id}/approvals/${requestId}/authorization`,
      said,
    );
    const decision: OverrideDecision = { request_id: requestId, ...said, approver_user_id: approver.id };
    await decide({ ...decision, authorization });
    const decided = await eventually('The approval', async () => {
      const request = await requestOf(stage, at.requests, requestId);
      return request?.status === 'pending' ? undefined : request;
    });
    demand(decided.status === 'approved' && decided.decided_by_id === approver.id, `The request is ${decided.status}.`);
    tell('signal', `overrideDecision ${JSON.stringify(decision)}`);
    tell('request', `${decided.status}: ${decided.decision_reason}`);
    tell('Temporal', workflow(at.workflowId));
  });
  await telling.step('Schedule version 2 is in force, the completed visit is kept', async (tell) => {
    const anchor = await coordinator.get<Anchor>(at.anchor);
    demand(
      anchor.enrollment_date === newDate && anchor.is_override && anchor.status === 'finalized',
      `The anchor is ${anchor.enrollment_date}, ${anchor.status}.`,
    );
    const schedule = await scheduleOf(stage, at.schedule, 2);
    const kept = schedule.visits.find(({ visit_key }) => visit_key === enrolled.baseline.visit_key);
    demand(
      kept?.id === enrolled.baseline.id && kept.status === 'completed',
      'The completed visit is not on the new version.',
    );
    demand(schedule.visits.length === 4, `The new version has ${schedule.visits.length} visits, not four.`);
    tell('anchor', `${anchor.enrollment_date}, ${anchor.status}, overridden, version ${anchor.version}`);
    for (const visit of schedule.visits)
      tell(
        'visit',
        `${visit.target_date}  ${visit.name}, ${visit.status}${visit.carried ? ' (kept from version 1)' : ''}`,
      );
    tell('see', `${run.api}${at.schedule}`);
  });
  await telling.step('What moved between the two versions', (tell) => showDiff(tell, stage, at.versions));
}

async function showDiff(tell: Tell, stage: Stage, path: string): Promise<void> {
  const {
    coordinator,
    place: { run },
  } = stage;
  const versions = (await coordinator.get<Version[]>(path)).sort((a, b) => a.version_number - b.version_number);
  const [first, second] = versions;
  demand(
    versions.length === 2 && first?.status === 'superseded' && second?.is_current,
    `The versions are ${versions.map((v) => `${v.version_number} ${v.status}`).join(', ')}.`,
  );
  const diffPath = `${path}/${first.id}/diff/${second.id}`;
  const { visits } = await coordinator.get<Diff>(diffPath);
  demand(
    visits.filter(({ change }) => change === 'moved').length === 3 &&
      visits.filter(({ change }) => change === 'unchanged').length === 1,
    'Not exactly three visits moved.',
  );
  for (const visit of visits)
    tell(visit.change, `${visit.name}: ${visit.from === visit.to ? visit.from : `${visit.from} → ${visit.to}`}`);
  tell('see', `${run.api}${path}`);
  tell('see', `${run.api}${diffPath}`);
}

const requestOf = async (stage: Stage, path: string, id: string): Promise<OverrideRequest | undefined> =>
  (await stage.coordinator.get<{ items: OverrideRequest[] }>(path)).items.find((request) => request.id === id);

async function mailArrives(tell: Tell, mailUi: string, address: string): Promise<void> {
  const mail = await eventually(`A mail to ${address}`, async () => {
    const mails = (await (await fetch(`${mailUi}/email`)).json()) as { subject: string; to: { address: string }[] }[];
    return mails.find(({ to }) => to.some((recipient) => recipient.address === address));
  });
  tell('subject', mail.subject);
  tell('see', `${mailUi}/`);
}
