import { expect } from 'chai';
import { DAY, Stage } from '../anchor/stage.js';
import type { AnchorStudy, Person } from '../anchor/stage.js';
import { goodPassword } from '../support/http.js';
import type { Answer, Http, Loose } from '../support/http.js';

const policy = {
  sources: [{ type: 'manual_entry' }],
  prerequisites: { require_consent_signed: false },
  permissions: {
    can_override: ['admin', 'coordinator', 'researcher'],
    override_requires_approval: true,
    override_approver_roles: ['researcher'],
  },
};
const code = ({ status, body }: Answer<Loose>) => [status, body.code];
const proved = { headers: { 'X-Reauthentication': goodPassword } };

describe('A decision on an override request that is not the caller’s to decide', () => {
  let stage: Stage;
  let study: AnchorStudy;
  let asker: Http, approver: Http, other: Http;
  let of: Person;
  let request: string;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(policy);
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, {
      config: { signatures: { reauthenticate: true } },
    });
    [asker, approver, other] = await Promise.all([
      study.as('researcher', 'asker'),
      study.as('researcher', 'approver'),
      study.as('coordinator'),
    ]);
    of = await study.person();
    await of.set(DAY);
    request = (await of.override('2024-03-17', asker)).body.override_request_id;
  });
  after(() => stage.close());

  /** The row as its last transaction left it. */
  const written = async () =>
    (
      await stage.sql<{ by: string; offered_signatures: object }>(
        'select xmin::text as by, offered_signatures from override_requests where id = ?',
        [request],
      )
    )[0];
  const decide = (person: Person, by: Http, decision: 'approve' | 'deny', options?: typeof proved) =>
    person.post(`/override-requests/${request}/${decision}`, { reason: 'looked at it' }, by, options);

  it('neither stores a signature nor takes one away, and asks for no proof', async () => {
    const [elsewhere, somebody] = await Promise.all([stage.study(policy), study.person()]);
    const foreign = await elsewhere.person();
    const before = await written();
    for (const options of [proved, undefined])
      for (const decision of ['approve', 'deny'] as const) {
        for (const person of [foreign, somebody])
          expect(code(await decide(person, stage.admin, decision, options))).to.deep.equal([
            404,
            'OVERRIDE_REQUEST_NOT_FOUND',
          ]);
        expect(code(await decide(somebody, approver, decision, options))).to.deep.equal([
          404,
          'OVERRIDE_REQUEST_NOT_FOUND',
        ]);
        expect(code(await decide(of, asker, decision, options))).to.deep.equal([403, 'SELF_APPROVAL']);
        expect(code(await decide(of, other, decision, options))).to.deep.equal([403, 'FORBIDDEN']);
      }
    expect(await written()).to.deep.equal(before);
  });

  it('leaves the request to its approver; after that, a further decision is refused as one that is late', async () => {
    expect(code(await decide(of, approver, 'deny'))).to.deep.equal([401, 'REAUTHENTICATION_REQUIRED']);
    expect((await decide(of, approver, 'deny', proved)).status).to.equal(200);
    const before = await written();
    for (const decision of ['approve', 'deny'] as const)
      expect(code(await decide(of, approver, decision, proved))).to.deep.equal([409, 'NOT_PENDING']);
    expect(await written()).to.deep.equal(before);
  });
});
