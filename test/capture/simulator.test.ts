import { expect } from 'chai';
import { startSimulator, type Simulator } from '../capture-simulator/server.js';
import { CLASSIC, LONGITUDINAL, TOKENS, callApi, importRow } from './simulator-client.js';

const BASELINE = { record_id: '1001', redcap_event_name: 'baseline_arm_1' };

describe('The capture simulator: the records API', () => {
  let simulator: Simulator;
  const call = (parameters: Record<string, string>, token: string = TOKENS.longitudinal) =>
    callApi(simulator, token, parameters);
  const rows = async (parameters: Record<string, string>, token?: string): Promise<Record<string, unknown>[]> =>
    JSON.parse((await call({ content: 'record', format: 'json', ...parameters }, token)).text) as Record<
      string,
      unknown
    >[];
  const refusal = async (parameters: Record<string, string>, token?: string): Promise<string> => {
    const answer = await call({ returnFormat: 'json', ...parameters }, token);
    expect(answer.status).to.be.oneOf([400, 403]);
    return (JSON.parse(answer.text) as { error: string }).error;
  };

  before(async () => {
    simulator = await startSimulator();
  });
  after(() => simulator.stop());
  beforeEach(() => simulator.control.reset());

  it('keeps record names as texts and lists them numbers first', async () => {
    const found = await rows({ fields: 'record_id', events: 'baseline_arm_1,baseline_arm_2' });
    expect(found.map((row) => row['record_id'])).to.deep.equal([
      '0007',
      '7',
      '1001',
      '1002',
      '1003',
      '+&=% 5',
      'A-01/β',
      'B 12',
    ]);
  });

  it('gives the record id and event only where the id is asked for', async () => {
    expect(await rows({ 'records[0]': '1001', 'fields[0]': 'enrollment_date' })).to.deep.equal([
      { enrollment_date: '2025-03-03' },
    ]);
    expect((await rows({ 'records[]': '1001', fields: 'record_id,enrollment_date' }))[0]).to.deep.equal({
      record_id: '1001',
      redcap_event_name: 'baseline_arm_1',
      redcap_repeat_instrument: '',
      redcap_repeat_instance: '',
      enrollment_date: '2025-03-03',
    });
  });

  it('lists the names of fields that an import takes: no calculation, no text of the form', async () => {
    const listed = JSON.parse((await call({ content: 'exportFieldNames', format: 'json' })).text) as {
      export_field_name: string;
    }[];
    const names = listed.map(({ export_field_name }) => export_field_name);
    expect(names).to.include.members(['dob', 'conditions___1', 'enrollment_complete']);
    expect(names).not.to.include('age').and.not.to.include('about');
  });

  it('has repeats as rows with a number, and labels where asked', async () => {
    const repeats = await rows({ records: '1001', fields: 'record_id', forms: 'adverse_events' });
    expect(
      repeats.map((row) => [row['redcap_repeat_instrument'], row['redcap_repeat_instance'], row['ae_severity']]),
    ).to.deep.equal([
      ['adverse_events', 1, '1'],
      ['adverse_events', 2, '2'],
    ]);
    const labels = await rows({
      records: '1001',
      forms: 'enrollment',
      rawOrLabel: 'label',
      exportCheckboxLabel: 'true',
      exportDataAccessGroups: 'true',
    });
    expect(labels[0]).to.include({
      redcap_event_name: 'Baseline (Arm 1: Training)',
      language: 'Français',
      conditions___1: 'Hypertension',
      conditions____9: '',
      enrollment_complete: 'Complete',
      redcap_data_access_group: 'Site Lyon',
    });
  });

  it('answers what matches nothing with an empty list', async () => {
    expect(await rows({ records: 'nobody' })).to.deep.equal([]);
  });

  it('filters by logic and by the time of the last change', async () => {
    expect(
      (
        await rows({ filterLogic: "[sex] = '1' and ([conditions(2)] = '1' or [language] = 'xx')", fields: 'record_id' })
      ).map((row) => row['record_id']),
    ).to.deep.equal(['A-01/β']);
    expect(await refusal({ content: 'record', format: 'json', filterLogic: "[nope] = '1'" })).to.include('filterLogic');
    const later = '2999-01-01 00:00:00';
    expect(await rows({ dateRangeBegin: later })).to.deep.equal([]);
    expect(
      await rows({ dateRangeBegin: '2020-01-01 00:00:00', dateRangeEnd: later, fields: 'record_id' }),
    ).to.have.length.above(7);
    expect(await refusal({ content: 'record', format: 'json', dateRangeBegin: 'yesterday' })).to.include(
      'dateRangeBegin',
    );
  });

  it('counts distinct records, not rows, and takes an object for nothing at all', async () => {
    const data = JSON.stringify([
      { ...BASELINE, language: 'en' },
      { record_id: '1001', redcap_event_name: 'month_3_arm_1', mood: '40' },
    ]);
    expect((await call({ content: 'record', format: 'json', data })).text).to.equal('{"count":1}');
    expect(
      (await call({ content: 'record', format: 'json', data: JSON.stringify({ ...BASELINE, language: 'fr' }) })).text,
    ).to.equal('{"count":0}');
    expect((await call({ content: 'record', format: 'json', data, returnContent: 'ids' })).text).to.equal('["1001"]');
    expect((await call({ content: 'record', format: 'json', data, returnContent: 'nothing' })).text).to.equal('');
    expect(
      (
        await call({
          content: 'record',
          format: 'csv',
          returnFormat: 'xml',
          data: 'record_id,redcap_event_name,language\n1001,baseline_arm_1,es\n',
        })
      ).text,
    ).to.include('<count>1</count>');
  });

  it('ignores blanks with normal and erases with overwrite', async () => {
    const language = async (): Promise<unknown> =>
      (await rows({ records: '1001', fields: 'language' }))[0]?.['language'];
    await call(importRow({ ...BASELINE, language: '' }));
    expect(await language()).to.equal('fr');
    await call(importRow({ ...BASELINE, language: '' }, { overwriteBehavior: 'overwrite' }));
    expect(await language()).to.equal('');
  });

  it('refuses an import whole, with a line for each fault', async () => {
    const lines = (
      await refusal(
        importRow({
          ...BASELINE,
          language: 'en',
          rt_median: '22',
          total_trials: '1.5',
          accuracy: '1.5',
          dob: '1980-02-30',
          sex: '9',
          mood: '3',
          conditions___1: '2',
        }),
      )
    ).split('\n');
    expect(lines.map((line) => /^"1001","(\w+)"/.exec(line)?.[1])).to.deep.equal([
      'rt_median',
      'total_trials',
      'dob',
      'sex',
      'mood',
      'conditions___1',
    ]);
    expect(await rows({ records: '1001', fields: 'language' })).to.deep.include({ language: 'fr' });
    expect((await call(importRow({ ...BASELINE, rt_median: '22.0', dob: 'UNK' }))).text).to.equal('{"count":1}');
  });

  it('has a column of a checkbox for each missing-data code, which is read and written as the others are', async () => {
    expect((await call(importRow({ ...BASELINE, conditions___nask: '1' }))).text).to.equal('{"count":1}');
    const [row] = await rows({ records: '1001', fields: 'record_id,conditions', events: 'baseline_arm_1' });
    expect(row).to.include({ conditions___unk: '0', conditions___nask: '1' });
    const [labelled] = await rows({
      records: '1001',
      fields: 'conditions',
      events: 'baseline_arm_1',
      rawOrLabel: 'label',
      exportCheckboxLabel: 'true',
    });
    expect(labelled).to.include({ conditions___nask: 'Not asked' });
  });

  it('refuses an instance where nothing repeats, and a repeating instrument without one', async () => {
    expect(await refusal(importRow({ ...BASELINE, redcap_repeat_instance: '1', language: 'en' }))).to.match(
      /^"1001","redcap_repeat_instance","1"/,
    );
    const event = { record_id: '1001', redcap_event_name: 'month_3_arm_1', ae_severity: '1' };
    expect(await refusal(importRow({ ...event, redcap_repeat_instrument: 'adverse_events' }))).to.match(
      /^"1001","redcap_repeat_instance",""/,
    );
  });

  it('leaves the status of a form that was never saved blank where that is asked for', async () => {
    simulator.control.load(LONGITUDINAL, [{ record_id: 'new', redcap_event_name: 'baseline_arm_1', language: 'en' }]);
    const statusOf = async (more: Record<string, string>) =>
      (await rows({ records: 'new', fields: 'nback_results_complete', ...more }))[0]!['nback_results_complete'];
    expect(await statusOf({})).to.equal('0');
    expect(await statusOf({ exportBlankForGrayFormStatus: 'true' })).to.equal('');
  });

  it('names unknown fields, events and forms', async () => {
    expect(await refusal(importRow({ ...BASELINE, nope: '1' }))).to.equal(
      'The following fields were not found in the project as real data fields: nope',
    );
    expect(await refusal(importRow({ record_id: '1', redcap_event_name: 'visit_arm_9', language: 'en' }))).to.match(
      /^"1","redcap_event_name","visit_arm_9"/,
    );
    expect(await refusal({ content: 'record', format: 'json', fields: 'x' })).to.equal(
      'The following values in the parameter "fields" are not valid: \'x\'',
    );
    expect(await refusal({ content: 'record', format: 'json', events: 'x' })).to.include('"events"');
  });

  it('refuses changes to a locked record or form, and takes what changes nothing', async () => {
    simulator.control.lockRecord(LONGITUDINAL, '1001');
    expect(await refusal(importRow({ ...BASELINE, language: 'en' }))).to.include('This record has been locked');
    expect((await call(importRow({ ...BASELINE, language: 'fr' }))).text).to.equal('{"count":1}');
    simulator.control.lockRecord(LONGITUDINAL, '1001', false);
    simulator.control.lockRecord(LONGITUDINAL, '1001', true, 'enrollment', 'baseline_arm_1');
    expect(await refusal(importRow({ ...BASELINE, language: 'en' }))).to.include('form that is locked');
    expect((await call(importRow({ ...BASELINE, accuracy: '0.5' }))).text).to.equal('{"count":1}');
  });

  it('confines a member of a group to it', async () => {
    const seen = await rows({ fields: 'record_id', events: 'baseline_arm_1' }, TOKENS.groupMember);
    expect(seen.map((row) => row['record_id'])).to.deep.equal(['1001', '1002', 'B 12']);
    expect(
      await refusal(importRow({ ...BASELINE, redcap_data_access_group: 'site_lyon' }), TOKENS.groupMember),
    ).to.include('data access group');
    await call(
      importRow({ record_id: '2001', redcap_event_name: 'baseline_arm_1', language: 'fr' }),
      TOKENS.groupMember,
    );
    expect(simulator.control.record(LONGITUDINAL, '2001')?.data_access_group).to.equal('site_lyon');
  });

  it('numbers records on import and instances as new', async () => {
    const auto = importRow({ subject_id: 'x', language: 'en' }, { forceAutoNumber: 'true', returnContent: 'auto_ids' });
    expect((await call(auto, TOKENS.classic)).text).to.equal('["8,x"]');
    expect((await call({ content: 'generateNextRecordName' }, TOKENS.classic)).text).to.equal('9');
    const repeat = {
      record_id: '1001',
      redcap_event_name: 'month_3_arm_1',
      redcap_repeat_instrument: 'adverse_events',
      redcap_repeat_instance: 'new',
      ae_term: 'Cough',
    };
    await call(importRow(repeat));
    const all = await rows({ records: '1001', fields: 'record_id', forms: 'adverse_events' });
    expect(all.map((row) => row['redcap_repeat_instance'])).to.deep.equal([1, 2, 3]);
  });

  it('reads and writes single values (eav), csv and xml', async () => {
    const values = [
      { record: '1001', redcap_event_name: 'baseline_arm_1', field_name: 'conditions', value: '-9' },
      { record: '1001', redcap_event_name: 'baseline_arm_1', field_name: 'language', value: 'es' },
    ];
    expect(
      (await call({ content: 'record', format: 'json', type: 'eav', data: JSON.stringify(values) })).text,
    ).to.equal('{"count":1}');
    const eav = await rows({ type: 'eav', records: '1001', 'fields[0]': 'conditions', 'fields[1]': 'language' });
    expect(eav.map((row) => row['value'])).to.deep.equal(['es', '1', '-9']);
    const xml =
      '<?xml ' +
      'version="1.0"?><records><item><record_id>1001</record_id><redcap_event_name>baseline_arm_1</redcap_event_name><email><![CDATA[a&b@example.org]]></email></item></records>';
    expect((await call({ content: 'record', format: 'xml', data: xml })).text).to.include('<count>1</count>');
    expect((await call({ content: 'record', format: 'csv', records: '1001', fields: 'email' })).text).to.equal(
      'email\na&b@example.org\n',
    );
    expect((await call({ content: 'record', format: 'xml', records: '1001', fields: 'email' })).text).to.include(
      '<![CDATA[a&b@example.org]]>',
    );
  });

  it('answers errors in returnFormat, then format, then xml, and 403 for a wrong token', async () => {
    const wrong = async (more: Record<string, string>): Promise<string> =>
      (await call({ content: 'version', ...more }, '0'.repeat(32))).text;
    expect(await wrong({ format: 'xml', returnFormat: 'json' })).to.equal(
      '{"error":"You do not have permissions to use the API"}',
    );
    expect(await wrong({ format: 'csv' })).to.equal('ERROR: You do not have permissions to use the API');
    expect(await wrong({})).to.include('<hash><error>You do not have permissions');
    expect((await call({ content: 'version' }, '0'.repeat(32))).status).to.equal(403);
    expect(await refusal(importRow({ ...BASELINE, language: 'en' }), TOKENS.readOnly)).to.equal(
      'You do not have API Import/Update privileges',
    );
    expect(await refusal({ content: 'event', format: 'json' }, TOKENS.classic)).to.equal(
      'You cannot export events for classic projects',
    );
    expect(await refusal({ content: 'file', action: 'export', record: '1001', field: 'email' })).to.include(
      'Files are not available',
    );
    expect((await fetch(simulator.apiUrl)).status).to.equal(501);
  });

  it('deletes records or parts of them and answers a bare number', async () => {
    expect(
      (await call({ content: 'record', action: 'delete', 'records[0]': '7', 'records[1]': '0007' })).text,
    ).to.equal('2');
    expect(await refusal({ content: 'record', action: 'delete', 'records[0]': '7' })).to.include('do not exist');
    expect(
      (
        await call({
          content: 'record',
          action: 'delete',
          'records[0]': '1001',
          event: 'month_3_arm_1',
          instrument: 'adverse_events',
          repeat_instance: '1',
        })
      ).text,
    ).to.equal('1');
    expect(await rows({ records: '1001', fields: 'record_id', forms: 'adverse_events' })).to.have.length(1);
  });

  it('is controlled over HTTP: projects, loading, renaming, deleting, records', async () => {
    const post = (path: string, body: unknown): Promise<Response> =>
      fetch(`${simulator.url}/control${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      });
    const users = [{ username: 'u', token: 'ABCDEF0123456789ABCDEF0123456789' }];
    const made = await post('/projects', {
      project: { project_id: 77, title: 'Small', users },
      dictionary: 'field_name,form_name,field_type,field_label\npid,basics,text,Id\ncolour,basics,text,Colour\n',
    });
    expect([made.status, await made.json()]).to.deep.include(201);
    expect((await post('/projects/77/load', { rows: [{ pid: '00 1', colour: 'red' }] })).status).to.equal(200);
    expect((await post('/projects/77/rename', { record: '00 1', to: 'β' })).status).to.equal(200);
    const { records } = (await (await fetch(`${simulator.url}/control/records/77`)).json()) as {
      records: { record: string }[];
    };
    expect(records.map((record) => record.record)).to.deep.equal(['β']);
    expect(await rows({}, users[0]?.token)).to.deep.equal([{ pid: 'β', colour: 'red', basics_complete: '0' }]);
    expect((await post('/projects/77/delete', { record: 'β' })).status).to.equal(204);
    expect(
      (
        await post('/projects', {
          project: { project_id: 77, title: 'Again', users },
          dictionary: 'field_name,form_name,field_type\npid,basics,text\n',
        })
      ).status,
    ).to.equal(409);
    expect((await fetch(`${simulator.url}/control/projects/77`, { method: 'DELETE' })).status).to.equal(204);
    expect(simulator.control.projects().map((view) => view.project_id)).to.deep.equal([LONGITUDINAL, CLASSIC]);
  });

  it('answers 10,000 records in well under ten seconds of a processor', async function () {
    simulator.control.load(
      LONGITUDINAL,
      Array.from({ length: 10_000 }, (_, i) => ({
        record_id: `N-${i}`,
        redcap_event_name: 'baseline_arm_1',
        enrollment_date: '2025-03-01',
        language: 'en',
      })),
    );
    const started = process.cpuUsage();
    expect(await rows({ forms: 'enrollment' })).to.have.length(10_008);
    expect(process.cpuUsage(started).user).to.be.below(10_000_000);
  });
});
