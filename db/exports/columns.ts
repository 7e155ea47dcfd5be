/**
 * What a column holds, which says how it is written and what becomes of it in a de-identified export:
 * - text: what people wrote; a spreadsheet must not run it. Left out de-identified where `personal`
 * - word: one of the program's own words; kept
 * - code, id: of a person, place or record; pseudonyms de-identified
 * - date, instant: moved by the participant's days de-identified
 */
export type ColumnType = 'text' | 'word' | 'code' | 'id' | 'number' | 'boolean' | 'date' | 'instant' | 'json';
export interface Column {
  name: string;
  type: ColumnType;
  sql: string;
  about: string;
  /** The only values that there can be besides none. */
  values?: readonly string[];
  personal?: true;
}
export interface Dataset {
  columns: readonly Column[];
  /**
   * With the aliases that the columns use; `p` is the participant, `st` its site. Rows of what has no participant have
   * null there.
   */
  from: string;
  /**
   * A row of `from` stands for many, those of this select: columns of `r` are theirs, and come last. They are left out
   * of `from`.
   */
  each?: string;
  study: string;
  /** What `from` and `to` are held against: an expression of type date, in UTC. */
  date: string;
  /** Empty: as `from` gives them, by ids that say nothing. */
  order: string;
  /** It cannot be de-identified: why. */
  identified?: string;
}

const column =
  (type: ColumnType) =>
  (name: string, about: string, sql = `t.${name}`): Column => ({ name, type, sql, about });
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
export const choiceColumn = (values: readonly string[], name: string, about: string, sql?: string): Column => ({
  ...wordColumn(name, about, sql),
  values,
});
export const personalColumn = (one: Column): Column => ({ ...one, personal: true });

/** Of rows that name persons: what a full import says of them. */
export const claimedColumn = [
  boolean('imported', 'it came with a full import: nobody here has seen who did it'),
  id('imported_by', 'who imported it'),
  personalColumn(json('original_users', 'whom the imported document names, field by field')),
];
/** Of every row about a participant, in front. */
export const participantFilter = [
  id('participant_id', 'the participant', 'p.id'),
  code('participant_code', 'its code', 'p.participant_code'),
  code('site_code', 'its site', 'st.site_code'),
];
export const ofParticipant = (table: string) =>
  `${table} t join participants p on p.id = t.participant_id left join sites st on st.id = p.site_id`;
export const utcDate = (sql: string) => `(${sql} at time zone 'UTC')::date`;
