import type { MappingWarning } from './mapping-dictionary.js';

/** How long a requester waits for the capture system. */
export const QUERY_SECONDS = 20;

/** The requester: the row in which the API stored the authenticated user. Claims in the message itself do not count. */
export interface Asking {
  question_id?: string;
  /** Only read by workers of former releases. */
  actor_user_id: string | null;
  request_id: string | null;
}

/**
 * A question to a study's capture system, sent by the API to the worker. It only contains ids; an unsaved token is
 * sealed, for its address only.
 */
export type CaptureQuestion =
  | ({ kind: 'test-connection'; study_id: string } & Asking)
  /**
   * A connection before it is saved. Without its own token: with the stored one, which is only sent to its own server.
   */
  | { kind: 'try-connection'; study_id: string; api_url: string; sealed_token?: string }
  | { kind: 'instruments'; study_id: string }
  /** `follow`: renames in the capture system are applied first, on behalf of the requester. */
  | { kind: 'events'; study_id: string; follow?: Asking }
  /** The stored mapping, compared with the dictionary; `proposed` members replace stored ones. */
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
  /** Stays when the event is renamed; empty if the capture system lacks it. */
  event_id: string;
  event_name: string;
  unique_event_name: string;
  arm_num: number;
  day_offset: number | null;
  offset_min: number | null;
  offset_max: number | null;
}

/** The answer: a fault of the capture system is an answer with a message, not an exception. */
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
