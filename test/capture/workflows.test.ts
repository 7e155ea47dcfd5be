import { expect } from 'chai';
import { datacaptureTriggerId, participantAnchorId } from '../../workflows/contract.js';
import { until } from '../support/service.js';
import { temporalOf } from '../support/temporal.js';
import type { TemporalAccess } from '../support/temporal.js';
import { Stage } from './support.js';

describe('the workflows behind a trigger', function () {
  let stage: Stage;
  let temporal: TemporalAccess;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
    temporal = await temporalOf(stage.run);
  });
  after(async () => {
    await temporal?.close();
    await stage?.clear();
  });

  const statusOf = (id: string) =>
    temporal.client.workflow
      .getHandle(id)
      .describe()
      .then((found) => found.status.name);

  it("the trigger's own has ended, the participant's runs soon and tells what it waits for", async () => {
    const study = await stage.study({ study: { consent_mode: 'econsent' } });
    await study.enroll('w', { enrolled: '2026-01-15' });
    const [event] = await study.settled(1);
    await until(async () => (await statusOf(datacaptureTriggerId(event!.id))) === 'COMPLETED', {
      what: "the trigger's workflow",
    });
    const id = participantAnchorId(event!.participant_id!);
    await until(async () => (await statusOf(id)) === 'RUNNING', { what: "the participant's workflow" });
    const state = await until(() =>
      temporal.client.workflow.getHandle(id).query<{ status: string; waiting_for: string[] } | null>('anchorState'),
    );
    expect(state).to.deep.include({ status: 'provisional', waiting_for: ['consent'] });
  });

  it('what changes right after the trigger is not held up by the start that waits for its turn', async () => {
    const study = await stage.study({ study: { consent_mode: 'econsent' } });
    await study.enroll('c', { enrolled: '2026-01-15' });
    const [event] = await study.settled(1);
    const consent = await stage.call(
      'POST',
      `/api/studies/${study.id}/participants/${event!.participant_id}/consents`,
      { status: 'signed', signed_at: '2026-01-15T09:00:00Z' },
    );
    expect(consent.status).to.equal(201);
    await until(async () => (await study.anchor(event!.participant_id!))['status'] === 'finalized', {
      what: 'the consent to finalize the anchor',
    });
    expect(await study.versions(event!.participant_id!), 'the schedule that fitted stays').to.have.length(1);
  });
});
