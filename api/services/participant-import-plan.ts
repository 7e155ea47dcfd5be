import { importSites, knownParticipants } from '../../db/queries/participant-import.js';
import type { KnownParticipant } from '../../db/queries/participant-import.js';
import type { Tx } from '../../db/knex.js';
import type { ReadRow, RowFault, RowFields } from '../import/rows.js';

/** The first fault of a row; `others` are the rest of it. */
export interface RowError extends RowFault { row: number; others?: RowFault[] }
/** A row that is to be written. `siteId` undefined: no site, or one that is to be made. */
export interface PlannedRow { row: number; fields: RowFields & { participant_code: string }; siteId?: string | undefined }
export interface ImportPlan {
  fresh: PlannedRow[];
  changed: (PlannedRow & { known: KnownParticipant; changes: string[] })[];
  skipped: (PlannedRow & { reason: 'DUPLICATE_PARTICIPANT_CODE' | 'DUPLICATE_IN_FILE' | 'UNCHANGED' })[];
  errors: RowError[];
  newSites: string[];
}

interface Rules { skip_duplicates: boolean; create_missing_sites: boolean; mode: 'insert' | 'upsert' }

/**
 * Decides about every row, in the file's order: what is taken, what is skipped, what is wrong. Of rows with the same
 * code the first that is right counts. Two statements read what the study has, whatever the number of rows.
 */
export async function planImport(tx: Tx, studyId: string, rows: readonly ReadRow[], rules: Rules): Promise<ImportPlan> {
  const sites = await importSites(tx, studyId);
  // What breaks a rule is nobody's, and may be what no query can carry.
  const right = (field: 'participant_code' | 'external_id') =>
    rows.flatMap(({ fields, faults }) => (fields[field] === undefined || faults.some((fault) => fault.field === field) ? [] : fields[field]));
  const known = await knownParticipants(tx, studyId, right('participant_code'), right('external_id'));
  return new Planner(sites, known, rules).plan(rows);
}

const taken = (field: 'participant_code' | 'external_id', where: string): RowFault =>
  ({ field, code: field === 'participant_code' ? 'DUPLICATE_PARTICIPANT_CODE' : 'DUPLICATE_EXTERNAL_ID', message: `${field} is that of another ${where}` });

class Planner {
  private readonly plan_: ImportPlan = { fresh: [], changed: [], skipped: [], errors: [], newSites: [] };
  private readonly byCode: Map<string, KnownParticipant>;
  private readonly codeOfExternal: Map<string, string>;
  private readonly inFile = new Set<string>();
  private readonly newSites = new Set<string>();

  constructor(private readonly sites: Awaited<ReturnType<typeof importSites>>, known: readonly KnownParticipant[], private readonly rules: Rules) {
    this.byCode = new Map(known.map((one) => [one.participant_code, one]));
    this.codeOfExternal = new Map(known.flatMap((one) => (one.external_id === null ? [] : [[one.external_id, one.participant_code] as const])));
  }

  plan(rows: readonly ReadRow[]): ImportPlan {
    for (const row of rows) this.decide(row);
    this.plan_.newSites = [...this.newSites].sort();
    return this.plan_;
  }

  private decide({ row, fields, faults }: ReadRow): void {
    const code = fields.participant_code;
    const refuse = (first: RowFault, others: RowFault[] = []) => { this.plan_.errors.push({ row, ...first, ...(others.length > 0 && { others }) }); };
    if (code === undefined || faults.some(({ field }) => field === 'participant_code' || field === null)) return refuse(faults[0]!, faults.slice(1));
    const planned: PlannedRow = { row, fields: { ...fields, participant_code: code } };
    const known = this.byCode.get(code);
    const repeated = this.inFile.has(code);
    if (repeated || (known && this.rules.mode === 'insert')) {
      if (!this.rules.skip_duplicates) return refuse(taken('participant_code', repeated ? 'row of the file' : 'participant of the study'));
      this.plan_.skipped.push({ ...planned, reason: repeated ? 'DUPLICATE_IN_FILE' : 'DUPLICATE_PARTICIPANT_CODE' });
      return;
    }
    const all = [...faults, ...this.siteFaults(fields.site_code, known), ...this.externalFaults(fields.external_id, code)];
    if (all.length > 0) return refuse(all[0]!, all.slice(1));
    this.take(planned, known);
  }

  private siteFaults(siteCode: string | undefined, known: KnownParticipant | undefined): RowFault[] {
    const far: RowFault[] = [{ field: 'site_code', code: 'SITE_NOT_ASSIGNED', message: 'You are not assigned to that site' }];
    if (siteCode === undefined) return this.sites.withoutSite || known ? [] : far;
    const site = this.sites.sites.get(siteCode);
    if (site) return site.in_reach ? [] : far;
    return this.rules.create_missing_sites ? [] : [{ field: 'site_code', code: 'UNKNOWN_SITE', message: 'site_code is not a site of the study' }];
  }

  private externalFaults(externalId: string | undefined, code: string): RowFault[] {
    const holder = externalId === undefined ? undefined : this.codeOfExternal.get(externalId);
    return holder !== undefined && holder !== code ? [taken('external_id', this.inFile.has(holder) ? 'row of the file' : 'participant of the study')] : [];
  }

  private take(planned: PlannedRow, known: KnownParticipant | undefined): void {
    const { external_id, site_code, participant_code } = planned.fields;
    this.inFile.add(participant_code);
    if (external_id !== undefined) this.codeOfExternal.set(external_id, participant_code);
    planned.siteId = site_code === undefined ? undefined : this.sites.sites.get(site_code)?.id;
    if (site_code !== undefined && planned.siteId === undefined) this.newSites.add(site_code);
    if (!known) this.plan_.fresh.push(planned);
    else {
      const changes = changesOf(planned, known);
      if (changes.length > 0) this.plan_.changed.push({ ...planned, known, changes });
      else this.plan_.skipped.push({ ...planned, reason: 'UNCHANGED' });
    }
  }
}

/** The fields whose value in the file is another than the stored one; an empty cell leaves what is stored. */
function changesOf({ fields, siteId }: PlannedRow, known: KnownParticipant): string[] {
  const { site_code, ...own } = fields;
  const changes = Object.entries(own).filter(([field, value]) => value !== known[field as keyof typeof own]).map(([field]) => field);
  if (site_code !== undefined && (siteId === undefined || siteId !== known.site_id)) changes.push('site_id');
  return changes.sort();
}
