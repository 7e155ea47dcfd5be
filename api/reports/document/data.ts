import type { AdherenceCell, SessionTask, ReportedStudy } from '../../../db/reports/document.queries.js';
import type { MetricCourse, ReportedPerson, ReportedSession } from '../../../db/reports/participant.queries.js';
import type {
  EnrollmentCurve,
  SiteReport,
  StudySummary,
  TaskReport,
  WindowCompletion,
} from '../../../db/reports/study.queries.js';
import type { SignedRecord } from '../../../db/participants/signatures.queries.js';
import type { ReportedVisit } from '../../../db/reports/visits.queries.js';
import type { PictureTheme } from '../../../activities/html/picture-theme.js';
import type { ReportLanguage } from './words.js';

/** The data of a document or plot, in one snapshot. */
export interface StudyData {
  study: ReportedStudy;
  summary: StudySummary;
  enrollment: EnrollmentCurve;
  completion: WindowCompletion[];
  adherence: AdherenceCell[];
  sites: SiteReport[];
  modules: TaskReport[];
}
export interface AnchorShown {
  enrollment_date: string | null;
  status: string;
  source_type: string | null;
  is_override: boolean;
  version: number;
}
export interface ParticipantData {
  study: ReportedStudy;
  identity: ReportedPerson;
  anchor: AnchorShown;
  schedule: Record<string, unknown> | null;
  visits: ReportedVisit[];
  sessions: ReportedSession[];
  metrics: MetricCourse[];
  modules: TaskReport[];
  signatures: SignedRecord[];
}
export interface SessionData {
  study: ReportedStudy;
  identity: ReportedPerson;
  session: ReportedSession;
  /** Of its start, in the site's time zone. */
  day: string;
  tasks: SessionTask[];
  modules: TaskReport[];
}

/** A document's statements about itself. */
export interface Imprint {
  generated_at: string;
  checksum: string;
  audit: { seq: number; head: string };
  filters: Record<string, string | null>;
  language: ReportLanguage;
  page_size: 'letter' | 'a4';
}

export type Task =
  | { kind: 'study'; data: StudyData; imprint: Imprint }
  | { kind: 'participant'; data: ParticipantData; imprint: Imprint }
  | { kind: 'session'; data: SessionData; imprint: Imprint }
  | { kind: 'plot'; plot: Plot; language: ReportLanguage; theme: PictureTheme };

/** The plots of a study. */
export const studyPlots = ['enrollment', 'completion', 'adherence', 'metrics'] as const;
/** All plots: those of a study, and that of a participant. */
export const plotNames = [...studyPlots, 'course'] as const;
export type PlotName = (typeof plotNames)[number];

interface PlotData {
  enrollment: EnrollmentCurve;
  completion: WindowCompletion[];
  adherence: AdherenceCell[];
  metrics: TaskReport[];
  course: { participant_code: string; metrics: MetricCourse[]; modules: TaskReport[] };
}
export type PlotOf<Name extends PlotName> = { name: Name; data: PlotData[Name] };
export type Plot = { [Name in PlotName]: PlotOf<Name> }[PlotName];
