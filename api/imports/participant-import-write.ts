import { putOutbox } from '../../db/outbox/outbox.js';
import {
  addSites,
  externalIdsHeld,
  holdersOfCodes,
  insertImported,
  rehearse,
  updateImported,
  updateRenamed,
} from '../../db/imports/participant-import.queries.js';
import type { ImportedParticipant } from '../../db/imports/participant-import.queries.js';
import { readForOthers } from '../../db/capture/datacapture-records.queries.js';
import { requestPushesToOtherRecords } from '../../db/capture/push-requests.queries.js';
import { auditActor, beforeAndAfter } from '../http/audit-actor.js';
import { changesOf, erasedFaults } from './participant-import-plan.js';
import type { ImportPlan, PlannedRow } from './participant-import-plan.js';
import { ANCHOR_RELEVANT_FIELDS, announceSourcesChanged } from '../participants/participants.service.js';
import type { RequestScope } from '../http/state.js';

/** The most changed participants of a file that are re-evaluated at once; the others have low priority. */
const BATCH_SIZE = 200;

const externalIdTaken = ({ row }: PlannedRow) => ({
  row,
  field: 'external_id',
  code: 'DUPLICATE_EXTERNAL_ID',
  message: 'external_id is that of another participant of the study',
});

interface Rules {
  skip_duplicates: boolean;
  dry_run: boolean;
  mode: 'insert' | 'upsert';
}

/**
 * Writes a file's participants, portion by portion, in the import's one transaction. A dry run also writes, without
 * audit records.
 */
export class ImportWriter {
  private readonly siteIds = new Map<string, string>();
  private moved = 0;

  constructor(
    private readonly change: RequestScope,
    private readonly studyId: string,
    private readonly rules: Rules,
  ) {}

  /** Writes a plan, and reclassifies rows that a concurrent request has taken. */
  async write(plan: ImportPlan): Promise<void> {
    const { tx, actor, context } = this.change;
    await this.makeSites(plan.newSites);
    const given = [...plan.fresh, ...plan.changed.filter(({ changes }) => changes.includes('external_id'))];
    await readForOthers(
      tx,
      this.studyId,
      given.flatMap(({ fields }) => fields.external_id ?? []),
    );
    const ids = await insertImported(
      tx,
      this.studyId,
      plan.fresh.map((row) => this.values(row)),
    );
    await this.settle(plan, ids);
    this.record(
      'participant_created',
      'participant',
      plan.fresh.map(({ fields }) => ({ id: ids.get(fields.participant_code)!, fields: Object.keys(fields).sort() })),
    );
    await this.update(plan);
    this.record(
      'participant_changed',
      'participant',
      plan.changed.map((row) => ({
        id: row.known.id,
        fields: row.changes,
        more: beforeAndAfter({ ...row.known }, { ...this.values(row) }, row.changes, ['site_id']),
      })),
    );
    const moved = plan.changed.filter(({ changes }) => changes.some((field) => ANCHOR_RELEVANT_FIELDS.includes(field)));
    if (this.rules.dry_run) return;
    const otherRecord = plan.changed.filter(
      ({ changes, fields }) => changes.includes('external_id') && fields.external_id,
    );
    await requestPushesToOtherRecords(
      tx,
      otherRecord.map(({ known }) => known.id),
    );
    await putOutbox(
      tx,
      moved.map(({ known }, i) => ({
        ...announceSourcesChanged(known, actor, context),
        lowPriority: this.moved + i >= BATCH_SIZE,
      })),
    );
    this.moved += moved.length;
  }

  private async makeSites(codes: readonly string[]): Promise<void> {
    if (codes.length === 0) return;
    const sites = await addSites(this.change.tx, this.studyId, codes);
    for (const { id, site_code } of sites) this.siteIds.set(site_code, id);
    this.record(
      'site_created',
      'site',
      sites.filter(({ added }) => added).map(({ id }) => ({ id, fields: ['site_code'] })),
    );
  }

  private values({ fields, siteId }: PlannedRow): ImportedParticipant {
    return {
      participant_code: fields.participant_code,
      external_id: fields.external_id ?? null,
      preferred_language: fields.preferred_language ?? null,
      email: fields.email ?? null,
      phone: fields.phone ?? null,
      timezone: fields.timezone ?? null,
      date_of_birth: fields.date_of_birth ?? null,
      arm: fields.arm ?? null,
      site_id: siteId ?? (fields.site_code ? (this.siteIds.get(fields.site_code) ?? null) : null),
    };
  }

