import { expect } from 'chai';
import { requestOverride } from '../../workflows/contract.js';
import { addDays } from '../../workflows/domain/util/dates.js';
import { until } from '../support/service.js';
import { DAY, Stage } from './stage.js';

describe('An override at the moment of a withdrawal', () => {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  it('that was first waits for it, and nothing moves afterwards', async () => {
    const study = await stage.study(
      { sources: [{ type: 'manual_entry' }], prerequisites: { require_consent_signed: false } },
      { fields: { consent_mode: 'none' } },
    );
    const person = await study.person();
    expect((await person.set(DAY)).body.status).to.equal('finalized');
    await person.settled();
    const [before, versions] = [await person.anchor(), await person.versions()];
    const works = await stage.database.transaction(async (holder) => {
      const { pid } = (await holder.raw('select pg_backend_pid() as pid')).rows[0];
      /** Waits until so many transactions wait for this one, or for each other behind it. */
      const waiting = (count: number) =>
        until(
          async () => {
            const [behind] = await stage.sql<{ n: number }>(
              `with recursive behind as (select :pid::int as pid
                 union select a.pid from pg_stat_activity a join behind b on b.pid = any(pg_blocking_pids(a.pid)))
               select count(*)::int - 1 as n from behind`,
              { pid },
            );
            return behind!.n >= count;
          },
          { what: `${count} to wait` },
        );
      // The last statement of a change is its audit record: the withdrawal has been written and is not committed yet.
      await holder.raw('select 1 from audit_chains where chain = ? for update', [study.id]);
      const withdrawal = person.withdraw();
      await waiting(1);
      const override = stage.handle(person.id).executeUpdate(requestOverride, {
        args: [{ new_enrollment_date: addDays(DAY, 4), reason: 'misread', actor_user_id: stage.admin.userId! }],
      });
      await waiting(2);
      return [withdrawal, override] as const;
    });
    // The workflow ends with the withdrawal: it may do so before it has told what became of the override.
    const [withdrawal] = await Promise.allSettled(works);
    expect(withdrawal).to.have.nested.property('value.status', 'withdrawn');
    await stage.handle(person.id).result();
    expect(await person.anchor()).to.include({ enrollment_date: DAY, version: before.version });
    expect(await person.versions()).to.deep.equal(versions);
  });
});
