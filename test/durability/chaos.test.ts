import { expect } from 'chai';
import { asMuchAs } from '../support/in-full.js';
import { faultsOf } from './checker.js';
import { observe } from './observe.js';
import { chaosRun } from './run.js';

/** Another one, or one that failed: CHAOS_SEED=17. The long form: npm run test:durability. */
const SEED = Number(process.env.CHAOS_SEED ?? 1);

describe('Whole lives of participants while API, worker, PostgreSQL and Temporal are killed, frozen and cut off from each other', function () {
  this.timeout(400_000);

  it(`leave what was acknowledged, once (seed ${SEED}); and a loss or a double that is planted is found`, async () => {
    const lines: string[] = [];
    const report = await chaosRun(
      {
        seed: SEED,
        participants: 9,
        clients: 6,
        apis: 1,
        workers: 1,
        chaosSeconds: asMuchAs(6, 15),
        different: 5,
        say: (line) => lines.push(line),
      },
      async ({ ledger, faults }, stage, setting) => {
        if (faults.length > 0) return;
        // The checker is no good if it says so of anything.
        const { id: session } = ledger.sessions[0]!,
          { participant, id: consent } = ledger.consents[0]!;
        await stage.sql('delete from raw_trial_chunks where session_id = ?', [session]);
        await stage.sql(
          `insert into consents (study_id, participant_id, status, signed_at) select study_id, participant_id, status, signed_at from consents where id = ?`,
          [consent],
        );
        const found = faultsOf(ledger, await observe(stage, setting, ledger));
        expect(found).to.have.length(2);
        expect(found.join('\n'))
          .to.match(new RegExp(`consent ${participant}/[0-9a-f-]+ is there and nobody made it`))
          .and.to.match(new RegExp(`session ${session} has 0 trials of \\d+ that were acknowledged`));
      },
    );
    expect(report.faults, `seed ${SEED}\n${lines.join('\n')}`).to.deep.equal([]);
    expect(Object.keys(report.inflicted), 'something went wrong').to.have.length.above(4);
    expect(report.ledger.participants.length + report.ledger.triggers.length).to.equal(9);
  });
});
