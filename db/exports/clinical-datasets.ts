import {
  boolean,
  claimedColumn,
  id,
  instant,
  json,
  ofParticipant,
  choiceColumn,
  personalColumn,
  textColumn,
  utcDate,
  participantFilter,
} from './columns.js';
import type { DatasetColumn, Dataset } from './columns.js';
import { CONSENT_STATUS, ELIGIBILITY_STATUS, FORM_ORIGINS, FORM_STATUS, PROVED_BY, SIGNATURES } from './words.js';

/** The columns of an electronic signature. */
export const signatureColumns = (sql: string): DatasetColumn[] => [
  personalColumn(textColumn('signer_name', 'printed name of the signer', `(${sql} ->> 'name')`)),
  personalColumn(textColumn('signature_meaning', 'what the signature means', `(${sql} ->> 'meaning')`)),
  choiceColumn(PROVED_BY, 'signature_proved_by', 'how the signer proved identity', `(${sql} ->> 'proved_by')`),
];

/** Prerequisites of participants, and their forms. */
export const clinicalDatasets = {
  consents: {
    from: ofParticipant('consents'),
    study: 't.study_id',
    date: utcDate('t.created_at'),
    order: 'p.participant_code, t.created_at, t.id',
    columns: [
      id('id', 'the consent'),
      ...participantFilter,
      textColumn('consent_version_id', 'version of the consent that was asked for'),
      textColumn('purpose', 'what it is for'),
      choiceColumn(CONSENT_STATUS, 'status', 'how it stands'),
      instant('signed_at', 'when it was signed'),
      instant('revoked_at', 'when it was taken back'),
      ...claimedColumn,
      instant('created_at', 'when the record was made'),
      instant('updated_at', 'its last change'),
    ],
  },
  eligibility: {
    from: ofParticipant('eligibility_assessments'),
    study: 't.study_id',
    date: utcDate('t.created_at'),
    order: 'p.participant_code, t.id',
    columns: [
      id('id', 'the assessment'),
      ...participantFilter,
      choiceColumn(ELIGIBILITY_STATUS, 'status', 'how it stands'),
      instant('confirmed_at', 'when it was confirmed'),
      id('confirmed_by_id', 'by whom'),
      json('inclusion_criteria', 'each criterion that has to hold, and whether it does'),
      json('exclusion_criteria', 'each criterion that must not hold, and whether it does'),
      boolean('has_waiver', 'a criterion was waived'),
      json('waiver_criteria_ids', 'which ones'),
      personalColumn(textColumn('waiver_reason', 'why')),
      id('waiver_approved_by_id', 'who approved it'),
      ...claimedColumn,
      instant('waiver_approved_at', 'when'),
      instant('created_at', 'when the record was made'),
      instant('updated_at', 'its last change'),
      id('waiver_requested_by_id', 'who wrote the waiver'),
      json('source_documents', 'the documents that were seen: type, reference, date'),
    ],
  },
  randomization: {
    from: ofParticipant('randomizations'),
    study: 't.study_id',
    date: utcDate('t.created_at'),
    order: 'p.participant_code, t.id',
    columns: [
      id('id', 'the randomization'),
      ...participantFilter,
      textColumn('arm', 'arm that the participant was given'),
      textColumn('stratum', 'stratum that it was drawn in'),
      instant('randomized_at', 'when'),
      ...claimedColumn,
      instant('created_at', 'when the record was made'),
    ],
  },
  forms: {
    from: `${ofParticipant('form_instances')} left join lateral jsonb_each(t.items) i on true`,
    study: 't.study_id',
    date: utcDate('t.created_at'),
    order: 'p.participant_code, t.form_oid, t.created_at, t.id, i.key',
    columns: [
      id('form_id', 'the form that was filled in', 't.id'),
      ...participantFilter,
      textColumn('form_oid', 'which form'),
      choiceColumn(FORM_STATUS, 'status', 'how it stands'),
      choiceColumn(FORM_ORIGINS, 'origin', 'where it was filled in'),
      textColumn('item_oid', 'the item; none: the form is empty', 'i.key'),
      personalColumn(textColumn('value', 'its value', `(i.value #>> '{}')`)),
      instant('signed_at', 'when it was signed'),
      id('signed_by_id', 'by whom'),
      ...signatureColumns('t.signature'),
      choiceColumn(
        SIGNATURES,
        'signature',
        'signed here, or of a document that this service signed: verified',
        'case when t.signed_at is null then null when t.imported and t.signed_by_id is null and ' +
          `t.signature_verified is not true then 'not verified' else 'verified' end`,
      ),
      ...claimedColumn,
      instant('locked_at', 'when it was closed to changes'),
      instant('created_at', 'when the record was made'),
      instant('updated_at', 'its last change'),
    ],
  },
} as const satisfies Record<string, Dataset>;
