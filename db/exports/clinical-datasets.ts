import { boolean, claims, id, instant, json, ofParticipant, oneOf, personal, text, utcDate, whose } from './columns.js';
import type { Column, Dataset } from './columns.js';
import { CONSENT_STATUS, ELIGIBILITY_STATUS, FORM_ORIGINS, FORM_STATUS, PROVED_BY, SIGNATURES } from './words.js';

/** What an electronic signature says. */
export const signature = (sql: string): Column[] => [
  personal(text('signer_name', 'printed name of the signer', `(${sql} ->> 'name')`)),
  personal(text('signature_meaning', 'what the signature means', `(${sql} ->> 'meaning')`)),
  oneOf(PROVED_BY, 'signature_proved_by', 'how the signer proved identity', `(${sql} ->> 'proved_by')`),
];

/** What was asked of a participant before it took part, and what was filled in about it. */
export const clinicalDatasets = {
  consents: {
    from: ofParticipant('consents'),
    study: 't.study_id',
    date: utcDate('t.created_at'),
    order: 'p.participant_code, t.created_at, t.id',
    columns: [
      id('id', 'the consent'),
      ...whose,
      text('consent_version_id', 'version of the consent that was asked for'),
      text('purpose', 'what it is for'),
      oneOf(CONSENT_STATUS, 'status', 'how it stands'),
      instant('signed_at', 'when it was signed'),
      instant('revoked_at', 'when it was taken back'),
      ...claims,
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
      ...whose,
      oneOf(ELIGIBILITY_STATUS, 'status', 'how it stands'),
      instant('confirmed_at', 'when it was confirmed'),
      id('confirmed_by_id', 'by whom'),
      json('inclusion_criteria', 'each criterion that has to hold, and whether it does'),
      json('exclusion_criteria', 'each criterion that must not hold, and whether it does'),
      boolean('has_waiver', 'a criterion was waived'),
      json('waiver_criteria_ids', 'which ones'),
      personal(text('waiver_reason', 'why')),
      id('waiver_approved_by_id', 'who approved it'),
      ...claims,
      instant('waiver_approved_at', 'when'),
      instant('created_at', 'when the record was made'),
      instant('updated_at', 'its last change'),
    ],
  },
  randomization: {
    from: ofParticipant('randomizations'),
    study: 't.study_id',
    date: utcDate('t.created_at'),
    order: 'p.participant_code, t.id',
    columns: [
      id('id', 'the randomization'),
      ...whose,
      text('arm', 'arm that the participant was given'),
      text('stratum', 'stratum that it was drawn in'),
      instant('randomized_at', 'when'),
      ...claims,
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
      ...whose,
      text('form_oid', 'which form'),
      oneOf(FORM_STATUS, 'status', 'how it stands'),
      oneOf(FORM_ORIGINS, 'origin', 'where it was filled in'),
      text('item_oid', 'the item; none: the form is empty', 'i.key'),
      personal(text('value', 'its value', `(i.value #>> '{}')`)),
      instant('signed_at', 'when it was signed'),
      id('signed_by_id', 'by whom'),
      ...signature('t.signature'),
      oneOf(
        SIGNATURES,
        'signature',
        'signed here, or of a document that this service signed: verified',
        `case when t.signed_at is null then null when t.imported and t.signed_by_id is null and t.signature_verified is not true then 'not verified' else 'verified' end`,
      ),
      ...claims,
      instant('locked_at', 'when it was closed to changes'),
      instant('created_at', 'when the record was made'),
      instant('updated_at', 'its last change'),
    ],
  },
} as const satisfies Record<string, Dataset>;
