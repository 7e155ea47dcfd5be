import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import type { Database } from '../../db/client/database.js';
import { atItsCommit, whileHeld } from '../support/held-row.js';
import type { Answer, Http, Loose } from '../support/http.js';
import { participantAnchorId } from '../../workflows/contract.js';
import { DAY, Stage } from './stage.js';
import type { AnchorStudy, Person } from './stage.js';

/** It would be kept for good. */
describe('What is said of a person after their erasure', () => {
  let stage: Stage, study: AnchorStudy, owner: Database, approver: Http;
  before(async () => {
    stage = await Stage.open();
    owner = openDatabase({ url: stage.run.database_url, poolMax: 2, name: 'erased-decisions', asOwner: true });
    study = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_consent_signed: false },
      permissions: { override_requires_approval: true, override_approver_roles: ['researcher'] },
    });
    approver = await study.as('researcher');
  });
  after(async () => {
    await owner?.destroy();
    await stage.close();
  });

  async function asked(): Promise<{ person: Person; deny: () => Promise<Answer<Loose>> }> {
    const person = await study.person();
    await person.set(DAY);
    const { body } = await person.override('2024-03-17');
    return {
      person,
      deny: () => person.decide(body.override_request_id, 'deny', approver, { reason: 'Mrs Smith has called' }),
    };
  }
  const erase = (person: Person) => (): Promise<Answer<Loose>> =>
    stage.admin.post(`/api/participants/${person.id}/erase`, { reason: 'asked for it' });
  const details = (person: Person) =>
    stage.sql('select reason from message_details where participant_id = ?', [person.id]);
  /** The updates in the history of the participant's workflow. */
  const updatesOf = async (person: Person): Promise<string[]> => {
    const { events } = await stage.temporal.workflow.getHandle(participantAnchorId(person.id)).fetchHistory();
    return (events ?? []).flatMap(
      (event) => event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input?.name ?? [],
    );
  };
  const refused = async (person: Person) =>
    (await study.audit('override_decision_refused')).filter(({ resource_id }) => resource_id === person.id);

  it('with a decision on an override, is refused and recorded, and kept nowhere', async () => {
    const { person, deny } = await asked();
    expect((await erase(person)()).status).to.equal(200);
    const { status, body } = await deny();
    expect([status, body.code]).to.deep.equal([409, 'NOT_PENDING']);
    expect(await details(person)).to.deep.equal([]);
    expect(await updatesOf(person)).not.to.include('decideOverride');
    const [record] = await refused(person);
    expect(record).to.include({ user_id: approver.userId, request_id: body.request_id });
    expect(record!.audit_metadata).to.include({ code: 'NOT_PENDING' });
  });

  it('with an override that is asked for while the erasure is being committed, is refused and kept nowhere', async () => {
    const person = await study.person();
    await person.set(DAY);
    const [erased, override] = await whileHeld<Answer<Loose>>(owner, atItsCommit(study.id), erase(person), () =>
      person.override('2024-03-17'),
    );
    expect([erased!.status, override!.status, override!.body.code]).to.deep.equal([200, 409, 'PARTICIPANT_WITHDRAWN']);
    expect(await details(person)).to.deep.equal([]);
  });
});
