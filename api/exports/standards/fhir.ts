import { visitKey } from '../../../db/audit/hashing.js';
import type { StandardStudy, Subject } from '../../../db/exports/standards.queries.js';

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
const RT = /(^|_)rt$|^interference$|^completion_time$/;

/** What has no value is not there: FHIR knows no null. */
const given = <T extends Record<string, unknown>>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)) as T;
const reference = (id: string) => ({ reference: `urn:uuid:${id}` });

/**
 * A period whose start is not after its end (rule per-1 of HL7). FHIR compares a day and an instant as unknown at best;
 * validators take the day as its first moment. So an end on the day of the start is that day, and an end before it
 * leaves the end alone: the start was never reached.
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
 * A participant as a bundle: the study, the subject in it, its consents, and an observation for each task of each
 * session. The patient that R4 asks for bears the participant's code and nothing else of the person.
 */
export function fhirBundle(study: StandardStudy, subject: Subject, base: string, at: string): Record<string, unknown> {
  const system = (what: string) => `${base}/fhir/${what}`;
  // Of one person several records may be kept: ids of what the bundle makes itself come of it.
  const patientId = visitKey(subject.id, 'fhir Patient');
  const resources: Resource[] = [
    given({
      resourceType: 'ResearchStudy',
      id: study.id,
      identifier: [{ system: system('study-code'), value: study.study_code }],
      title: study.study_name,
      status: STUDY_STATUS[study.status] ?? 'active',
      description: study.description === '' ? null : study.description,
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
    id: visitKey(subject.id, `fhir Bundle ${at}`),
    type: 'collection',
    timestamp: at,
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
        ...(purpose && { text: purpose }),
      },
    ],
    patient: reference(patientId),
    dateTime: signed_at ?? created_at,
    // R4 asks for a policy: the version that was agreed to.
    policyRule: { text: consent_version_id ?? 'not stated' },
    // What an import says of a person, nobody here has seen.
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

/** A task of a session with its metrics as components; one without any says nothing. */
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
      code: { coding: [{ system: system('task'), code: codeOf(task) }], text: task },
      subject: reference(patientId),
      ...(completed_at === null
        ? { effectiveDateTime: started_at }
        : { effectivePeriod: { start: started_at, end: completed_at } }),
      component: metrics.map(([metric, value]) => ({
        code: { coding: [{ system: system('metric'), code: codeOf(metric) }], text: metric },
        valueQuantity: RT.test(metric)
          ? { value, unit: 'ms', system: 'http://unitsofmeasure.org', code: 'ms' }
          : { value },
      })),
    },
  ];
}

/** A code has no blank at its ends and no two in a row. */
const codeOf = (name: string): string => name.trim().replaceAll(/\s+/g, ' ') || '-';
