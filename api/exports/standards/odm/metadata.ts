import { createHash } from 'node:crypto';
import type { StandardStudy, StudyShape } from '../../../../db/exports/standards.queries.js';
import { COMMON, VISIT, formsOf } from './forms.js';
import type { OdmForm, OdmItem } from './forms.js';
import { element, textElement } from './xml.js';

/** All definitions that a document's clinical data reference. */
export interface Metadata {
  studyOid: string;
  versionOid: string;
  tasks: ReadonlyMap<string, OdmForm>;
  forms: ReadonlyMap<string, OdmForm>;
  events: ReadonlySet<string>;
  study: string;
  admin: string;
}

export const COMMON_EVENT = 'SE.COMMON';
/** For a visit scheduled by hand, or whose window was deleted from the plan. */
export const UNSCHEDULED_EVENT = 'SE.UNSCHEDULED';
export const eventOid = (kind: 'window' | 'event', code: string): string =>
  `SE.${kind === 'window' ? 'WINDOW' : 'EVENT'}.${code}`;
export const locationOid = (siteCode: string): string => `LOC.${siteCode}`;

/** The study of a document: events, forms, items, code lists and sites. The same plan has the same version OID. */
export function metadataOf(study: StandardStudy, shape: StudyShape): Metadata {
  const { tasks, forms } = formsOf(shape);
  const own = [...forms.values()],
    measured = [...tasks.values()];
  const events = [
    {
      oid: COMMON_EVENT,
      name: 'Of the participant',
      type: 'Common',
      repeating: false,
      forms: [...COMMON, ...own, ...measured],
    },
    ...shape.events.map(({ kind, code, name }) => ({
      oid: eventOid(kind, code),
      name,
      type: 'Scheduled',
      repeating: true,
      forms: [VISIT, ...measured],
    })),
    {
      oid: UNSCHEDULED_EVENT,
      name: 'Unscheduled visit',
      type: 'Unscheduled',
      repeating: true,
      forms: [VISIT, ...measured],
    },
  ];
  const all = [...COMMON, VISIT, ...own, ...measured];
  const items = all.flatMap((form) => form.items);
  const definitions = [
    element(
      'Protocol',
      {},
      events.map(({ oid }, index) =>
        element('StudyEventRef', { StudyEventOID: oid, OrderNumber: index + 1, Mandatory: 'No' }),
      ),
    ),
    ...events.map(({ oid, name, type, repeating, forms: of }) =>
      element(
        'StudyEventDef',
        { OID: oid, Name: name, Repeating: yes(repeating), Type: type },
        of.map((form, index) => element('FormRef', { FormOID: form.oid, OrderNumber: index + 1, Mandatory: 'No' })),
      ),
    ),
    ...all.map((form) =>
      element(
        'FormDef',
        { OID: form.oid, Name: form.name, Repeating: yes(form.repeating) },
        element('ItemGroupRef', { ItemGroupOID: groupOid(form), Mandatory: 'No' }),
      ),
    ),
    ...all.map((form) =>
      element(
        'ItemGroupDef',
        { OID: groupOid(form), Name: form.name, Repeating: 'No' },
        form.items.map((item, index) =>
          element('ItemRef', { ItemOID: item.oid, OrderNumber: index + 1, Mandatory: 'No' }),
        ),
      ),
    ),
    ...items.map(itemDef),
    ...codeLists(items),
  ].join('\n');
  const versionOid = `MDV.${createHash('sha256').update(definitions).digest('hex').slice(0, 16)}`;
  const studyOid = `S.${study.study_code}`;
  return {
    studyOid,
    versionOid,
    tasks,
    forms,
    events: new Set(events.map(({ oid }) => oid)),
    study: element('Study', { OID: studyOid }, [
      element('GlobalVariables', {}, [
        textElement('StudyName', study.study_name),
        textElement('StudyDescription', study.description ?? study.study_name),
        textElement('ProtocolName', study.study_code),
      ]),
      '\n' +
        element('MetaDataVersion', { OID: versionOid, Name: `Plan of ${study.study_code}` }, `\n${definitions}\n`) +
        '\n',
    ]),
    admin:
      shape.sites.length === 0
        ? ''
        : element(
            'AdminData',
            { StudyOID: studyOid },
            shape.sites.map(({ site_code, name }) =>
              element(
                'Location',
                { OID: locationOid(site_code), Name: name ?? site_code, LocationType: 'Site' },
                element('MetaDataVersionRef', {
                  StudyOID: studyOid,
                  MetaDataVersionOID: versionOid,
                  EffectiveDate: study.start_date ?? study.created_at.slice(0, 10),
                }),
              ),
            ),
          ),
  };
}

export const groupOid = (form: OdmForm): string => form.oid.replace(/^F\./, 'IG.');
const yes = (is: boolean): string => (is ? 'Yes' : 'No');
const listOid = (codes: readonly string[]): string => `CL.${codes.join('.')}`;

const itemDef = ({ oid, name, type, length, codes }: OdmItem): string =>
  element(
    'ItemDef',
    { OID: oid, Name: name, DataType: type, Length: type === 'text' || type === 'integer' ? length : undefined },
    codes ? element('CodeListRef', { CodeListOID: listOid(codes) }) : '',
  );

/** Each list once, however many items use it. */
function codeLists(items: readonly OdmItem[]): string[] {
  const lists = new Map(items.flatMap(({ codes }) => (codes ? [[listOid(codes), codes] as const] : [])));
  return [...lists].map(([oid, codes]) =>
    element(
      'CodeList',
      { OID: oid, Name: codes.join(', '), DataType: 'text' },
      codes.map((code) => element('EnumeratedItem', { CodedValue: code })),
    ),
  );
}
