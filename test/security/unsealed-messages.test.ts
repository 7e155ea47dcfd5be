import { expect } from 'chai';
import { anchorState, evaluate, participantAnchorId } from '../../workflows/contract.js';
import type { WaitingState } from '../../workflows/contract.js';
import { DAY, Stage } from '../anchor/stage.js';
import { temporalOf } from '../support/temporal.js';

const POLICY = { sources: [{ type: 'manual_entry' }], prerequisites: { require_consent_signed: false } };

/** As a service is started without settings: sealed, and open to who sends by the CLI. */
describe('Where payloads need not be sealed', function () {
  this.timeout(120_000);
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  it('an unsealed message is answered unsealed; the service’s own messages are sealed all the same', async () => {
    const study = await stage.study(POLICY);
    const person = await study.person();
    await person.set(DAY);
    const plain = await temporalOf(stage.run, {});
    try {
      const handle = plain.client.workflow.getHandle(participantAnchorId(person.id));
      expect(await handle.query<WaitingState | null>(anchorState)).to.include({ enrollment_date: DAY });
      const outcome = await handle.executeUpdate(evaluate, { args: [{}] });
      expect(outcome.result).to.equal('unchanged');
      const { events } = await handle.fetchHistory();
      const sealed = events!.flatMap(
        ({ workflowExecutionUpdateAcceptedEventAttributes: accepted }) =>
          accepted?.acceptedRequest?.input?.args?.payloads?.map(({ metadata }) =>
            Buffer.from(metadata!.encoding!).toString(),
          ) ?? [],
      );
      expect(sealed).to.deep.equal(['binary/encrypted', 'json/plain']);
    } finally {
      await plain.close();
    }
  });
});
