import { expect } from 'chai';
import { until } from '../support/service.js';
import { compared } from './compared.js';
import { Stage, synced } from './support.js';
import type { CaptureStudy } from './support.js';

const DICTIONARY = [
  'field_name,form_name,field_type,field_label,text_validation_type_or_show_slider_number,identifier,field_annotation',
  'subject_id,enroll,text,Subject,,,',
  'enrolled,enroll,text,Enrolled,date_ymd,,',
  'mail,enroll,text,Mail,,y,',
  'asked,enroll,yesno,Asked,,,',
  'initials,enroll,text,Initials,,,"@CALCTEXT(left([name], 1))"',
  'due,enroll,text,Due,date_ymd,,"@HIDDEN @CALCDATE([enrolled], 30, ""d"")"',
  'rt_mean,cognition,text,Mean,,,',
  'rt_text,cognition,text,In words,,,@CALCTEXT([rt_mean])',
].join('\n');
const yesterday = () => new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);

describe('what the capture system computes or does not export', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  const connected = (config: Record<string, unknown> = {}): Promise<CaptureStudy> =>
    stage.study({
      dictionary: DICTIONARY,
      config: { participant_field_mapping: { enrollment_date: 'enrolled', email: 'mail' }, ...config },
    });
  const designOf = (study: CaptureStudy) => stage.simulator.control.project(Number(study.projectId)).design;
  const rename = (study: CaptureStudy, field: string) => {
    const found = designOf(study).fields.find(({ field_name }) => field_name === field)!;
    found.field_name = `${field}_2`;
  };

  it('a value that the capture system computes enrolls nobody', async () => {
    const study = await connected();
    stage.simulator.control.load(Number(study.projectId), [
      { subject_id: 'R1', redcap_event_name: 'baseline_arm_1', initials: 'x', due: '2026-01-01', rt_mean: '4' },
    ]);
    await study.trigger({ record: 'R1', redcap_event_name: 'baseline_arm_1' });
    const [event] = await study.settled(1);
    expect(event).to.include({ status: 'processed', outcome: 'ignored' });
    expect((await synced(study)).progress).to.include({ skipped: 1, created: 0 });
    expect(await study.participants()).to.deep.equal([]);
  });

  it('a result for a computed text is named when the mapping is saved', async () => {
    const study = await connected();
    const target = { stroop: { datacapture_instrument: 'cognition', fields: { mean_rt: 'rt_text' } } };
    const { body } = await compared(() => study.configure({ data_field_mapping: target }));
    expect(body.warnings).to.deep.include({
      code: 'FIELD_TAKES_NO_RESULT',
      path: 'data_field_mapping.stroop.fields.mean_rt',
      message: 'The field "rt_text" takes no result: the capture system computes it (@CALCTEXT or @CALCDATE).',
    });
    expect((await study.configure({ data_field_mapping: target }, '?strict=true')).status).to.be.oneOf([400, 422]);
  });

  it('a new record without the mapped date field is refused by name, never scheduled from today', async () => {
    const study = await connected();
    rename(study, 'enrolled');
    await study.enroll('R1', { mail: 'a@example.org' });
    const [event] = await study.settled(1);
    expect(event!.status).to.equal('failed');
    expect(event!.error).to.match(/^FIELD_NOT_EXPORTED: .*"enrolled" for enrollment_date/);
    const report = await synced(study);
    expect(report.progress).to.include({ failed: 1, created: 0 });
    expect(report.issues.items[0]!.issues[0]!.code).to.equal('FIELD_NOT_EXPORTED');
    expect(await study.participants()).to.deep.equal([]);
    await study.configure({ participant_field_mapping: { enrollment_date: 'enrolled_2' } });
    expect((await synced(study)).progress).to.include({ failed: 0, created: 1 });
  });

  it('a known record keeps its date, and each missing field is named', async () => {
    const study = await connected();
    const date = yesterday();
    await study.enroll('R1', { enrolled: date, mail: 'a@example.org' });
    await study.settled(1);
    rename(study, 'enrolled');
    designOf(study).users[0]!.export_identifiers = false;
    await study.enroll('R1', { rt_mean: '5' }, { instrument: 'cognition', trigger: false });
    await study.trigger({ record: 'R1', redcap_event_name: 'baseline_arm_1' });
    const [, event] = await study.settled(2);
    expect(event!.warnings.map(({ code, message }) => `${code} ${/"(.*?)"/.exec(message)![1]}`)).to.have.members([
      'FIELD_NOT_EXPORTED enrolled',
      'FIELD_NOT_EXPORTED mail',
    ]);
    const [person] = await study.participants();
    expect(person).to.include({ enrollment_date: date, email: 'a@example.org' });
    expect(await study.versions(person!.id)).to.have.length(1);
  });

  it('a token that exports without dates and free texts, none of them marked, enrolls nobody from today', async () => {
    const study = await connected();
    designOf(study).users[0]!.export_deidentified = true;
    const date = yesterday();
    await study.enroll('R1', { enrolled: date });
    const [event] = await study.settled(1);
    expect(event!.error).to.match(/^FIELD_NOT_EXPORTED: .*"enrolled" for enrollment_date/);
    const report = await synced(study);
    expect(report.progress).to.include({ failed: 1, created: 0 });
    expect(report.issues.items[0]!.issues[0]!.code).to.equal('FIELD_NOT_EXPORTED');
    designOf(study).users[0]!.export_deidentified = false;
    expect((await synced(study)).progress).to.include({ failed: 0, created: 1 });
    expect((await study.participants())[0]).to.include({ external_id: 'R1', enrollment_date: date });
  });

  it('an enrollment form that the token may not export is named, and its trigger fails: it is not "not enrolled"', async () => {
    const study = await connected();
    designOf(study).users[0]!.no_export = ['enroll'];
    await study.enroll('R1', { enrolled: yesterday() });
    const [event] = await study.settled(1);
    expect(event!.error).to.match(/^INSTRUMENT_NOT_EXPORTED: /);
    const report = await synced(study);
    expect(report.progress).to.include({ skipped: 1, created: 0 });
    expect(report.issues.items[0]!.issues[0]!.code).to.equal('INSTRUMENT_NOT_EXPORTED');
    designOf(study).users[0]!.no_export = [];
    expect((await synced(study)).progress).to.include({ created: 1 });
  });

  it('triggers refused for want of permission are processed when a token works again', async () => {
    const study = await connected({ poll_interval_minutes: 0 });
    const [user] = designOf(study).users;
    user!.api_export = false;
    await study.enroll('R1', { enrolled: yesterday() });
    await study.enroll('R2', { enrolled: yesterday() });
    const refused = await study.settled(2);
    expect(refused.map(({ status }) => status)).to.deep.equal(['failed', 'failed']);
    user!.api_export = true;
    await study.configure({ api_token: study.token });
    const test = () => stage.call('POST', `/api/datacapture/config/${study.id}/test-connection`);
    await until(async () => ((await test()).status === 200 ? true : undefined), { what: 'the connection to work' });
    await until(async () => ((await study.events()).every(({ status }) => status === 'processed') ? true : undefined), {
      what: 'both triggers to be processed',
    });
    expect((await study.participants()).map(({ external_id }) => external_id)).to.have.members(['R1', 'R2']);
  });

  it('triggers that failed because the stored token could not be decrypted are processed when another one works', async () => {
    const study = await connected({ poll_interval_minutes: 0 });
    await stage.sql(
      `update datacapture_configs set api_token_encrypted = 'v1:0123456789ab:AAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAA:AAAA'
        where study_id = ?`,
      [study.id],
    );
    await study.enroll('R1', { enrolled: yesterday() });
    const [refused] = await study.settled(1);
    expect(refused!.error).to.match(/^configuration: .*another key/);
    await study.configure({ api_token: study.token });
    expect((await stage.call('POST', `/api/datacapture/config/${study.id}/test-connection`)).status).to.equal(200);
    await until(async () => ((await study.events())[0]!.status === 'processed' ? true : undefined), {
      what: 'the trigger to be processed',
    });
    expect((await study.participants()).map(({ external_id }) => external_id)).to.deep.equal(['R1']);
  });

  it('blanks at the ends of a webhook secret are cut off', async () => {
    const study = await connected({ webhook_secret: ' one-secret-from-the-clipboard\n' });
    const sent = await study.trigger({ record: 'R1' }, { secret: 'one-secret-from-the-clipboard' });
    expect(sent.status).to.equal(200);
  });
});