  private record(
    action: string,
    resourceType: string,
    written: readonly { id: string; fields: readonly string[]; more?: Record<string, unknown> }[],
  ): void {
    const { audit, actor, context } = this.change;
    if (this.rules.dry_run) return;
    audit.recordEach(
      { ...auditActor(actor, context), study_id: this.studyId, action, resource_type: resourceType },
      written.map(({ id, fields, more }) => ({ resource_id: id, metadata: { fields, ...more } })),
    );
  }

  /** Writes the changed rows; one whose external id is taken becomes an error. */
  private async update(plan: ImportPlan): Promise<void> {
    const { tx } = this.change;
    const ofRow = (row: ImportPlan['changed'][number]) => ({ ...this.values(row), id: row.known.id });
    const isRenamed = ({ changes }: ImportPlan['changed'][number]) => changes.includes('external_id');
    await updateImported(tx, plan.changed.filter((row) => !isRenamed(row)).map(ofRow));
    const left = await updateRenamed(tx, plan.changed.filter(isRenamed).map(ofRow));
    plan.errors.push(...plan.changed.filter(({ known }) => left.has(known.id)).map(externalIdTaken));
    plan.changed = plan.changed.filter(({ known }) => !left.has(known.id));
  }

  /** The codes that would be inserted without an external id: that is one of a participant who is not visible here. */
  private async freeCodes(rows: readonly PlannedRow[]): Promise<ReadonlySet<string>> {
    if (rows.length === 0) return new Set();
    const { tx } = this.change;
    const found = await rehearse(tx, () =>
      insertImported(
        tx,
        this.studyId,
        rows.map((row) => ({ ...this.values(row), external_id: null })),
      ),
    );
    return new Set(found.keys());
  }

  /** Rows whose participant another request has just enrolled change that one. @returns the others */
  private async changeInstead(plan: ImportPlan, rows: readonly PlannedRow[]): Promise<PlannedRow[]> {
    const codes = rows.map(({ fields }) => fields.participant_code);
    const holders = new Map(
      (await holdersOfCodes(this.change.tx, this.studyId, codes)).map((known) => [known.participant_code, known]),
    );
    for (const row of rows) {
      const known = holders.get(row.fields.participant_code);
      if (!known) continue;
      const siteId = this.values(row).site_id ?? undefined;
      const changes = changesOf({ ...row, siteId }, known);
      const [fault] = erasedFaults(row.fields, known);
      if (fault) plan.errors.push({ row: row.row, ...fault });
      else if (changes.length > 0) plan.changed.push({ ...row, siteId, known, changes });
      else plan.skipped.push({ ...row, reason: 'UNCHANGED' });
    }
    plan.changed.sort((a, b) => a.row - b.row);
    return rows.filter(({ fields }) => !holders.has(fields.participant_code));
  }

  /**
   * Rows that were not inserted: their code or external id was taken meanwhile, or belongs to a participant at a site
   * without access.
   */
  private async settle(plan: ImportPlan, ids: Map<string, string>): Promise<void> {
    if (ids.size === plan.fresh.length) return;
    const lost = plan.fresh.filter(({ fields }) => !ids.has(fields.participant_code));
    plan.fresh = plan.fresh.filter(({ fields }) => ids.has(fields.participant_code));
    const missed = this.rules.mode === 'upsert' ? await this.changeInstead(plan, lost) : lost;
    const held = await externalIdsHeld(
      this.change.tx,
      this.studyId,
      missed.flatMap(({ fields }) => fields.external_id ?? []),
    );
    const { skip_duplicates, mode } = this.rules;
    const isHeld = ({ fields: { participant_code, external_id } }: PlannedRow) =>
      held.some((one) => one.external_id === external_id && one.participant_code !== participant_code);
    const free = await this.freeCodes(missed.filter((row) => row.fields.external_id !== undefined && !isHeld(row)));
    for (const row of missed) {
      if (isHeld(row) || free.has(row.fields.participant_code)) plan.errors.push(externalIdTaken(row));
      else if (skip_duplicates && mode === 'insert')
        plan.skipped.push({ ...row, reason: 'DUPLICATE_PARTICIPANT_CODE' });
      else
        plan.errors.push({
          row: row.row,
          field: 'participant_code',
          code: 'DUPLICATE_PARTICIPANT_CODE',
          message: 'participant_code is that of another participant of the study',
        });
    }
  }
}
