import { heldInAnyCase, namesRecords } from '../../db/capture/record-spellings.queries.js';
import { importSites, knownParticipants } from '../../db/imports/participant-import.queries.js';
import type { KnownParticipant } from '../../db/imports/participant-import.queries.js';
import { IDENTITY } from '../../db/participants/erasure.queries.js';
import { studyHasEnded } from '../../db/studies/study-ended.js';
import { nowMs } from '../../db/client/clock.js';
import { FIRST_LIVED_DAY, latestDay } from '../../workflows/domain/util/dates.js';
import type { ReadRow, RowFault, RowFields } from './files/rows.js';
import type { Tx } from '../../db/client/database.js';

/** The first error of a row; `others` are the rest. */
export interface RowError extends RowFault {
  row: number;
  others?: RowFault[];
}
/** A row to be written. `siteId` undefined: no site, or a new one. */
export interface PlannedRow {
  row: number;
  fields: RowFields & { participant_code: string };
  siteId?: string | undefined;
}
/** The plan for the rows of a portion. `newSites`: those that no earlier portion created. */
export interface ImportPlan {
  fresh: PlannedRow[];
  changed: (PlannedRow & { known: KnownParticipant; changes: string[] })[];
  skipped: (PlannedRow & { reason: 'DUPLICATE_PARTICIPANT_CODE' | 'DUPLICATE_IN_FILE' | 'UNCHANGED' })[];
  errors: RowError[];
  newSites: string[];
}

interface Rules {
  skip_duplicates: boolean;
  create_missing_sites: boolean;
  mode: 'insert' | 'upsert';
}

/**
 * Decides every row in the file's order: accepted, skipped or invalid. Of several rows with the same code the first
 * valid one counts. It plans portion by portion, after the earlier ones were written, but as if nothing of the file
 * were written yet: the result must not depend on the size of a portion.
 */
export class ImportPlanner {
  /** Codes used by rows of the file. */
  readonly inFile = new Set<string>();
  /**
   * External ids that rows of the file took or gave up, by the code that has or had them: no other row gets one that
   * was given up.
   */
  readonly holders = new Map<string, string>();
  readonly newSites = new Set<string>();
  /** A date of birth after this day is in the future. */
  readonly latestDay = latestDay(nowMs());

  private constructor(
    private readonly tx: Tx,
    private readonly studyId: string,
    readonly sites: Awaited<ReturnType<typeof importSites>>,
    readonly rules: Rules,
    /** The external ids are records of a capture system, which ignores case. */
    private readonly ofRecords: boolean,
    /** The study has ended: it enrolls nobody, and those who are enrolled are corrected. */
    readonly closed: boolean,
  ) {}

  static async of(tx: Tx, studyId: string, rules: Rules): Promise<ImportPlanner> {
    return new ImportPlanner(
      tx,
      studyId,
      await importSites(tx, studyId),
      rules,
      await namesRecords(tx, studyId),
      await studyHasEnded(tx, studyId),
    );
  }

  /** Equal for the external ids of which only one participant may have one. */
  keyOf(externalId: string): string {
    const composed = externalId.normalize('NFC');
    return this.ofRecords ? composed.toLowerCase() : composed;
  }

  /** Plans the next rows; one statement reads the study's existing data for them. */
  async plan(rows: readonly ReadRow[]): Promise<ImportPlan> {
    // Invalid values belong to no participant, and a query may be unable to carry them.
    const right = (field: 'participant_code' | 'external_id') =>
      rows.flatMap(({ fields, faults }) =>
        fields[field] === undefined || faults.some((fault) => fault.field === field) ? [] : fields[field],
      );
    const known = await knownParticipants(
      this.tx,
      this.studyId,
      this.sites.at,
      right('participant_code'),
      right('external_id'),
    );
    const others = this.ofRecords
      ? await heldInAnyCase(this.tx, this.studyId, this.sites.at, right('external_id'))
      : [];
    return new Portion(this, known, others).plan(rows);
  }
}

const taken = (field: 'participant_code' | 'external_id', where: string): RowFault => ({
  field,
  code: field === 'participant_code' ? 'DUPLICATE_PARTICIPANT_CODE' : 'DUPLICATE_EXTERNAL_ID',
  message: `${field} is that of another ${where}`,
});

const studyClosed: RowFault = {
  field: null,
  code: 'STUDY_CLOSED',
  message: 'The study is completed or archived: it enrolls nobody',
};

const siteClosed: RowFault = {
  field: 'site_code',
  code: 'SITE_CLOSED',
  message: 'The site is closed (inactive): nobody is enrolled there, or moved to it',
};

/** What is not kept any more of a known participant; PATCH refuses it as well. */
export const erasedFaults = (fields: RowFields, { erased }: KnownParticipant): RowFault[] =>
  IDENTITY.filter((field) => erased && fields[field] !== undefined).map((field) => ({
    field,
    code: 'ERASED',
    message: `${field} is not kept of a participant whose identity was erased`,
  }));

class Portion {
  private readonly plan_: ImportPlan = { fresh: [], changed: [], skipped: [], errors: [], newSites: [] };
  private readonly byCode: Map<string, KnownParticipant>;
  private readonly codeOfExternal: Map<string, string>;

