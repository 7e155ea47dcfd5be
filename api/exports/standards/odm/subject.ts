import type { Signature } from '../../../../db/models/records.js';
import type { Subject } from '../../../../db/exports/standards.queries.js';
import {
  CONSENT,
  ELIGIBILITY,
  RANDOMIZATION,
  SUBJECT,
  VISIT,
  filledIn,
  itemsByKey,
  measuredValue,
  subjectValues,
} from './forms.js';
import type { DataType, OdmForm, OdmValues } from './forms.js';
import { COMMON_EVENT, UNSCHEDULED_EVENT, eventOid, groupOid, locationOid } from './metadata.js';
import type { Metadata } from './metadata.js';
import { element } from './xml.js';

type Session = Subject['sessions'][number];
interface Filled {
  form: OdmForm;
  values: OdmValues;
}

/**
 * All data of one participant: data without a visit in the common event, each visit as an event with its sessions'
 * tasks.
 */
export function subjectData(subject: Subject, metadata: Metadata): string {
  const { visits, sessions, site_code, code } = subject;
  const shown = new Set(visits.map(({ id }) => id));
  const ofVisit = (id: string) => sessions.filter(({ visit_id }) => visit_id === id);
  const common: Filled[] = [
    { form: SUBJECT, values: subjectValues(subject) },
    ...(subject.randomization ? [{ form: RANDOMIZATION, values: subject.randomization }] : []),
    ...(subject.eligibility ? [{ form: ELIGIBILITY, values: subject.eligibility }] : []),
    ...subject.consents.map((values) => ({ form: CONSENT, values: { ...values } })),
    ...subject.forms.flatMap(({ form_oid, status, signed_at, signature, items }) => {
      const form = metadata.forms.get(form_oid);
      return form
        ? [
            {
              form,
              values: {
                ...itemsByKey(items, filledIn),
                form_status: status,
                signed_at,
                ...(signature && signedBy(signature)),
              },
            },
          ]
        : [];
    }),
    ...tasksOf(
      sessions.filter(({ visit_id }) => visit_id === null || !shown.has(visit_id)),
      metadata,
    ),
  ];
  const repeats = new Map<string, number>();
  const events = visits.map((visit) => {
    const named =
      visit.window_code !== null
        ? eventOid('window', visit.window_code)
        : visit.event_oid !== null
          ? eventOid('event', visit.event_oid)
          : UNSCHEDULED_EVENT;
    const oid = metadata.events.has(named) ? named : UNSCHEDULED_EVENT;
    const key = (repeats.get(oid) ?? 0) + 1;
    repeats.set(oid, key);
    return element(
      'StudyEventData',
      { StudyEventOID: oid, StudyEventRepeatKey: key },
      formData([{ form: VISIT, values: { ...visit } }, ...tasksOf(ofVisit(visit.id), metadata)]),
    );
  });
  return element('SubjectData', { SubjectKey: code }, [
    site_code === null ? '' : element('SiteRef', { LocationOID: locationOid(site_code) }),
    element('StudyEventData', { StudyEventOID: COMMON_EVENT }, formData(common)),
    ...events,
  ]);
}

/** Each task of each session as a form. */
const tasksOf = (sessions: readonly Session[], { tasks }: Metadata): Filled[] =>
  sessions.flatMap(({ id, status, tasks: done, ...session }) =>
    Object.entries(done).flatMap(([task, summary]) => {
      const form = tasks.get(task);
      return form
        ? [
            {
              form,
              values: { ...session, ...itemsByKey(summary, measuredValue), session_id: id, session_status: status },
            },
          ]
        : [];
    }),
  );

/** A value in its type's notation: a float is a decimal, without an exponent. */
const valueOf = (value: unknown, type: DataType): string =>
  typeof value === 'number' && type === 'float'
    ? decimal(value)
    : type === 'text' && typeof value === 'object'
      ? JSON.stringify(value)
      : String(value);

function decimal(value: number): string {
  const parts = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(String(value));
  if (!parts) return String(value);
  const [, sign, first, others = '', exponent] = parts;
  const digits = `${first}${others}`;
  const whole = Number(exponent) + 1;
  return whole > 0 ? `${sign}${digits.padEnd(whole, '0')}` : `${sign}0.${'0'.repeat(-whole)}${digits}`;
}

/** Forms in the given order; repeatable ones are numbered. */
function formData(filled: readonly Filled[]): string[] {
  const repeats = new Map<string, number>();
  return filled.map(({ form, values }) => {
    const key = (repeats.get(form.oid) ?? 0) + 1;
    repeats.set(form.oid, key);
    const items = form.items.flatMap(({ oid, key: name, type }) => {
      const value = values[name];
      return value === null || value === undefined || (value === '' && type !== 'text')
        ? []
        : [
            element('ItemData', {
              ItemOID: oid,
              Value: valueOf(value, type),
            }),
          ];
    });
    return element(
      'FormData',
      { FormOID: form.oid, FormRepeatKey: form.repeating ? key : undefined },
      element('ItemGroupData', { ItemGroupOID: groupOid(form) }, items),
    );
  });
}

/** The items of a form's signature. */
const signedBy = ({ name, meaning, proved_by }: Signature): OdmValues => ({
  signer_name: name,
  signature_meaning: meaning,
  signature_proved_by: proved_by,
});
