import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { compared } from './compared.js';
import { Stage } from './support.js';

interface Warnings {
  project_id: string | null;
  warnings?: { code: string; path: string; message: string }[];
}

const WITHOUT_LANGUAGE = [
  'field_name,form_name,field_type,field_label,select_choices_or_calculations,text_validation_type_or_show_slider_number',
  'subject_id,enroll,text,Subject,,',
  'enrolled,enroll,text,Enrolled,,date_ymd',
  'mail,enroll,text,Mail,,',
  'dob,enroll,text,Born,,date_ymd',
  'arms,enroll,checkbox,Arm,"a, A | b, B",',
  'rt_mean,cognition,text,Mean,,number_1dp',
].join('\n');

describe('the id of the capture system’s project', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  it('is saved without blanks at its ends; one of blanks alone is refused', async () => {
    const study = await stage.study();
    const blanks = { project_id: ` ${study.projectId} `, enrollment_instrument: ' enroll ' };
    const saved = await compared(() => study.configure(blanks));
    expect(saved.body).to.include({ project_id: study.projectId, enrollment_instrument: 'enroll' });
    expect((saved.body as unknown as Warnings).warnings ?? []).to.deep.equal([]);
    const blank = await study.configure({ project_id: '  ' });
    expect([blank.status, (blank.body['errors'] as { path: string }[])[0]!.path]).to.deep.equal([422, 'project_id']);
    await study.enroll('1', { enrolled: '2026-01-15' });
    expect((await study.settled(1))[0]).to.include({ status: 'processed', outcome: 'created' });
  });

  it('and every other name or token is saved without them; `redcap_instrument` is taken for `datacapture_instrument`', async () => {
    const study = await stage.study();
    expect((await study.configure({ api_token: `${study.token}\n` })).status).to.equal(200);
    const blanks = {
      participant_field_mapping: { email: ' mail ' },
      data_field_mapping: { stroop: { redcap_instrument: 'cognition ', fields: { mean_rt: ' rt_mean' } } },
      event_battery_mapping: { ' baseline_arm_1': { battery_id: study.battery, target_day: 0 } },
    };
    const saved = await compared(() => study.configure(blanks, '?strict=true'));
    expect([saved.status, (saved.body as unknown as Warnings).warnings ?? []]).to.deep.equal([200, []]);
    expect(saved.body['participant_field_mapping']).to.deep.include({ email: 'mail' });
    expect(Object.keys(saved.body['event_battery_mapping'] as object)).to.have.members([
      'baseline_arm_1',
      'month_3_arm_1',
    ]);
    const [stored] = await stage.sql<{ data_field_mapping: unknown }>(
      'select data_field_mapping from datacapture_configs where study_id = ?',
      [study.id],
    );
    expect(stored!.data_field_mapping).to.deep.equal({
      stroop: { datacapture_instrument: 'cognition', fields: { mean_rt: 'rt_mean' } },
    });
    await study.enroll('1', { enrolled: '2026-01-15', mail: 'a@example.org' });
    await study.settled(1);
    expect((await study.participants())[0]).to.include({ email: 'a@example.org' });
    const blank = await study.configure({ participant_field_mapping: { phone: ' ' } });
    expect([blank.status, (blank.body['errors'] as { path: string }[])[0]!.path]).to.deep.equal([
      422,
      'participant_field_mapping.phone',
    ]);
  });

  it('is a warning where the connected project has another one, and refused by a strict save', async () => {
    const study = await stage.study();
    const other = `${study.projectId}1`;
    const saved = await compared(() => study.configure({ project_id: other }));
    expect((saved.body as unknown as Warnings).warnings!.map(({ code, path }) => [code, path])).to.deep.equal([
      ['PROJECT_ID_DIFFERS', 'project_id'],
    ]);
    const strict = await study.configure({ project_id: `${other}1` }, '?strict=true');
    expect([strict.status, (strict.body['errors'] as { code: string }[])[0]!.code]).to.deep.equal([
      400,
      'PROJECT_ID_DIFFERS',
    ]);
    expect((await stage.call('GET', `/api/datacapture/config/${study.id}`)).body['project_id']).to.equal(other);
  });

  it('and the names of a mapping are compared as well where another token may belong to another project', async () => {
    const [study, other] = [await stage.study(), await stage.study({ dictionary: WITHOUT_LANGUAGE, connect: false })];
    const told = async (change: Record<string, unknown>) =>
      ((await compared(() => study.configure(change))).body as unknown as Warnings).warnings?.map(({ code }) => code) ??
      [];
    expect(await told({ api_token: other.token })).to.deep.equal(['PROJECT_ID_DIFFERS', 'UNKNOWN_FIELD']);
    expect(await told({ webhook_enabled: true })).to.deep.equal([]);
    expect(await told({ api_token: study.token })).to.deep.equal([]);
  });

  it('of triggers that came before the connection was tested is no stranger’s once it is known by that', async () => {
    const study = await stage.study({ connect: false });
    expect((await study.trigger({ record: 'early' })).status).to.equal(200);
    const listed = async () =>
      (
        await stage.call<{ items: { project_id: string }[] }>('GET', '/api/datacapture/unmatched-triggers?limit=500')
      ).body.items.filter(({ project_id }) => project_id === study.projectId);
    expect(await listed()).to.have.length(1);
    await study.connect();
    await study.test();
    expect(await listed()).to.deep.equal([]);
  });

  it('of triggers that no study claims is listed for admins, with how many and when, until a study claims them', async () => {
    const study = await stage.study();
    const strange = String(randomInt(3_000_000_000, 4_000_000_000));
    for (const record of ['a', 'b'])
      expect((await study.trigger({ project_id: strange, record })).status).to.equal(200);
    const listed = async () =>
      (
        await stage.call<{ items: { project_id: string; count: number; first_at: string; last_at: string }[] }>(
          'GET',
          '/api/datacapture/unmatched-triggers?limit=500',
        )
      ).body.items.find(({ project_id }) => project_id === strange);
    const found = (await listed())!;
    expect(Object.keys(found).sort()).to.deep.equal(['count', 'first_at', 'last_at', 'project_id']);
    expect(found.count).to.equal(2);
    expect(found.first_at < found.last_at).to.equal(true);
    const { token } = await stage.user('researcher', [study.id]);
    expect((await stage.call('GET', '/api/datacapture/unmatched-triggers', undefined, token)).status).to.equal(403);
    await study.configure({ project_id: strange });
    expect(await listed()).to.equal(undefined);
  });
});
