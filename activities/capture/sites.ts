import { formerCodesOf, makeSite, sitesOf } from '../../db/capture/captured-participants.queries.js';
import type { SiteRow } from '../../db/capture/captured-participants.queries.js';
import type { WriteTransaction } from '../../db/client/transaction.js';
import { sitesOfGroup } from '../../workflows/domain/capture/participant.js';
import type { Reading } from '../../workflows/domain/capture/reading.js';
import { sortBy } from '../util/sort-by.js';
import type { TriggerNotice } from './notice.js';

const MAX_CODE_LENGTH = 64;

interface SiteFound {
  id?: string;
  notice?: TriggerNotice;
}
/** The code of a site's notice: nobody is enrolled there, or moved to it. */
export const SITE_CLOSED = 'SITE_CLOSED';
/** Notices of readings whose site is not known yet: another site of the study may change that. */
const UNSETTLED: readonly string[] = ['UNKNOWN_SITE', 'AMBIGUOUS_SITE', SITE_CLOSED];

/** Whether a reading has to be looked at again, although its record stays the same. */
export const isUnsettled = (notices: readonly TriggerNotice[]): boolean =>
  notices.some(({ code }) => UNSETTLED.includes(code));

const ambiguous = (group: string, sites: readonly SiteRow[]): TriggerNotice => ({
  code: 'AMBIGUOUS_SITE',
  message:
    `The data access group "${group}" may be any of these sites: ` +
    `${sites.map(({ site_code }) => `"${site_code}"`).join(', ')}. ` +
    'Map site_code, or give the site of the group that name as its code.',
});

/** Those who are there already stay there. */
const foundAt = ({ id, site_code, closed }: SiteRow): SiteFound =>
  closed
    ? {
        id,
        notice: {
          code: SITE_CLOSED,
          message:
            `The site "${site_code}" is closed (inactive): nobody is enrolled there, or moved to it. ` +
            'Once it is active again, a sync does.',
        },
      }
    : { id };

const codeOf = ({ mapped, group }: Reading): string => mapped.values.site_code ?? group ?? '';

/** Finds the sites of readings of one study, in one transaction. */
export class Sites {
  private sites: SiteRow[] | undefined;
  private former: { id: string; site_code: string }[] | undefined;

  constructor(
    private readonly work: WriteTransaction,
    private readonly study: { id: string; create_missing_sites: boolean },
    private readonly origin: Record<string, unknown>,
  ) {}

  /** `of` for each, in the order of their codes: two batches that create the same sites never deadlock. */
  async ofAll(readings: readonly Reading[]): Promise<Map<Reading, SiteFound>> {
    const found = new Map<Reading, SiteFound>();
    for (const reading of sortBy(readings, codeOf)) found.set(reading, await this.of(reading));
    return found;
  }

  /**
   * The mapped site code determines the site, else the data access group. An unknown one is created if configured
   * (`create_missing_sites`); otherwise it is reported, and the participant has no site. So it is where several sites
   * may be the group: data of a person are for the staff of its own site alone.
   */
  private async of({ mapped, group }: Reading): Promise<SiteFound> {
    const code = mapped.values.site_code;
    if (code === undefined && group === null) return {};
    this.sites ??= await sitesOf(this.work.tx, this.study.id);
    const named = this.sites.find((site) => site.site_code === code);
    if (named) return foundAt(named);
    const [found, ...others] = code !== undefined ? [] : sitesOfGroup(this.sites, group!);
    if (found && others.length > 0) return { notice: ambiguous(group!, [found, ...others]) };
    if (found) return foundAt(found);
    const renamed = await this.renamed(code, group);
    if (renamed) return foundAt(renamed);
    const wanted = code ?? group!;
    if (!this.study.create_missing_sites || wanted.length > MAX_CODE_LENGTH) {
      return {
        notice: {
          code: 'UNKNOWN_SITE',
          message:
            `The study has no site for ${code === undefined ? 'the data access group' : 'the site code'} ` +
            `"${wanted.slice(0, MAX_CODE_LENGTH)}".`,
        },
      };
    }
    return { id: await this.make(wanted) };
  }

  /** The site that had this code, or this group's, before it was renamed here: the capture system has that one. */
  private async renamed(code: string | undefined, group: string | null): Promise<SiteRow | undefined> {
    this.former ??= await formerCodesOf(this.work.tx, this.study.id);
    const [one] =
      code !== undefined
        ? this.former.filter(({ site_code }) => site_code === code)
        : sitesOfGroup(this.former, group!);
    return one && this.sites!.find(({ id }) => id === one.id);
  }

  private async make(code: string): Promise<string> {
    const { id, made } = await makeSite(this.work.tx, this.study.id, code);
    this.sites!.push({ id, site_code: code });
    if (made) {
      this.work.audit.record({
        study_id: this.study.id,
        user_id: null,
        action: 'site_created',
        resource_type: 'site',
        resource_id: id,
        metadata: { ...this.origin, site_code: code },
      });
    }
    return id;
  }
}
