import { visitKey } from '../../../db/audit/hashing.js';
import type { StandardStudy, Subject } from '../../../db/exports/standards.queries.js';
import { unitOfMetric } from '../../../workflows/domain/assessment/metric-ranges.js';
import { writable } from './odm/xml.js';

/** FHIR R4: https://hl7.org/fhir/R4 */
export const FHIR_VERSION = '4.0.1';
type Resource = Record<string, unknown> & { resourceType: string; id: string };

const STUDY_STATUS: Record<string, string> = {
  draft: 'in-review',
  active: 'active',
  paused: 'temporarily-closed-to-accrual-and-intervention',
  completed: 'completed',
  archived: 'administratively-completed',
};
const CONSENT_STATUS = { pending: 'proposed', signed: 'active', declined: 'rejected', revoked: 'inactive' } as const;

/** Removes fields without a value: FHIR has no null. */
const given = <T extends Record<string, unknown>>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)) as T;
const reference = (id: string) => ({ reference: `urn:uuid:${id}` });

/**
 * A period whose start is not after its end (rule per-1 of HL7). FHIR can't compare a day with an instant; validators
 * treat the day as its first moment. So an end on the day of the start becomes that day, and an end before it removes
 * the start, which was never reached.
 */
function period(start: string | null, end: string | null) {
  if (start === null && end === null) return undefined;
  if (start === null || end === null) return given({ start, end });
  const bothInstants = start.length > DAY_LENGTH && end.length > DAY_LENGTH;
  const [from, to] = bothInstants ? [start, end] : [start.slice(0, DAY_LENGTH), end.slice(0, DAY_LENGTH)];
  if (bothInstants ? Date.parse(from) > Date.parse(to) : from > to) return { end };
  return from === to && !bothInstants ? { start: from, end: to } : { start, end };
}
const DAY_LENGTH = 'YYYY-MM-DD'.length;

/**
 * A participant as a bundle: study, research subject, consents, and an observation for each task of each session. R4
 * requires a patient, which has the participant's code and no other personal data.
 */
export function fhirBundle(
  study: StandardStudy,
  subject: Subject,
  base: string,
  instant: string,
): Record<string, unknown> {
  const system = (what: string) => `${base}/fhir/${what}`;
  // One person may have several records: the ids that the bundle creates are derived from the record's id.
  const patientId = visitKey(subject.id, 'fhir Patient');
  const resources: Resource[] = [
    given({
      resourceType: 'ResearchStudy',
      id: study.id,
      identifier: [{ system: system('study-code'), value: study.study_code }],
      title: writable(study.study_name),
      status: STUDY_STATUS[study.status] ?? 'active',
      description: study.description?.trim() ? writable(study.description) : null,
      period: period(study.start_date, study.end_date),
    }),
    {
      resourceType: 'Patient',
      id: patientId,
      identifier: [{ system: system(`participant-code/${encodeURIComponent(study.study_code)}`), value: subject.code }],
      active: subject.status === 'enrolled',
    },
    given({
      resourceType: 'ResearchSubject',
      id: subject.id,
      identifier: [{ system: system(`participant-code/${encodeURIComponent(study.study_code)}`), value: subject.code }],
      status:
        subject.status === 'withdrawn' ? 'withdrawn' : subject.enrollment_date === null ? 'candidate' : 'on-study',
      period: period(subject.enrollment_date, subject.withdrawn_at),
      study: reference(study.id),
      individual: reference(patientId),
      assignedArm: subject.randomization?.arm ?? subject.arm,
      consent: referenced(subject.consents.find(({ status }) => status === 'signed')?.id),
    }),
    ...subject.consents.map((consent) => consentOf(consent, patientId, system)),
    ...subject.sessions.flatMap((session) =>
      Object.entries(session.tasks).flatMap(([task, summary]) =>
        observationOf(session, task, summary, { study, patientId, system }),
      ),
    ),
  ];
  return {
    resourceType: 'Bundle',
    id: visitKey(subject.id, `fhir Bundle ${instant}`),
    type: 'collection',
    timestamp: instant,
    entry: resources.map((resource) => ({ fullUrl: `urn:uuid:${resource.id}`, resource })),
  };
}

const referenced = (id: string | undefined) => (id === undefined ? undefined : reference(id));

function consentOf(
  { id, status, consent_version_id, purpose, signed_at, revoked_at, created_at, imported }: Subject['consents'][number],
  patientId: string,
  system: Around['system'],
): Resource {
  return given({
    resourceType: 'Consent',
    id,
    meta: imported ? importedTag(system) : undefined,
    status: CONSENT_STATUS[status],
    scope: {
      coding: [{ system: 'http://terminology.hl7.org/CodeSystem/consentscope', code: 'research', display: 'Research' }],
    },
    category: [
      {
        coding: [{ system: 'http://loinc.org', code: '59284-0', display: 'Consent Document' }],
        ...(purpose?.trim() && { text: writable(purpose) }),
      },
    ],
    patient: reference(patientId),
    dateTime: signed_at ?? created_at,
    // R4 requires a policy: the agreed version. A text is never empty.
    policyRule: { text: consent_version_id?.trim() ? writable(consent_version_id) : 'not stated' },
    // This service has not verified an import's claims.
    verification: imported ? [{ verified: false }] : undefined,
    provision: revoked_at === null ? undefined : { period: period(signed_at, revoked_at) },
  });
}

const importedTag = (system: Around['system']) => ({
  tag: [{ system: system('origin'), code: 'imported', display: 'It came with a full import' }],
});

interface Around {
  study: StandardStudy;
  patientId: string;
  system: (what: string) => string;
}

/** A task of a session with its metrics as components; one without metrics is omitted. */
function observationOf(
  { id, status, started_at, completed_at }: Subject['sessions'][number],
  task: string,
  summary: Record<string, unknown>,
  { study, patientId, system }: Around,
): Resource[] {
  const metrics = Object.entries(summary).filter((entry): entry is [string, number] => typeof entry[1] === 'number');
  if (metrics.length === 0) return [];
  return [
    {
      resourceType: 'Observation',
      id: visitKey(id, `fhir Observation ${task}`),
      extension: [
        { url: 'http://hl7.org/fhir/StructureDefinition/workflow-researchStudy', valueReference: reference(study.id) },
      ],
      identifier: [{ system: system('session'), value: id }],
      status: status === 'completed' ? 'final' : 'preliminary',
      category: [
        {
          coding: [
            { system: 'http://terminology.hl7.org/CodeSystem/observation-category', code: 'survey', display: 'Survey' },
          ],
        },
      ],
      code: { coding: [{ system: system('task'), code: codeOf(task) }], text: writable(task) },
      subject: reference(patientId),
      // If the device's clock was set back during the session, its end is before its start.
      ...(completed_at === null || Date.parse(completed_at) < Date.parse(started_at)
        ? { effectiveDateTime: started_at }
        : { effectivePeriod: { start: started_at, end: completed_at } }),
      component: metrics.map(([metric, value]) => ({
        code: { coding: [{ system: system('metric'), code: codeOf(metric) }], text: writable(metric) },
        valueQuantity: unitOfMetric(metric)
          ? { value, unit: 'ms', system: 'http://unitsofmeasure.org', code: 'ms' }
          : { value },
      })),
    },
  ];
}

/** A code has no blanks at its ends and no double blanks. */
const codeOf = (name: string): string => writable(name).trim().replaceAll(/\s+/g, ' ') || '-';
