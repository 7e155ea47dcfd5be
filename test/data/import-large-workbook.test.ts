import { expect } from 'chai';
import { residentMb } from '../bench/memory.js';
import { startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { admin, unique } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { asMuchAs } from '../support/in-full.js';
import { countingTurns, turnsDuring } from '../support/loop-turns.js';
import { imported } from './stage.js';
import { participantsBook } from './workbooks.js';

/** An import takes as many as the most. */
const ROWS = asMuchAs(40_000, 100_000);
/** Of the file beside which the workbook's is held: long enough for its longest silence, which is that of a portion. */
const CSV_ROWS = 10_000;
/**
 * The contract's bound is 150 MB, which the bench holds the service to; a busy machine may collect the garbage of the
 * longest workbook later.
 */
const MOST_MB = asMuchAs(150, 300);
/**
 * What the database and a busy machine do to an import from CSV they do to this one too; a workbook that is read in the
 * API's thread takes seconds more.
 */
const MORE_SILENCE_MS = 500;

/** On an API of its own: what others have had it do must not have made room already. */
describe('A workbook of tens of thousands of participants', function () {
  this.timeout(600_000);
  let api: ApiProcess;
  let http: Http;
  const counting = countingTurns();
  before(async () => {
    api = await startApi({ ...counting.settings, RATE_LIMIT_PER_MINUTE: '1000000' });
    http = await admin(api.url);
  });
  after(() => api?.stop());

  /** How far the API's memory grows while `work` runs, and the longest turn of its event loop in processor time. */
  async function watched<T>(work: () => Promise<T>): Promise<{ result: T; grown: number; silence: number }> {
    const idle = residentMb(api.pid);
    let most = idle;
    const look = setInterval(() => {
      most = Math.max(most, residentMb(api.pid));
    }, 20);
    let result: T | undefined;
    const { longest } = await turnsDuring(counting.folder, api.pid, async () => {
      result = await work();
    }).finally(() => {
      clearInterval(look);
    });
    return { result: result as T, grown: most - idle, silence: longest };
  }

  it('is imported in little memory, and the API answers others meanwhile', async () => {
    const study = await http.expect<Loose>(201, 'POST', '/api/studies', {
      study_code: unique('LARGE'),
      study_name: 'Large',
    });
    const book = await participantsBook(ROWS);
    const lines = Array.from({ length: CSV_ROWS }, (_, i) => `P-${i},${i},,en`);
    const workbook = await watched(() => imported(http, study.id, book, '?dry_run=true', 'excel'));
    const csv = await watched(() =>
      imported(
        http,
        study.id,
        `participant_code,external_id,site_code,preferred_language\n${lines.join('\n')}\n`,
        '?dry_run=true',
      ),
    );
    if (process.env.SHOW_COSTS) console.log(workbook.grown, workbook.silence, csv.grown, csv.silence);
    for (const [{ result }, rows] of [
      [workbook, ROWS],
      [csv, CSV_ROWS],
    ] as const)
      expect(result).to.include({ success: true, total_rows: rows, imported_count: rows });
    expect(workbook.grown, 'MB above idle').to.be.below(MOST_MB);
    expect(workbook.silence, 'ms without an answer to others').to.be.below(2 * csv.silence + MORE_SILENCE_MS);
  });
});
