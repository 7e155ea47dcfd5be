import type { OperatorLabels } from '../../workflows/contract.js';
import { consoleLinks } from '../../workflows/domain/util/console-links.js';
import type { AnchorSnapshot } from './snapshot.js';

/** The participant data that a deployment shows to Temporal's operators. */
export interface LabelOptions {
  publicUrl: string;
  /** Search attributes of the Temporal server: an unknown one would fail the workflow's task. */
  registered: ReadonlySet<string>;
  /** Participant codes are pseudonyms; not every study wants them there. */
  participantCodes: boolean;
  /** The staff console is enabled. */
  console: boolean;
}

/** The labels by which operators identify a participant. */
export function labelsOf(
  { row }: AnchorSnapshot,
  { publicUrl, registered, participantCodes, console }: LabelOptions,
): OperatorLabels {
  const page = consoleLinks(publicUrl, console)?.participant(row.participant_id);
  return {
    ...(registered.has('StudyCode') && { study_code: row.study_code }),
    ...(registered.has('ParticipantCode') && { participant_code: participantCodes ? row.participant_code : null }),
    ...(registered.has('WaitingFor') && { waiting_for: true as const }),
    timeline:
      `${publicUrl.replace(/\/+$/, '')}/api/studies/${row.study_id}/participants/${row.participant_id}/timeline` +
      `?format=html`,
    ...(page !== undefined && { console: page }),
  };
}
