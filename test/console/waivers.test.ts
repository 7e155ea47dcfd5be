import { expect } from 'chai';
import { Stage } from '../anchor/stage.js';
import type { AnchorStudy } from '../anchor/stage.js';
import { goodPassword } from '../support/http.js';
import { Visitor, hiddenIn } from './stage.js';

describe('waivers in the console', function () {
  this.timeout(120_000);
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage?.close());

  const staff = async (study: AnchorStudy, role: 'researcher' | 'investigator') =>
    (await study.as(role)) as Awaited<ReturnType<AnchorStudy['as']>> & { email: string };
  const visitor = ({ email }: { email: string }) => Visitor.of(stage.run.api, email);

  it('shows a waiver and lets another person approve it, with a proof: recording the eligibility approves nothing', async () => {
    const study = await stage.study({}, { fields: { config: { signatures: { reauthenticate: true } } } });
    const person = await study.person();
    const [asks, approves] = [await staff(study, 'investigator'), await staff(study, 'researcher')];
    const path = `/api/studies/${study.id}/participants/${person.id}/eligibility`;
    const assessment = () => stage.admin.expect(200, 'GET', path);
    await asks.expect(200, 'PUT', path, {
      status: 'pending',
      inclusion_criteria: { AGE: { met: false }, Bmi_2: { met: false } },
      has_waiver: true,
      waiver_criteria_ids: ['AGE'],
      waiver_reason: 'agreed with the <b>sponsor</b>',
    });
    const own = `/console/participants/${person.id}`;
    const facts = `${own}?tab=facts`;
    const approver = await visitor(approves);
    const page = async () => (await approver.get(facts)).text;
    const record = async (status: string) =>
      approver.post(facts, `${own}/eligibility`, { _seen: hiddenIn(await page(), '_seen'), status });
    expect(await page())
      .to.include('agreed with the &lt;b>sponsor&lt;/b>')
      .and.to.include('Not yet: another person approves it');
    expect((await record('deferred')).status).to.equal(303);
    expect(await assessment()).to.include({ status: 'deferred', waiver_approved_by_id: null });
    const against = await record('eligible');
    expect([against.status, against.text.includes('Inclusion criterion Bmi_2: It speaks against')]).to.deep.equal([
      400,
      true,
    ]);
    expect((await (await visitor(asks)).get(facts)).text, 'who asked').not.to.include('/waiver"');
    const send = async (proof_password: string) =>
      approver.post(facts, `${own}/waiver`, { _seen: hiddenIn(await page(), '_seen'), proof_password });
    for (const [proof, said] of [
      ['', 'asks for your password or a code again'],
      ['not the password', 'The password or code is wrong.'],
    ] as const) {
      const refused = await send(proof);
      expect([refused.status, refused.text.includes(said)], proof).to.deep.equal([401, true]);
      expect(refused.text).to.match(/name="proof_password"[^>]*aria-invalid/);
    }
    expect(await assessment()).to.include({ waiver_approved_by_id: null });
    expect((await send(goodPassword)).headers.get('location')).to.include('done=waiver');
    expect(await assessment()).to.include({ waiver_approved_by_id: approves.userId });
    expect(await page()).to.not.include('/waiver"');
    const records = await study.audit('eligibility_changed');
    expect(records.at(-1)!.audit_metadata).to.include({ waiver_proved_by: 'password' });
    expect((await (await visitor(asks)).post(facts, `${own}/waiver`, { _seen: 'x' })).status).to.equal(409);
  });
});
