import { isSetAside } from '../scheduling/effective-status.js';

/**
 * The content of a column, which decides its format and its de-identification:
 * - text: free text; a spreadsheet must not run it. Removed by de-identification where `personal`
 * - word: one of the program's own words; kept
 * - code, id: of a person, place or record; replaced by pseudonyms
 * - date, instant: shifted by the participant's number of days
 */
export type ColumnType = 'text' | 'word' | 'code' | 'id' | 'number' | 'boolean' | 'date' | 'instant' | 'json';
export interface DatasetColumn {
  name: string;
  type: ColumnType;
  sql: string;
  about: string;
  /** The only possible values besides null. */
  values?: readonly string[];
  personal?: true;
  /** In place of `sql` where the export is de-identified. */
  anonymous?: string;
}
export interface Dataset {
  columns: readonly DatasetColumn[];
  /**
   * With the aliases that the columns use; `p` is the participant, `st` its site. Null for rows without a participant.
   * `:study` is the study, `:filtered` whether only some participants or one site are asked for.
   */
  from: string;
  /**
   * A select of many rows for each row of `from`. Its columns are those of `r`, and come last.
   */
  each?: string;
  /** With `each`: the number of its rows. */
  eachTotal?: string;
  study: string;
  /** The date that `from` and `to` filter: an expression of type date, in UTC. */
  date: string;
  /** Empty: the order of `from`, by random ids. */
  order: string;
  /** Why it cannot be de-identified. */
  identified?: string;
}

const column =
  (type: ColumnType) =>
  (name: string, about: string, sql = `t.${name}`): DatasetColumn => ({ name, type, sql, about });
export const textColumn = column('text'),
  code = column('code'),
  id = column('id'),
  date = column('date'),
  instant = column('instant');
export const wordColumn = column('word'),
  number = column('number'),
  boolean = column('boolean'),
  json = column('json');
/** A word of a closed list. */
export const choiceColumn = (values: readonly string[], name: string, about: string, sql?: string): DatasetColumn => ({
  ...wordColumn(name, about, sql),
  values,
});
/**
 * The name of a visit `alias`, of the window `w` or the event `e`. People make up names of unscheduled visits, and
 * rename others: de-identified rows have the plan's name.
 */
export const visitNameColumn = (name: string, alias: string): DatasetColumn => ({
  ...textColumn(name, 'name of the visit; de-identified: its name in the plan', `${alias}.name`),
  anonymous:
    `case when ${alias}.schedule_version_id is not null then coalesce(${alias}.changed_from->>'name', ${alias}.name) ` +
    'else coalesce(w.name, e.name) end',
});
export const personalColumn = (one: DatasetColumn): DatasetColumn => ({ ...one, personal: true });

/** For rows that name persons: what a full import claims of them. */
export const claimedColumn = [
  boolean('imported', 'it came with a full import: nobody here has seen who did it'),
  id('imported_by', 'who imported it'),
  personalColumn(json('original_users', 'whom the imported document names, field by field')),
];
/** The first columns of every row about a participant. */
export const participantFilter = [
  id('participant_id', 'the participant', 'p.id'),
  code('participant_code', 'its code', 'p.participant_code'),
  code('site_code', 'its site', 'st.site_code'),
];
/** Of a session `t`. */
export const setAsideColumn = boolean(
  'set_aside',
  'the session was set aside when a sync conflict was resolved: it counts in no report',
  isSetAside('t'),
);
export const ofParticipant = (table: string) =>
  `${table} t join participants p on p.id = t.participant_id left join sites st on st.id = p.site_id`;
export const utcDate = (sql: string) => `(${sql} at time zone 'UTC')::date`;
