import type { MappingWarning } from './mapping-dictionary.js';

/** How long somebody who asked waits for the capture system. */
export const QUERY_SECONDS = 20;

/** Who asks: the row in which the API has noted whom it authenticated. What a message itself claims does not count. */
export interface Asking {
  question_id?: string;
  /** Read by workers of former releases alone. */
  actor_user_id: string | null;
  request_id: string | null;
}

/**
 * A question to a study's capture system, asked by the worker for the API. Only ids travel; a token that is not stored
 * yet travels sealed, for its address alone.
 */
export type CaptureQuestion =
  | ({ kind: 'test-connection'; study_id: string } & Asking)
  /** A connection before it is saved. Without a token of its own: with the stored one, which goes to its own server alone. */
  | { kind: 'try-connection'; study_id: string; api_url: string; sealed_token?: string }
  | { kind: 'instruments'; study_id: string }
  /** `follow`: what was renamed there is renamed here first, on behalf of whoever asks. */
  | { kind: 'events'; study_id: string; follow?: Asking }
  /** The mapping as stored, compared with the dictionary; `proposed` members stand in for the stored ones. */
  | { kind: 'check-mapping'; study_id: string; proposed: Record<string, unknown> };

export interface ConnectionReport {
  status: 'connected';
  project_title: string;
  project_id: string;
  is_longitudinal: boolean;
  record_count: number;
}
export interface Instrument {
  instrument_name: string;
  instrument_label: string;
}
export interface CaptureEvent {
  /** Stays when the event is renamed; empty where the capture system does not say it. */
  event_id: string;
  event_name: string;
  unique_event_name: string;
  arm_num: number;
  day_offset: number | null;
  offset_min: number | null;
  offset_max: number | null;
}

/** What came of it: a fault of the capture system is an answer, not an exception, so that it is told in words. */
export type CaptureAnswer =
  | {
      ok: true;
      connection?: ConnectionReport;
      instruments?: Instrument[];
      events?: CaptureEvent[];
      warnings?: MappingWarning[];
    }
  | { ok: false; error_type: string; message: string };

export const datacaptureQueryId = (uuid: string) => `datacapture-query/${uuid}`;
export const datacaptureQueryType = 'datacaptureQuery';
