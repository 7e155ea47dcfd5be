import { expect } from 'chai';
import { generateSync } from 'otplib';
import { DAY, Stage } from '../anchor/stage.js';
import type { AnchorStudy, Person } from '../anchor/stage.js';
import { goodPassword, unique } from '../support/http.js';
import type { Answer, Http, Loose } from '../support/http.js';

const policy = {
  sources: [{ type: 'manual_entry' }],
  prerequisites: { require_consent_signed: false },
  permissions: { override_requires_approval: true, override_approver_roles: ['researcher'] },
};
const never = { id: 'never', name: 'Never', expression: 'false', error_message: 'no date passes', severity: 'error' };
const code = ({ status, body }: Answer<Loose>) => [status, body.code];

describe('A decision that is repeated under its Idempotency-Key', () => {
  let stage: Stage;
  let study: AnchorStudy;
  let signer: Http;
  let of: Person;
  let approve: (key: string, proof: string) => Promise<Answer<Loose>>;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());
  beforeEach(async () => {
    study = await stage.study(policy);
    const config = { signatures: { reauthenticate: true } };
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { config });
    signer = await study.as('researcher');
    of = await study.person();
    await of.set(DAY);
    const { body } = await of.override('2024-03-17', stage.admin);
    const path = `/api/studies/${study.id}/participants/${of.id}/anchor-date/override-requests/${body.override_request_id}`;
    approve = (key, proof) =>
      signer.post(`${path}/approve`, {}, { headers: { 'X-Reauthentication': proof, 'Idempotency-Key': key } });
  });

  it('needs no other code of the second factor: its own is used up', async () => {
    const { secret } = await signer.expect<{ secret: string }>(200, 'POST', '/api/auth/mfa/setup', {
      password: goodPassword,
    });
    const shown = generateSync({ secret });
    await signer.expect(200, 'POST', '/api/auth/mfa/verify', { code: shown });
    const key = unique();
    const granted = await approve(key, shown);
    expect([granted.status, granted.body.status], granted.text).to.deep.equal([200, 'applied']);
    // As if the API had died before it stored its answer.
    await stage.sql('delete from idempotency_keys where key = ?', [key]);
    const repeated = await approve(key, shown);
    expect([repeated.status, repeated.body.status], repeated.text).to.deep.equal([200, 'applied']);
    expect(code(await approve(unique(), shown))).to.deep.equal([401, 'REAUTHENTICATION_FAILED']);
  });

  it('is signed once more, and carried out, where it was refused before', async () => {
    const key = unique();
    await study.policy({ ...policy, validation: { custom_rules: [never] } });
    expect((await approve(key, goodPassword)).status).to.equal(400);
    await study.policy(policy);
    expect(code(await approve(key, 'not the password'))).to.deep.equal([401, 'REAUTHENTICATION_FAILED']);
    const granted = await approve(key, goodPassword);
    expect([granted.status, granted.body.status], granted.text).to.deep.equal([200, 'applied']);
    const requests = `/api/studies/${study.id}/participants/${of.id}/anchor-date/override-requests`;
    const { items } = await stage.admin.expect<{ items: { signature: unknown }[] }>(200, 'GET', requests);
    expect(items[0]!.signature).to.include({ proved_by: 'password', meaning: 'approval' });
  });
});
