import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { encryptionKeyBytes } from '../../settings.js';
import { EncryptionCodec } from '../../workflows/util/payload-codec.js';
import { DAY, Stage } from '../anchor/stage.js';
import type { AnchorStudy, Person } from '../anchor/stage.js';
import { enterPortalOf } from '../support/portal.js';
import { unique } from '../support/http.js';
import type { Http } from '../support/http.js';
import { startService, until } from '../support/service.js';
import type { Service } from '../support/service.js';
import { payloadKeyOf } from '../support/temporal.js';
import { tracesInFiles, tracesInWorkflows } from './traces-of.js';
import type { Marker } from './traces-of.js';

const POLICY = {
  sources: [{ type: 'manual_entry' }, { type: 'consent_workflow' }],
  prerequisites: { require_consent_signed: false },
  permissions: {
    can_override: ['admin', 'coordinator', 'researcher'],
    override_requires_approval: true,
    override_approver_roles: ['researcher'],
    participant_can_set: true,
  },
};
const word = (about: string): string => unique(`zq${about}`).replaceAll('-', '');
const LATER = '2024-03-17';

/** What persons have said and who they are, and where from: none of it reaches Temporal. */
describe('What Temporal stores of persons', function () {
  this.timeout(240_000);
  let service: Service;
  let stage: Stage;
  let study: AnchorStudy;
  const marks: Marker[] = [];
  const marked = (name: string, value: string): string => {
    marks.push({ name, word: value });
    return value;
  };
  const reason = (of: string): string => marked(`the reason of ${of}`, `${word('reason')} of ${of}`);
  let from: { headers: Record<string, string> };
  /** From somewhere else, by a browser that is like no other. */
  const anywhere = () => from;

  before(async () => {
    service = await startService({ TRUST_PROXY: 'true' });
    stage = await Stage.open(service.run);
    from = {
      headers: {
        'user-agent': marked('a browser', `Browser/${word('agent')}`),
        'x-forwarded-for': marked('an address', '203.0.113.177'),
      },
    };
    study = await stage.study(POLICY);
    await lives();
    await until(async () => (await stage.sql('select 1 from outbox')).length === 0, {
      what: 'messages to be delivered',
    });
  });
  after(async () => {
    await stage?.close();
    await service?.stop();
  });

  async function someone(): Promise<Person> {
    const code = marked('a code', word('code'));
    return study.person({
      participant_code: code,
      external_id: marked('an external id', word('external')),
      email: marked('an e-mail address', `${word('mail')}@example.org`),
      phone: '+4930111222333',
      date_of_birth: '1961-07-23',
    });
  }
  const asked = async (asker: Http): Promise<{ person: Person; request: string }> => {
    const person = await someone();
    await person.post('', { enrollment_date: DAY, reason: reason('a date by hand') }, asker, anywhere());
    const { body, status, text } = await person.post(
      '/override',
      { new_enrollment_date: LATER, reason: reason('an override') },
      asker,
      anywhere(),
    );
    expect(status, text).to.equal(202);
    return { person, request: body.override_request_id as string };
  };

  async function lives(): Promise<void> {
    const [asker, approver] = await Promise.all([study.as('coordinator'), study.as('researcher')]);
    const decide = (person: Person, request: string, how: string, by: Http) =>
      person.post(`/override-requests/${request}/${how}`, { reason: reason(`a decision: ${how}`) }, by, anywhere());
    const approved = await asked(asker);
    expect((await decide(approved.person, approved.request, 'approve', asker)).status, 'refused').to.equal(403);
    expect((await decide(approved.person, approved.request, 'approve', approver)).status).to.equal(200);
    expect(
      (await approved.person.post('/override-back', { reason: reason('an override-back') }, asker, anywhere())).status,
    ).to.be.oneOf([200, 403]);
    const denied = await asked(asker);
    expect((await decide(denied.person, denied.request, 'deny', approver)).status).to.equal(200);
    const cancelled = await someone();
    await cancelled.post('', { enrollment_date: '2999-01-01', reason: reason('a date ahead') }, asker, anywhere());
    await cancelled.post('/cancel', { reason: reason('a cancel') }, asker, anywhere());
    await cancelled.post('/evaluate', {}, asker, anywhere());
    const own = await someone();
    const portal = await enterPortalOf(service.run, stage.admin, own.id);
    expect((await portal.post(`${own.path}/anchor-date`, { enrollment_date: DAY }, anywhere())).status).to.equal(200);
    await stage.admin.expect(200, 'POST', `/api/participants/${own.id}/withdraw`, { reason: reason('a withdrawal') });
  }

  it('its files hold none of it, and its histories neither without the key nor with it', async function () {
    const file = join(service.dataDir, 'temporal.db');
    if (existsSync(file))
      expect(
        tracesInFiles(service.dataDir, (name) => name.startsWith('temporal.db'), marks),
        'in the database file',
      ).to.deep.equal([]);
    const key = encryptionKeyBytes(payloadKeyOf(service.run))!;
    const plain = await tracesInWorkflows(stage.temporal, marks);
    expect(plain.types).to.include('participantAnchor');
    expect(plain.traces, 'without the key').to.deep.equal([]);
    const { traces, opened } = await tracesInWorkflows(
      stage.temporal,
      marks,
      new EncryptionCodec({ current: key, former: [] }),
    );
    expect(opened, 'payloads that were opened').to.be.greaterThan(50);
    expect(traces, 'with the key').to.deep.equal([]);
  });

  it('what did not travel is in the record: who sent it, from where and why', async () => {
    const entries = await stage.sql<{ reason: string | null; ip_address: string; user_agent: string }>(
      `select reason, ip_address, user_agent from anchor_date_history where study_id = ? and event_type in ('OVERRIDE_REQUESTED', 'OVERRIDE_DENIED', 'OVERRIDE_GRANTED')`,
      [study.id],
    );
    expect(entries.length).to.be.greaterThan(3);
    for (const { reason: kept, ip_address, user_agent } of entries) {
      expect(marks.map((one) => one.word)).to.include(kept);
      expect([ip_address, user_agent]).to.deep.equal([from.headers['x-forwarded-for'], from.headers['user-agent']]);
    }
  });

  it('while a worker of an earlier release works, which knows no such row, messages carry everything, sealed', async () => {
    const worker = '00000000-0000-4000-8000-000000000001';
    await stage.sql(`insert into worker_signs (worker_id, task_queue) values (?, 'of an earlier release')`, [worker]);
    try {
      const person = await someone();
      const { status, text } = await person.post('', { enrollment_date: DAY, reason: 'carried along' }, stage.admin);
      expect(status, text).to.equal(200);
      expect((await person.history()).map(({ reason: kept }) => kept)).to.include('carried along');
      expect(await stage.sql('select 1 from message_details where participant_id = ?', [person.id])).to.deep.equal([]);
    } finally {
      await stage.sql('delete from worker_signs where worker_id = ?', [worker]);
    }
  });

  it('an erasure clears what was kept beside the messages', async () => {
    const { person } = await asked(await study.as('coordinator'));
    const kept = () => stage.sql('select 1 from message_details where participant_id = ?', [person.id]);
    expect(await kept()).to.have.length(2);
    await stage.admin.expect(200, 'POST', `/api/participants/${person.id}/erase`, { reason: 'asked for it' });
    expect(await kept()).to.deep.equal([]);
  });
});
