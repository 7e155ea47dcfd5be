import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { unzipped } from '../support/archive.js';
import { admin, newStudy, user } from '../support/http.js';
import type { Http } from '../support/http.js';
import { pythonOf } from '../support/python.js';
import type { Python } from '../support/python.js';
import { filledStudy } from './filled-study.js';
import type { FilledStudy } from './filled-study.js';
import { imported } from './stage.js';

interface Told {
  rows: number;
  types: Record<string, string>;
  first: Record<string, unknown> | null;
}
type Found = Record<
  'participants' | 'visits' | 'raw_trials' | 'task_summaries',
  Record<'csv' | 'xlsx' | 'ndjson', Told>
> & { wide: Told; dictionary: Record<string, string> };

describe('Programs that this project did not write', function () {
  this.timeout(300_000);
  let http: Http;
  let filled: FilledStudy;
  let python: Python;
  const folder = mkdtempSync(join(tmpdir(), 'programs-'));
  before(async function () {
    const found = await pythonOf('test/data/python', 'data-programs');
    if (found === undefined) this.skip();
    python = found;
    http = await admin();
    filled = await filledStudy(http);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  async function fetched(path: string, file: string, body?: object): Promise<void> {
    const response = await fetch(`${http.base}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { Authorization: `Bearer ${http.token!}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify({ study_id: filled.study.id, ...body }) }),
    });
    if (response.status !== 200)
      throw new Error(`${path} answered ${response.status}: ${(await response.text()).slice(0, 300)}`);
    await writeFile(join(folder, file), Buffer.from(await response.arrayBuffer()));
  }

  it('pandas reads every format with the right types: numbers, truth, dates, codes as they are', async () => {
    for (const dataset of ['participants', 'visits', 'raw_trials', 'task_summaries']) {
      for (const format of ['csv', 'xlsx', 'ndjson'])
        await fetched(`/api/exports/${format}`, `${dataset}.${format}`, { dataset });
    }
    await fetched('/api/exports/csv', 'wide.csv', { dataset: 'task_summaries', layout: 'wide' });
    await fetched('/api/exports/zip', 'raw_trials.zip', { dataset: 'raw_trials' });
    await writeFile(
      join(folder, 'dictionary.csv'),
      unzipped(await readFile(join(folder, 'raw_trials.zip'))).get('data-dictionary.csv')!,
    );
    const found = JSON.parse(await python.run('read_exports.py', [folder])) as Found;
    for (const format of ['csv', 'xlsx', 'ndjson'] as const) {
      expect(found.raw_trials[format].rows, format).to.equal(1_200);
      expect(found.raw_trials[format].types, format).to.include({ trial_index: 'int64', correct: 'bool' });
      expect(found.raw_trials[format].types.rt, format).to.match(/^(int|float)64$/);
      expect(found.task_summaries[format].types.value, format).to.equal('float64');
      expect(found.participants[format].rows, format).to.equal(filled.people.length + 1);
      expect(found.visits[format].first!.participant_code, format).to.be.a('string');
    }
    expect(found.visits.csv.types).to.include({
      target_date: 'datetime64[ns]',
      completed_at: 'datetime64[ns, UTC]',
      needs_review: 'bool',
    });
    expect(found.raw_trials.csv.types.timestamp).to.equal('datetime64[ns, UTC]');
    expect(found.wide.types).to.include({ 'stroop.mean_rt': 'float64', 'stroop.accuracy': 'float64' });
    expect(found.dictionary).to.include({
      rt: 'number',
      correct: 'true or false',
      timestamp: 'ISO 8601, UTC',
      participant_code: 'text',
    });
    expect(Object.keys(found.dictionary)).to.deep.equal(Object.keys(found.raw_trials.csv.types));
  });

  it('what openpyxl and pandas write is imported: dates, leading zeros of a format, tables, lists to choose from', async () => {
    await python.run('write_workbook.py', [folder]);
    const study = await newStudy(http);
    await http.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: 'BER' });
    const result = await imported(http, study.id, await readFile(join(folder, 'openpyxl.xlsx')), '', 'excel');
    expect(result).to.deep.include({
      total_rows: 3,
      imported_count: 2,
      error_count: 1,
      file: { sheet: 'Teilnehmende' },
    });
    expect(result.imported_participants).to.deep.equal([
      { row: 2, participant_code: '0001', external_id: '12', site_code: 'BER' },
      { row: 3, participant_code: '007', external_id: 'R-2', site_code: null },
    ]);
    expect(result.errors.map(({ row, field, code }) => [row, field, code])).to.deep.equal([
      [5, 'external_id', 'FORMULA_ERROR'],
    ]);
    expect(await imported(http, study.id, await readFile(join(folder, 'pandas.xlsx')), '', 'excel')).to.include({
      success: true,
      imported_count: 2,
    });
    expect(await imported(http, study.id, await readFile(join(folder, 'pandas.csv')))).to.deep.include({
      success: true,
      imported_count: 2,
      file: { encoding: 'utf-8', separator: 'semicolon' },
    });
    const people = (
      await http.expect<{ items: { participant_code: string; date_of_birth: string | null }[] }>(
        200,
        'GET',
        `/api/studies/${study.id}/participants?sort=created_at`,
      )
    ).items;
    expect(people.map(({ participant_code, date_of_birth }) => [participant_code, date_of_birth])).to.deep.equal([
      ['0001', '1960-02-29'],
      ['007', '1971-12-31'],
      ['PD-1', '1950-01-01'],
      ['PD-2', '1951-02-03'],
      ['PC-1', null],
      ['PC-2', null],
    ]);
  });

  it('CDISC’s own schema takes the ODM document, each reference has its definition, and the data are in it', async () => {
    await http.expect(201, 'POST', `/api/studies/${filled.study.id}/participants/${filled.people[1]!.id}/forms`, {
      form_oid: 'odd <&"> form',
      status: 'draft',
      items: {
        form_status: 'its own',
        n: 1.5,
        whole: 61,
        day: '2024-02-29',
        noDay: '2024-02-30',
        moment: '2024-02-29T08:30:00+01:00',
        empty: '',
        yes: true,
        text: 'a\u0001b\n<c>',
        list: [1, 2],
        nothing: null,
      },
    });
    await http.expect(201, 'POST', `/api/studies/${filled.study.id}/participants/${filled.people[0]!.id}/forms`, {
      form_oid: 'odd <&"> form',
      status: 'draft',
      items: { n: 2, whole: -3, day: '', mixed: 1 },
    });
    await http.expect(201, 'POST', `/api/studies/${filled.study.id}/participants/${filled.people[0]!.id}/forms`, {
      form_oid: 'odd <&"> form',
      status: 'draft',
      items: { mixed: 'one', whole: 1e20 / 1e18 },
    });
    await fetched(`/api/exports/studies/${filled.study.id}/odm`, 'study.xml');
    expect(await python.run('odm.py', [join(folder, 'study.xml')])).to.equal(
      `valid 1.3.2 ${filled.people.length + 1}\n`,
    );
    const xml = await readFile(join(folder, 'study.xml'), 'utf8');
    for (const datum of [
      'SubjectKey="=1+1"',
      'ItemOID="I.TASK.stroop.METRIC.mean_rt" Value="512.25"',
      `ItemOID="I.SUBJECT.enrollment_date" Value="${filled.enrolled}"`,
      'ItemOID="I.CONSENT.status" Value="signed"',
      'LocationOID="LOC.BER"',
      'ItemOID="I.RANDOMIZATION.arm" Value="B"',
      'StudyEventOID="SE.WINDOW.W0" StudyEventRepeatKey="1"',
      'Value="a\u{FFFD}b&#10;&lt;c&gt;"',
      'Value="[1,2]"',
    ])
      expect(xml, datum).to.include(datum);
    const types = Object.fromEntries(
      [...xml.matchAll(/<ItemDef OID="I\.FORM\.odd[^"]*ITEM\.(\w+)"[^>]* DataType="(\w+)"(?: Length="(\d+)")?/g)].map(
        ([, name, type, length]) => [name, length === undefined ? type : `${type} ${length}`],
      ),
    );
    expect(types).to.include({
      n: 'float',
      whole: 'integer 3',
      day: 'date',
      noDay: 'text 10',
      moment: 'datetime',
      yes: 'boolean',
      mixed: 'text 3',
    });
    expect(xml).not.to.match(/one@example\.org|1960-02-29|\+49 30/);
    const empty = await newStudy(http, { study_name: 'nobody yet' });
    await writeFile(join(folder, 'empty.xml'), (await http.get(`/api/exports/studies/${empty.id}/odm`)).text);
    expect(await python.run('odm.py', [join(folder, 'empty.xml')])).to.equal('valid 1.3.2 0\n');
  });

  it('ODM goes out to those who may export, of the sites that they see, and is told in the audit', async () => {
    const path = `/api/exports/studies/${filled.study.id}/odm`;
    for (const [role, study_ids, status] of [
      ['data_manager', [filled.study.id], 200],
      ['coordinator', [filled.study.id], 403],
      ['data_manager', [], 404],
    ] as const) {
      expect((await (await user(http, role, { study_ids: [...study_ids] })).get(path)).status, role).to.equal(status);
    }
    const narrowed = await http.get(path, { headers: { 'X-Site-ID': filled.sites[1]!.id } });
    expect([...narrowed.text.matchAll(/SubjectKey="([^"]*)"/g)].map(([, key]) => key)).to.deep.equal(['-3.5']);
    const audit = await http.expect(
      200,
      'GET',
      `/api/audit?study_id=${filled.study.id}&action=study_exported&limit=500`,
    );
    expect(
      audit.items.filter(({ audit_metadata }) => (audit_metadata as { format?: string }).format === 'odm').length,
    ).to.be.greaterThanOrEqual(3);
  });
});
