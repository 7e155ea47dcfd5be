import type { TimelineRow } from '../../db/timeline/timeline.queries.js';
import type { Settings } from '../../settings.js';
import { publicUrl } from '../public-url.js';
import { datacaptureTriggerId, participantAnchorId, pushResultsId } from '../../workflows/contract.js';

export interface Links {
  api: string;
  temporal: string | null;
}
type Of = { studyId: string; participantId: string };

const paths: Record<TimelineRow['kind'], (row: TimelineRow, base: string) => string> = {
  participant: (row) => `/api/participants/${row.id}`,
  consent: (_row, base) => `${base}/consents`,
  eligibility: (_row, base) => `${base}/eligibility`,
  randomization: (_row, base) => `${base}/randomization`,
  form: (_row, base) => `${base}/forms`,
  trigger: (_row, base) => `${base.split('/participants/')[0]}/webhook-events`,
  approval: (_row, base) => `${base}/anchor-date/override-requests`,
  anchor: (row, base) => `${base}/anchor-date/decisions/${row.id}`,
  schedule: (row, base) => `${base}/schedule-versions/${row.id}`,
  visit: (row) => `/api/visits/${row.id}`,
  session: (row) => `/api/sessions/${row.id}`,
  push: (row) => `/api/sessions/${String(row.data.session_id)}/pushes`,
  reminder: (row, base) =>
    row.data.visit_id
      ? `/api/visits/${String(row.data.visit_id)}/notifications/explain`
      : `/api/notifications?participant_id=${base.split('/').at(-1)}`,
};

/** The workflow of an entry. */
function workflowOf({ kind, id, data }: TimelineRow, { participantId }: Of): string | undefined {
  if (kind === 'trigger') return datacaptureTriggerId(id);
  if (kind === 'push') return pushResultsId(String(data.session_id));
  return kind === 'anchor' || kind === 'schedule' || kind === 'approval' || kind === 'participant'
    ? participantAnchorId(participantId)
    : undefined;
}

/** The links of an entry: to the API, absolute by PUBLIC_URL, and to the Temporal Web UI if it has a workflow. */
export function linksOf(
  row: TimelineRow,
  subject: Of,
  settings: Pick<Settings, 'PUBLIC_URL' | 'TEMPORAL_UI_URL' | 'TEMPORAL_NAMESPACE'>,
): Links {
  const workflow = workflowOf(row, subject);
  return {
    api: publicUrl(
      settings,
      paths[row.kind](row, `/api/studies/${subject.studyId}/participants/${subject.participantId}`),
    ),
    temporal: workflow ? workflowAddress(workflow, settings) : null,
  };
}

/** A workflow in the Temporal Web UI; null: its address is not configured. */
export function workflowAddress(
  workflow: string,
  settings: Pick<Settings, 'TEMPORAL_UI_URL' | 'TEMPORAL_NAMESPACE'>,
): string | null {
  const ui = settings.TEMPORAL_UI_URL?.replace(/\/+$/, '');
  return ui
    ? `${ui}/namespaces/${encodeURIComponent(settings.TEMPORAL_NAMESPACE)}/workflows/${encodeURIComponent(workflow)}`
    : null;
}
