import type { OperatorLabels } from '../../workflows/contract.js';
import type { ConsoleLinks } from '../../workflows/domain/util/console-links.js';
import type { AnchorSnapshot } from './snapshot.js';

/** What a deployment shows of participants to the operators of Temporal. */
export interface LabelOptions {
  publicUrl: string;
  /** Where the console is switched on. */
  pages?: ConsoleLinks | undefined;
  /** Search attributes that the Temporal server has: another one would fail the workflow's task. */
  registered: ReadonlySet<string>;
  /** Participant codes are pseudonyms; not every study wants them there. */
  participantCodes: boolean;
}

/** By what operators know the participant of a case. */
export function labelsOf(
  { row }: AnchorSnapshot,
  { publicUrl, pages, registered, participantCodes }: LabelOptions,
): OperatorLabels {
  return {
    ...(registered.has('StudyCode') && { study_code: row.study_code }),
    ...(registered.has('ParticipantCode') && { participant_code: participantCodes ? row.participant_code : null }),
    ...(registered.has('WaitingFor') && { waiting_for: true as const }),
    timeline: `${publicUrl.replace(/\/+$/, '')}/api/studies/${row.study_id}/participants/${row.participant_id}/timeline?format=html`,
    ...(pages && { page: pages.participant(row.participant_id) }),
  };
}
