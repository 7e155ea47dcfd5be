import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { encryptionKeyBytes } from '../../settings.js';
import { EncryptionCodec } from '../../workflows/util/payload-codec.js';
import { DAY, Stage } from '../anchor/stage.js';
import { startService } from '../support/service.js';
import type { Service } from '../support/service.js';
import { payloadKeyOf } from '../support/temporal.js';
import { Day } from './persons-day.js';
import { tracesInFiles, tracesInWorkflows } from './traces-of.js';

/** What persons have said and who they are, and where from: none of it reaches Temporal. */
describe('What Temporal stores of persons', function () {
  this.timeout(240_000);
  let service: Service;
  let stage: Stage;
  let day: Day;

  before(async () => {
    service = await startService({ TRUST_PROXY: 'true' });
    stage = await Stage.open(service.run);
    day = await Day.of(stage);
  });
  after(async () => {
    await stage?.close();
    await service?.stop();
  });

  it('its files hold none of it, and its histories neither without the key nor with it', async function () {
    const file = join(service.dataDir, 'temporal.db');
    if (existsSync(file))
      expect(
        tracesInFiles(service.dataDir, (name) => name.startsWith('temporal.db'), day.marks),
        'in the database file',
      ).to.deep.equal([]);
    const key = encryptionKeyBytes(payloadKeyOf(service.run))!;
    const plain = await tracesInWorkflows(stage.temporal, day.marks);
    expect(plain.types).to.include('participantAnchor');
    expect(plain.traces, 'without the key').to.deep.equal([]);
    const { traces, opened } = await tracesInWorkflows(
      stage.temporal,
      day.marks,
      new EncryptionCodec({ current: key, former: [] }),
    );
    expect(opened, 'payloads that were opened').to.be.greaterThan(50);
    expect(traces, 'with the key').to.deep.equal([]);
  });

  it('what did not travel is in the record: who sent it, from where and why', async () => {
    const entries = await stage.sql<{ reason: string | null; ip_address: string; user_agent: string }>(
      `select reason, ip_address, user_agent from anchor_date_history where study_id = ? and event_type in ('OVERRIDE_REQUESTED', 'OVERRIDE_DENIED', 'OVERRIDE_GRANTED')`,
      [day.study.id],
    );
    expect(entries.length).to.be.greaterThan(3);
    for (const { reason: kept, ip_address, user_agent } of entries) {
      expect(day.marks.map((one) => one.word)).to.include(kept);
      expect([ip_address, user_agent]).to.deep.equal([
        day.from.headers['x-forwarded-for'],
        day.from.headers['user-agent'],
      ]);
    }
  });

  it('while a worker of an earlier release works, which knows no such row, messages carry everything, sealed', async () => {
    const worker = '00000000-0000-4000-8000-000000000001';
    await stage.sql(`insert into worker_signs (worker_id, task_queue) values (?, 'of an earlier release')`, [worker]);
    try {
      const person = await day.someone();
      const { status, text } = await person.post('', { enrollment_date: DAY, reason: 'carried along' }, stage.admin);
      expect(status, text).to.equal(200);
      expect((await person.history()).map(({ reason: kept }) => kept)).to.include('carried along');
      expect(await stage.sql('select 1 from message_details where participant_id = ?', [person.id])).to.deep.equal([]);
    } finally {
      await stage.sql('delete from worker_signs where worker_id = ?', [worker]);
    }
  });

  it('an erasure clears what was kept beside the messages', async () => {
    const { person } = await day.asked(await day.study.as('coordinator'));
    const kept = () => stage.sql('select 1 from message_details where participant_id = ?', [person.id]);
    expect(await kept()).to.have.length(2);
    await stage.admin.expect(200, 'POST', `/api/participants/${person.id}/erase`, { reason: 'asked for it' });
    expect(await kept()).to.deep.equal([]);
  });
});
