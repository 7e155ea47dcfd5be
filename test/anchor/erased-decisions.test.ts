import { expect } from 'chai';
import { openDatabase } from '../../db/client/knex.js';
import type { Database } from '../../db/client/database.js';
import { overrideDecision, participantAnchorId } from '../../workflows/contract.js';
import { atItsCommit, whileHeld } from '../support/held-row.js';
import type { Held } from '../support/held-row.js';
import type { Answer, Http, Loose } from '../support/http.js';
import { until } from '../support/until.js';
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

  async function asked(): Promise<{ person: Person; request: string; deny: () => Promise<Answer<Loose>> }> {
    const person = await study.person();
    await person.set(DAY);
    const { body } = await person.override('2024-03-17');
    return {
      person,
      request: body.override_request_id,
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

  it('with a signal that its workflow takes up after the erasure, is refused and kept nowhere', async () => {
    const { person, request } = await asked();
    const signal = async () =>
      stage.handle(person.id).signal(overrideDecision, {
        request_id: request,
        decision: 'deny',
        approver_user_id: approver.userId!,
        reason: 'Mrs Smith has called',
      });
    const anchor: Held = ['select 1 from anchor_dates where participant_id = ? for update', person.id];
    await whileHeld<unknown>(owner, anchor, erase(person), signal);
    const [record] = await until(
      async () => {
        const all = await refused(person);
        return all.length > 0 ? all : undefined;
      },
      { what: 'the refused decision' },
    );
    expect(record!.audit_metadata).to.include({ code: 'NOT_PENDING', decision: 'deny' });
    const ended = await until(
      async () => {
        const [row] = await stage.sql<{ status: string; reasons: string }>(
          `select status, concat(reason, decision_reason) as reasons from override_requests where id = ?`,
          [request],
        );
        return row!.status === 'pending' ? undefined : row;
      },
      { what: 'the request to end with the participation' },
    );
    expect(ended.reasons).not.to.include('Smith');
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
