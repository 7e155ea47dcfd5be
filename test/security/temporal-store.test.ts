import { randomBytes, randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { defaultPayloadConverter } from '@temporalio/common';
import type { Payload } from '@temporalio/common';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { encryptionKeyBytes } from '../../settings.js';
import { anchorState, participantAnchorId } from '../../workflows/contract.js';
import type { WaitingState } from '../../workflows/contract.js';
import { dataConverterOf, EncryptionCodec, payloadKeyId } from '../../workflows/util/payload-codec.js';
import { DAY, Stage } from '../anchor/stage.js';
import { root, testEnvironment } from '../support/environment.js';
import { ran } from '../support/program.js';
import { startService, temporaryDataDir, until } from '../support/service.js';
import type { Service } from '../support/service.js';
import { temporalOf } from '../support/temporal.js';
import { Day } from './persons-day.js';
import { tracesInFiles, tracesInWorkflows } from './traces-of.js';

const [OLD, NEW] = [randomBytes(32).toString('hex'), randomBytes(32).toString('base64')];
const bytes = (key: string) => encryptionKeyBytes(key)!;
const meta = (payload: Payload, name: string) => Buffer.from(payload.metadata![name]!).toString();

describe('The codec of payloads', () => {
  const payload = defaultPayloadConverter.toPayload({ participant_id: 'person-1', reason: 'typed by hand' })!;

  it('seals with the current key, names it, and opens again; the same twice is never the same', async () => {
    const codec = new EncryptionCodec({ current: bytes(NEW), former: [] });
    const [one, two] = (await codec.encode([payload, payload])) as [Payload, Payload];
    expect([meta(one, 'encoding'), meta(one, 'encryption-key-id')]).to.deep.equal([
      'binary/encrypted',
      payloadKeyId(bytes(NEW)),
    ]);
    expect(Buffer.from(one.data!).toString('latin1')).not.to.contain('typed by hand').and.not.to.contain('person-1');
    expect(Buffer.from(one.data!).equals(Buffer.from(two.data!))).to.equal(false);
    expect((await codec.decode([one])).map((opened) => defaultPayloadConverter.fromPayload(opened))).to.deep.equal([
      { participant_id: 'person-1', reason: 'typed by hand' },
    ]);
  });

  it('after a rotation reads what the former key sealed, and what was never sealed', async () => {
    const sealed = await new EncryptionCodec({ current: bytes(OLD), former: [] }).encode([payload]);
    const rotated = new EncryptionCodec({ current: bytes(NEW), former: [bytes(OLD)] });
    for (const given of [sealed, [payload]])
      expect(defaultPayloadConverter.fromPayload((await rotated.decode(given))[0]!)).to.have.property(
        'reason',
        'typed by hand',
      );
    expect(meta((await rotated.encode([payload]))[0]!, 'encryption-key-id')).to.equal(payloadKeyId(bytes(NEW)));
    const switchedOff = new EncryptionCodec({ current: undefined, former: [bytes(OLD)] });
    expect(await switchedOff.encode([payload])).to.deep.equal([payload]);
    expect((await switchedOff.decode(sealed)).length).to.equal(1);
  });

  it('refuses what another key sealed or somebody changed, naming the key', async () => {
    const sealed = await new EncryptionCodec({ current: bytes(OLD), former: [] }).encode([payload]);
    const fault = async (work: Promise<unknown>) =>
      work.then(
        () => 'none',
        (thrown: Error) => thrown.message,
      );
    expect(await fault(new EncryptionCodec({ current: bytes(NEW), former: [] }).decode(sealed)))
      .to.contain(payloadKeyId(bytes(OLD)))
      .and.contain('TEMPORAL_PAYLOAD_FORMER_KEYS');
    const data = Buffer.from(sealed[0]!.data!);
    data[20]! ^= 1;
    expect(
      await fault(new EncryptionCodec({ current: bytes(OLD), former: [] }).decode([{ ...sealed[0]!, data }])),
    ).to.contain('was changed since');
  });
});

/** One service for both: its payloads are encrypted with a key that it was given. */
describe('Temporal', function suite() {
  this.timeout(300_000);
  let service: Service;
  let stage: Stage;
  const settings = { TEMPORAL_PAYLOAD_KEY: NEW, TEMPORAL_PAYLOAD_FORMER_KEYS: OLD };
  before(async () => {
    service = await startService({ ...settings, TRUST_PROXY: 'true' });
    stage = await Stage.open(service.run);
  });
  after(async () => {
    await stage?.close();
    await service?.stop();
  });

  /** What persons have said and who they are, and where from: none of it reaches Temporal. */
  describe('What Temporal stores of persons', () => {
    let day: Day;
    before(async () => {
      day = await Day.of(stage);
    });

    it('its files hold none of it, and its histories neither without the key nor with it', async function () {
      const file = join(service.dataDir, 'temporal.db');
      if (existsSync(file))
        expect(
          tracesInFiles(service.dataDir, (name) => name.startsWith('temporal.db'), day.marks),
          'in the database file',
        ).to.deep.equal([]);
      const plain = await tracesInWorkflows(stage.temporal, day.marks);
      expect(plain.types).to.include('participantAnchor');
      expect(plain.traces, 'without the key').to.deep.equal([]);
      const { traces, opened } = await tracesInWorkflows(
        stage.temporal,
        day.marks,
        new EncryptionCodec({ current: bytes(NEW), former: [] }),
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
        expect(await stage.sql('select 1 from message_details where participant_id = ?', [person.id])).to.deep.equal(
          [],
        );
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

  describe('A service whose payloads are encrypted', () => {
    const REASON = `a reason nobody may read ${randomUUID()}`;

    it('works as before; histories hold nothing that can be read without the key, failures included', async () => {
      const study = await stage.study({
        sources: [{ type: 'manual_entry' }],
        prerequisites: { require_eligibility_confirmed: false },
      });
      const person = await study.person();
      await person.set('2024-03-10', stage.admin, { reason: REASON });
      await person.consent('2024-03-01T09:00:00Z');
      await person.becomes({ status: 'finalized', enrollment_date: '2024-03-10' });
      const handle = stage.handle(person.id);
      // What is searched by stays readable: ids and states (docs/OPERATIONS.md).
      const history = JSON.stringify(
        JSON.parse(historyToJSON(await handle.fetchHistory()), (name, value: unknown) =>
          name === 'searchAttributes' ? undefined : value,
        ),
      );
      const readable = [...history.matchAll(/"data":\s*"([^"]*)"/g)]
        .map(([, data]) => Buffer.from(data!, 'base64').toString('latin1'))
        .join('\n');
      expect(readable.length).to.be.greaterThan(1_000);
      for (const word of [REASON, study.id, person.id, '2024-03-10', 'finalized'])
        expect(readable, 'in a payload').not.to.contain(word);
      for (const word of [REASON, '2024-03-10']) expect(history, 'anywhere in the history').not.to.contain(word);
      expect(history).to.contain(Buffer.from('binary/encrypted').toString('base64'));

      const failed = await handle.executeUpdate('setEnrollmentDate', { args: [{ enrollment_date: 'no date' }] }).then(
        () => 'answered',
        (fault: Error) => JSON.stringify(fault, Object.getOwnPropertyNames(fault)),
      );
      expect(failed).not.to.contain('no date');

      const keyed = await temporalOf(service.run, {
        dataConverter: dataConverterOf({ current: bytes(NEW), former: [] })!,
      });
      try {
        const state = await keyed.client.workflow
          .getHandle(participantAnchorId(person.id))
          .query<WaitingState | null>(anchorState);
        expect(state).to.include({ status: 'finalized', enrollment_date: '2024-03-10' });
        expect(
          await (await keyed.client.workflow.getHandle(participantAnchorId(person.id)).describe()).staticSummary(),
        ).to.equal('anchor date of one participant');
      } finally {
        await keyed.close();
      }
    });

    it('is shown by the codec server to who knows its address, and to nobody else', async () => {
      const child = spawn(process.execPath, ['scripts/run.mjs', 'scripts/codec-server', '--port', '0'], {
        cwd: root,
        env: testEnvironment({ ...settings, DATA_DIR: service.dataDir }),
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let said = '';
      child.stdout.setEncoding('utf8').on('data', (part: string) => {
        said += part;
      });
      const exit = once(child, 'exit');
      try {
        const address = await until(() => /http:\/\/\S+\/[\w-]{32}$/m.exec(said)?.[0], {
          timeout: 90_000,
          what: 'the codec server',
        });
        const [sealed] = await new EncryptionCodec({ current: bytes(OLD), former: [] }).encode([
          defaultPayloadConverter.toPayload('a word')!,
        ]);
        const body = JSON.stringify({
          payloads: [
            {
              metadata: Object.fromEntries(
                Object.entries(sealed!.metadata!).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
              ),
              data: Buffer.from(sealed!.data!).toString('base64'),
            },
          ],
        });
        const ask = (url: string, method = 'POST') =>
          fetch(url, {
            method,
            ...(method === 'POST' && { body }),
            headers: { 'Content-Type': 'application/json', Origin: new URL(service.run.temporal_ui!).origin },
          });
        const opened = await ask(`${address}/decode`);
        expect([opened.status, opened.headers.get('access-control-allow-origin')]).to.deep.equal([
          200,
          new URL(service.run.temporal_ui!).origin,
        ]);
        const {
          payloads: [payload],
        } = (await opened.json()) as { payloads: [{ data: string }] };
        expect(Buffer.from(payload.data, 'base64').toString()).to.equal('"a word"');
        expect((await ask(`${address}/encode`)).status).to.equal(200);
        expect((await ask(`${address}/decode`, 'OPTIONS')).status).to.equal(204);
        expect((await ask(`${address}/decode`, 'GET')).status).to.equal(405);
        for (const wrong of [
          new URL('/decode', address).href,
          `${address.slice(0, -1)}${address.endsWith('x') ? 'y' : 'x'}/decode`,
          `${address}/keys`,
        ])
          expect((await ask(wrong)).status, wrong).to.equal(404);
        expect((await fetch(`${address}/decode`, { method: 'POST', body: '{' })).status).to.equal(400);
      } finally {
        child.kill('SIGTERM');
        await exit;
      }
      const without = await ran(
        ['scripts/run.mjs', 'scripts/codec-server'],
        testEnvironment({ DATA_DIR: temporaryDataDir() }),
      );
      expect([without.code, without.output]).to.satisfy(
        ([code, text]: [number, string]) => code === 1 && text.includes('TEMPORAL_PAYLOAD_KEY is not set'),
      );
    });
  });
});