  constructor(
    private readonly file: ImportPlanner,
    known: readonly KnownParticipant[],
    others: readonly Pick<KnownParticipant, 'participant_code' | 'external_id'>[],
  ) {
    this.byCode = new Map(known.map((one) => [one.participant_code, one]));
    this.codeOfExternal = new Map(
      [...known, ...others].flatMap((one) =>
        one.external_id === null ? [] : [[file.keyOf(one.external_id), one.participant_code] as const],
      ),
    );
  }

  plan(rows: readonly ReadRow[]): ImportPlan {
    for (const row of rows) this.decide(row);
    this.plan_.newSites.sort();
    return this.plan_;
  }

  private decide({ row, fields, faults }: ReadRow): void {
    const code = fields.participant_code;
    if (code === undefined || faults.some(({ field }) => field === 'participant_code' || field === null))
      return this.refuse(row, faults);
    const { rules, inFile } = this.file;
    const planned: PlannedRow = { row, fields: fields as PlannedRow['fields'] };
    const known = this.byCode.get(code);
    // A record of the capture system keeps its decomposed letters.
    if (known?.external_id && known.external_id.normalize('NFC') === fields.external_id)
      planned.fields = { ...planned.fields, external_id: known.external_id };
    const repeated = inFile.has(code);
    if (repeated || (known && rules.mode === 'insert')) {
      if (!rules.skip_duplicates)
        return this.refuse(row, [taken('participant_code', repeated ? 'row of the file' : 'participant of the study')]);
      this.plan_.skipped.push({ ...planned, reason: repeated ? 'DUPLICATE_IN_FILE' : 'DUPLICATE_PARTICIPANT_CODE' });
      return;
    }
    const all = [
      ...faults,
      ...(known ? erasedFaults(fields, known) : this.file.closed ? [studyClosed] : []),
      ...this.siteFaults(fields.site_code, known),
      ...this.externalFaults(fields.external_id, code),
      ...(faults.some(({ field }) => field === 'date_of_birth') ? [] : this.birthFaults(fields.date_of_birth)),
    ];
    if (all.length > 0) return this.refuse(row, all);
    this.take(planned, known);
  }

  private refuse(row: number, [first, ...others]: readonly RowFault[]): void {
    this.plan_.errors.push({ row, ...first!, ...(others.length > 0 && { others }) });
  }

  private siteFaults(siteCode: string | undefined, known: KnownParticipant | undefined): RowFault[] {
    const {
      sites: { sites, withoutSite },
      rules,
    } = this.file;
    const far: RowFault[] = [
      { field: 'site_code', code: 'SITE_NOT_ASSIGNED', message: 'You are not assigned to that site' },
    ];
    if (siteCode === undefined) return withoutSite || known ? [] : far;
    const site = sites.get(siteCode);
    if (site && !site.in_reach) return far;
    if (site) return site.closed && site.id !== known?.site_id ? [siteClosed] : [];
    return rules.create_missing_sites
      ? []
      : [{ field: 'site_code', code: 'UNKNOWN_SITE', message: 'site_code is not a site of the study' }];
  }

  private birthFaults(born: string | undefined): RowFault[] {
    if (born === undefined) return [];
    const fault = (code: string, where: string) => [
      { field: 'date_of_birth', code, message: `date_of_birth lies ${where}` },
    ];
    if (born > this.file.latestDay) return fault('IN_FUTURE', 'in the future');
    return born < FIRST_LIVED_DAY ? fault('OUT_OF_RANGE', `before ${FIRST_LIVED_DAY}`) : [];
  }

  private externalFaults(externalId: string | undefined, code: string): RowFault[] {
    const key = externalId === undefined ? undefined : this.file.keyOf(externalId);
    const holder = key === undefined ? undefined : (this.file.holders.get(key) ?? this.codeOfExternal.get(key));
    return holder !== undefined && holder !== code
      ? [taken('external_id', this.file.inFile.has(holder) ? 'row of the file' : 'participant of the study')]
      : [];
  }

  private take(planned: PlannedRow, known: KnownParticipant | undefined): void {
    const { external_id, site_code, participant_code } = planned.fields;
    const {
      inFile,
      holders,
      sites: { sites },
      newSites,
    } = this.file;
    inFile.add(participant_code);
    if (external_id !== undefined) {
      holders.set(this.file.keyOf(external_id), participant_code);
      if (known?.external_id) holders.set(this.file.keyOf(known.external_id), participant_code);
    }
    planned.siteId = site_code === undefined ? undefined : sites.get(site_code)?.id;
    if (site_code !== undefined && planned.siteId === undefined && !newSites.has(site_code)) {
      newSites.add(site_code);
      this.plan_.newSites.push(site_code);
    }
    if (!known) this.plan_.fresh.push(planned);
    else {
      const changes = changesOf(planned, known);
      if (changes.length > 0) this.plan_.changed.push({ ...planned, known, changes });
      else this.plan_.skipped.push({ ...planned, reason: 'UNCHANGED' });
    }
  }
}

/** The fields whose value in the file differs from the stored one; an empty cell keeps the stored value. */
export function changesOf({ fields, siteId }: PlannedRow, known: KnownParticipant): string[] {
  const { site_code, ...own } = fields;
  const changes = Object.entries(own)
    .filter(([field, value]) => value !== known[field as keyof typeof own])
    .map(([field]) => field);
  if (site_code !== undefined && (siteId === undefined || siteId !== known.site_id)) changes.push('site_id');
  return changes.sort();
}
