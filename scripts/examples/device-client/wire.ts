/** What goes over the wire, as docs/openapi.json describes it: no more of it than a device needs. */
export interface Trial {
  task: string;
  trial_index: number;
  /** Milliseconds; null: no reaction. */
  rt: number | null;
  correct: boolean | null;
  timestamp: string;
  practice?: boolean;
  data?: Record<string, unknown>;
}
export interface Notice {
  code: string;
  message: string;
}
export interface Started {
  sessionId: string;
  expiresAt: string;
  visitId: string | null;
  batteryId: number | null;
  batteryVersion: number | null;
  warnings: Notice[];
}
export interface SessionItem {
  id: string;
  participantId: string;
  studyId: string;
  status: 'completed' | 'abandoned';
  startedAt: string;
  completedAt: string | null;
  visitId: string | null;
  batteryId: number | null;
  batteryVersion: number | null;
  language: string | null;
  timezone: string | null;
  deviceId: string;
}
export interface ResponseItem {
  id: string;
  sessionId: string;
  deviceId: string;
  task: string;
  moduleId: string | null;
  summary: Record<string, number | null>;
  trials: Omit<Trial, 'task'>[];
}
export interface ItemResult {
  kind: 'session' | 'response';
  local_id: string | null;
  server_id: string | null;
  status: 'created' | 'duplicate' | 'conflict' | 'rejected';
  conflict_type?: string;
  resolution?: 'server_wins' | 'both_kept';
  code?: string;
  message?: string;
  warnings?: Notice[];
  quality_flags?: Notice[];
}
