/** The parts of the service's answers that the demo reads; the OpenAPI document has all of them. */
export interface WebhookEvent {
  id: string;
  record: string;
  status: string;
  outcome: string | null;
  error: string | null;
  participant_id: string | null;
  duplicate_of_id: string | null;
}
export interface Participant {
  id: string;
  participant_code: string;
  external_id: string | null;
  site_code: string | null;
  enrollment_date: string | null;
}
export interface Anchor {
  enrollment_date: string | null;
  status: string;
  source_type: string | null;
  is_override: boolean;
  version: number;
  current_schedule_version_id: string | null;
}
export interface ScheduledVisit {
  id: string;
  visit_key: string;
  name: string;
  target_date: string;
  status: string;
  carried: boolean;
}
export interface Version {
  id: string;
  version_number: number;
  is_current: boolean;
  status: string;
  anchor_date_used: string;
}
export interface Schedule {
  schedule_version: Version | null;
  visits: ScheduledVisit[];
}
export interface Impact {
  completed_visits_to_reconcile: number;
  pending_visits_to_reschedule: number;
  new_schedule_version: number;
  warnings: string[];
  visits: { name: string; action: string; from?: string; to?: string; notes: string[] }[];
}
export interface OverrideRequest {
  id: string;
  status: string;
  decided_by_id: string | null;
  decision_reason: string | null;
}
export interface HistoryEntry {
  event_type: string;
  status_before: string | null;
  status_after: string;
  enrollment_date_value: string | null;
  change_delta_days: number | null;
  reason: string | null;
  actor_type: string;
  created_at: string;
}
export interface Diff {
  visits: { name: string; change: string; from: string | null; to: string | null }[];
}
export interface List<T> {
  items: T[];
  total: number;
}

/** `3 scheduled, 1 completed`. */
export function countByStatus(visits: readonly { status: string }[]): string {
  const counts = new Map<string, number>();
  for (const { status } of visits) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${status}`).join(', ') || 'none';
}
