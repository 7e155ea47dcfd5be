import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { participantAnchorId } from '../../workflows/contract.js';
import { Client, Connection } from '@temporalio/client';
import { admin, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { until } from '../support/service.js';
import { readingSealed } from '../support/temporal.js';
import { Stage, syncReport, synced } from './support.js';
import type { CaptureStudy, SyncReport } from './support.js';

describe('sync: every record of the enrollment instrument', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  const row = (record: string, values: Record<string, string> = {}) => ({
    subject_id: record,
    redcap_event_name: 'baseline_arm_1',
    enrolled: '2026-01-15',
    enroll_complete: '2',
    ...values,
  });
  const load = (study: CaptureStudy, rows: Record<string, string>[]) =>
    stage.simulator.control.load(Number(study.projectId), rows);
  const outcomes = async (study: CaptureStudy) => {
    const { progress } = await synced(study);
    return Object.fromEntries(
      Object.entries(progress).filter(([name, n]) => n > 0 && name !== 'total' && name !== 'done'),
    );
  };

  it('enrolls, decides and plans as triggers would; what has not changed is left alone; a change is followed', async () => {
    const study = await stage.study();
    const records = ['A-01/β +&=%', '0007', ...Array.from({ length: 8 }, (_, i) => `r${i}`)];
    load(
      study,
      records.map((record) => row(record, { lang: 'de' })),
    );
    const first = await synced(study);
    expect(first).to.include({ kind: 'sync', status: 'completed', error: null });
    expect(first.progress).to.include({ total: 10, done: 10, created: 10, failed: 0 });
    const participants = await study.participants();
    expect(participants.map((p) => p.external_id).sort()).to.deep.equal([...records].sort());
    expect(new Set(participants.map((p) => `${p.enrollment_date} ${p.preferred_language}`))).to.deep.equal(
      new Set(['2026-01-15 de']),
    );
    expect(await study.versions(participants[0]!.id)).to.have.length(1);
    expect(await study.anchor(participants[0]!.id)).to.include({ status: 'finalized', source_type: 'form_item' });
    const status = await stage.call<{ sync_status: string; last_sync_at: string; sync_error_message: null }>(
      'GET',
      `/api/datacapture/status/${study.id}`,
    );
    expect(status.body).to.include({ sync_status: 'active', sync_error_message: null });
    expect(Date.parse(status.body.last_sync_at)).to.be.above(Date.now() - 120_000);

    load(study, [row('r3', { lang: 'fr' })]);
    expect(await outcomes(study)).to.deep.equal({ updated: 1, unchanged: 9 });
    expect((await study.participants()).find((p) => p.external_id === 'r3')!.preferred_language).to.equal('fr');
    expect((await stage.call<{ valid: boolean }>('GET', `/api/audit/verify?study_id=${study.id}`)).body.valid).to.equal(
      true,
    );
  });

  it('and their workflows run soon afterwards', async () => {
    const study = await stage.study();
    load(study, [row('w1')]);
    await synced(study);
    const connection = await Connection.connect({ address: stage.run.temporal });
    const [participant] = await study.participants();
    const handle = new Client({ connection, ...readingSealed(stage.run) }).workflow.getHandle(
      participantAnchorId(participant!.id),
    );
    await until(async () => (await handle.describe()).status.name === 'RUNNING', {
      what: "the participant's workflow",
    });
    await connection.close();
  });

  it('tells what could not be taken, each record for itself', async () => {
    const study = await stage.study({
      config: { participant_field_mapping: { participant_code: 'code', enrollment_date: 'enrolled' } },
    });
    load(study, [row('1', { code: 'P-1' })]);
    await synced(study);
    load(study, [
      row('1', { code: 'P-1', enrolled: '2026-02-01' }),
      row('2', { code: 'P-1' }),
      row('3', { code: 'P-3', enrolled: '2019-01-01' }),
    ]);
    const report = await synced(study);
    expect(report.progress).to.include({ created: 1, failed: 1, override_required: 1 });
    expect(
      Object.fromEntries(report.issues.items.map((issue) => [issue.record, issue.issues.map(({ code }) => code)])),
    ).to.deep.equal({
      1: ['OVERRIDE_REQUIRED'],
      2: ['PARTICIPANT_CODE_TAKEN'],
      3: ['DATE_NOT_TAKEN'],
    });
    expect((await study.participants())[0]).to.include({ enrollment_date: '2026-01-15' });
    // What was refused is looked at again, also where the record is as it was: the code is free now.
    load(study, [row('1', { code: 'P-9', enrolled: '2026-01-15' })]);
    await synced(study);
    expect(await outcomes(study)).to.deep.equal({ created: 1, unchanged: 2 });
    expect((await study.participants()).map((p) => p.participant_code).sort()).to.deep.equal(['P-1', 'P-3', 'P-9']);
  });

  it('asks for an override of a changed date only, and makes no schedule of what somebody else enrolled', async () => {
    const study = await stage.study({ study: { consent_mode: 'econsent' } });
    const byHand = await stage.call<{ id: string }>('POST', `/api/studies/${study.id}/participants`, {
      participant_code: 'by hand',
      external_id: '2',
    });
    load(study, [row('1', { lang: 'de' }), row('2', { enrolled: '', lang: 'de' })]);
    expect(await outcomes(study)).to.deep.equal({ created: 1, updated: 1 });
    expect(await study.versions(byHand.body.id)).to.deep.equal([]);
    const first = (await study.participants()).find(({ external_id }) => external_id === '1')!;
    const path = `/api/studies/${study.id}/participants/${first.id}`;
    await stage.call('POST', `${path}/consents`, { status: 'signed', signed_at: '2026-01-18T09:00:00Z' });
    await until(async () => (await study.anchor(first.id))['status'] === 'finalized', {
      what: 'the anchor to be final',
    });
    load(study, [row('1', { lang: 'fr' }), row('2', { enrolled: '2026-01-12' })]);
    expect(await outcomes(study)).to.deep.equal({ updated: 2 });
    expect((await study.versions(byHand.body.id)).map((v) => v.anchor_date_used)).to.deep.equal(['2026-01-12']);
    load(study, [row('1', { enrolled: '2026-02-01' })]);
    expect(await outcomes(study)).to.deep.equal({ override_required: 1, unchanged: 1 });
  });

  for (const code of ['subject_id', 'code']) {
    it(`says that a record was renamed where the participant’s code is mapped (${code})`, async () => {
      const study = await stage.study({
        config: { participant_field_mapping: { enrollment_date: 'enrolled', participant_code: code } },
      });
      load(study, [row('old', { code: 'C-1' }), row('stays', { code: 'C-2' })]);
      await synced(study);
      stage.simulator.control.renameRecord(Number(study.projectId), 'old', 'new');
      for (const time of ['first', 'second']) {
        const report = await synced(study);
        const issues = Object.fromEntries(report.issues.items.map((issue) => [issue.record, issue.issues]));
        if (time === 'first')
          expect(issues['old']!.map((each) => each.code)).to.deep.equal(['RECORD_VANISHED', 'RECORD_RENAMED']);
        if (code === 'code')
          expect(
            issues['new']!.map((each) => each.code),
            time,
          ).to.deep.equal(['PARTICIPANT_CODE_TAKEN']);
      }
    });
  }

  it('says that a record was renamed that a trigger enrolled a second time under its new name', async () => {
    const study = await stage.study();
    load(study, [row('old', { lang: 'de' }), row('stays', { lang: 'it' })]);
    await synced(study);
    stage.simulator.control.renameRecord(Number(study.projectId), 'old', 'new');
    await study.enroll('new', { enrolled: '2026-01-15' });
    expect((await study.settled(1))[0]).to.include({ status: 'processed', outcome: 'created' });
    const report = await synced(study);
    expect(report.progress).to.include({ vanished: 1, created: 0, unchanged: 2 });
    const [vanished] = report.issues.items;
    expect(vanished!.record).to.equal('old');
    expect(vanished!.issues.map(({ code }) => code)).to.deep.equal(['RECORD_VANISHED', 'RECORD_RENAMED']);
    expect(vanished!.issues[1]!.message).to.include('"new"');
    // A reader of one site is not told the record of another.
    const http = await admin();
    const people = await study.participants();
    const sites = [];
    for (const name of ['old', 'new']) {
      const site = await http.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code: name });
      const { id } = people.find(({ external_id }) => external_id === name)!;
      await http.expect(200, 'PATCH', `/api/participants/${id}`, { site_id: site.id });
      sites.push(site.id);
    }
    for (const [site_ids, isNamed] of [
      [sites.slice(0, 1), false],
      [sites, true],
    ] as const) {
      const reader = await user(http, 'coordinator', { study_ids: [study.id], site_ids: [...site_ids] });
      const { issues } = await reader.expect<Loose & Pick<SyncReport, 'issues'>>(
        200,
        'GET',
        `/api/datacapture/syncs/${report.id}`,
      );
      const [own] = issues.items;
      expect([own!.record, own!.issues[1]!.message.includes('"new"')]).to.deep.equal(['old', isNamed]);
      expect(own!.issues[1]!.message).to.match(/^A new record holds the same.*\. It may be this one/);
    }
  });

  it('says that the record of somebody who has withdrawn was renamed, which enrolls a second time; once', async () => {
    const study = await stage.study();
    load(study, [row('old', { lang: 'de' }), row('stays', { lang: 'it' })]);
    await synced(study);
    const old = (await study.participants()).find(({ external_id }) => external_id === 'old')!;
    expect((await stage.call('POST', `/api/participants/${old.id}/withdraw`, { reason: 'moved' })).status).to.equal(
      200,
    );
    stage.simulator.control.renameRecord(Number(study.projectId), 'old', 'old-withdrawn');
    const report = await synced(study);
    expect(report.progress).to.include({ vanished: 1, created: 1, unchanged: 1 });
    expect(report.issues.items[0]!.issues.map(({ code }) => code)).to.deep.equal(['RECORD_VANISHED', 'RECORD_RENAMED']);
    expect((await synced(study)).progress).to.include({ vanished: 0, unchanged: 2 });
  });

  it('reports a record that was renamed or deleted, and follows nothing silently', async () => {
    const study = await stage.study();
    load(study, [row('old', { lang: 'de' }), row('gone', { lang: 'fr' }), row('stays', { lang: 'it' })]);
    await synced(study);
    stage.simulator.control.renameRecord(Number(study.projectId), 'old', 'new');
    stage.simulator.control.deleteRecord(Number(study.projectId), 'gone');
    const report = await synced(study);
    expect(report.progress).to.include({ vanished: 2, created: 1, unchanged: 1 });
    const issues = Object.fromEntries(report.issues.items.map((issue) => [issue.record, issue.issues]));
    expect(issues['gone']!.map(({ code }) => code)).to.deep.equal(['RECORD_VANISHED']);
    expect(issues['old']!.map(({ code }) => code)).to.deep.equal(['RECORD_VANISHED', 'RECORD_RENAMED']);
    expect(issues['old']![1]!.message).to.contain('"new"');
    expect(
      (await study.participants()).map((p) => p.external_id).sort(),
      'the participants keep their records',
    ).to.deep.equal(['gone', 'new', 'old', 'stays']);
  });

  it('the same trigger after a sync is still a duplicate, and a sync after a trigger finds nothing to do', async () => {
    const study = await stage.study();
    await study.enroll('d', { enrolled: '2026-01-15' });
    await study.settled(1);
    expect(await outcomes(study)).to.deep.equal({ unchanged: 1 });
    await stage.simulator.control.sendTriggers(Number(study.projectId), {
      record: 'd',
      instrument: 'enroll',
      event: 'baseline_arm_1',
    });
    expect((await study.settled(2)).map((event) => event.status)).to.deep.equal(['processed', 'duplicate']);
    // The sync is the last to read a change: the next trigger of the same bytes brings nothing that is not known.
    load(study, [row('d', { lang: 'de' })]);
    expect(await outcomes(study)).to.deep.equal({ updated: 1 });
    await stage.simulator.control.sendTriggers(Number(study.projectId), {
      record: 'd',
      instrument: 'enroll',
      event: 'baseline_arm_1',
    });
    expect((await study.settled(3)).at(-1)!.status).to.equal('duplicate');
  });

  it('one at a time: a second call answers the running one; a capture system that is away is waited for', async () => {
    const study = await stage.study();
    load(study, [row('1')]);
    stage.simulator.control.setFaults([
      { project_id: Number(study.projectId), content: ['metadata'], status: 503, times: 2 },
    ]);
    const path = `/api/datacapture/sync/${study.id}`;
    const [a, b] = await Promise.all([
      stage.call<{ status: string; sync_id: string }>('POST', path),
      stage.call<{ status: string; sync_id: string }>('POST', path),
    ]);
    expect([a.status, b.status, a.body.status]).to.deep.equal([202, 202, 'started']);
    expect(b.body.sync_id).to.equal(a.body.sync_id);
    await until(async () => (await syncReport(study, a.body.sync_id)).status === 'completed', {
      timeout: 60_000,
      what: 'the sync',
    });
    stage.simulator.control.clearFaults();
    const list = await stage.call<{ items: { id: string }[]; total: number }>(
      'GET',
      `/api/studies/${study.id}/datacapture/syncs`,
    );
    expect([list.body.total, list.body.items[0]!.id]).to.deep.equal([1, a.body.sync_id]);
  });

  it('batches that are written at once and want the same sites and codes make each once, and wait for each other in no circle', async () => {
    const study = await stage.study({
      config: {
        create_missing_sites: true,
        participant_field_mapping: { participant_code: 'code', enrollment_date: 'enrolled', site_code: 'lang' },
      },
    });
    // As many as are read at once, and more, which go through sites and codes the other way round.
    const [first, more] = [250, 100];
    const all = Array.from({ length: first + more }, (_, i) => i);
    const place = (i: number) => (i < first ? i : 2 * first - 1 - i);
    // Those of whom the second batch wants nothing share a code: each that is made has a workflow.
    const alone = first - more - 10;
    const isShared = (i: number) => place(i) % 10 !== 0;
    load(
      study,
      all.map((i) =>
        row(`r${String(i).padStart(3, '0')}`, {
          code: place(i) < alone ? 'P-alone' : `P-${isShared(i) ? place(i) : i}`,
          lang: `S${place(i) % 5}`,
        }),
      ),
    );
    const report = await synced(study);
    const refused = all.slice(first).filter(isShared).length + alone - 1;
    expect(report).to.include({ status: 'completed' });
    expect(report.progress).to.include({
      total: all.length,
      done: all.length,
      created: all.length - refused,
      failed: refused,
    });
    expect((await stage.call<{ total: number }>('GET', `/api/studies/${study.id}/sites`)).body.total).to.equal(5);
    expect(new Set(report.issues.items.flatMap(({ issues }) => issues.map(({ code }) => code)))).to.deep.equal(
      new Set(['PARTICIPANT_CODE_TAKEN']),
    );
    expect((await stage.call<{ valid: boolean }>('GET', `/api/audit/verify?study_id=${study.id}`)).body.valid).to.equal(
      true,
    );
  });

  it('a refusal ends it at once, and the status says why', async () => {
    const study = await stage.study();
    await study.configure({ api_token: 'F'.repeat(32) });
    const report = await synced(study);
    expect(report).to.include({ status: 'failed' });
    expect(report.error).to.include({ code: 'rejected' });
    expect(report.error!.message)
      .to.match(/permission/i)
      .and.not.to.contain('FFFF');
    const status = await stage.call<{ sync_status: string; sync_error_message: string }>(
      'GET',
      `/api/datacapture/status/${study.id}`,
    );
    expect(status.body.sync_status).to.equal('error');
    expect(status.body.sync_error_message).to.match(/permission/i);
    await study.configure({ api_token: study.token });
    expect((await synced(study)).status).to.equal('completed');
  });

  it('says what is missing: configuration, instrument, integration; and who may', async () => {
    const bare = await stage.call<{ id: string }>('POST', '/api/studies', {
      study_code: `NO-${randomUUID().slice(0, 8)}`,
      study_name: 'None',
      datacapture_enabled: true,
    });
    expect((await stage.call('POST', `/api/datacapture/sync/${bare.body.id}`)).status).to.equal(404);
    const study = await stage.study({ config: { enrollment_instrument: null } });
    expect((await stage.call('POST', `/api/datacapture/sync/${study.id}`)).body).to.include({
      code: 'NO_ENROLLMENT_INSTRUMENT',
    });
    await study.configure({ enrollment_instrument: 'enroll' });
    const [manager, coordinator, outsider] = [
      await stage.user('data_manager', [study.id]),
      await stage.user('coordinator', [study.id]),
      await stage.user('researcher', [bare.body.id]),
    ];
    const started = await stage.call<{ sync_id: string }>(
      'POST',
      `/api/redcap/sync/${study.id}`,
      undefined,
      manager.token,
    );
    expect(started.status).to.equal(202);
    expect(
      (await stage.call('POST', `/api/datacapture/sync/${study.id}`, undefined, coordinator.token)).status,
    ).to.equal(403);
    expect((await stage.call('POST', `/api/datacapture/sync/${study.id}`, undefined, outsider.token)).status).to.equal(
      404,
    );
    expect(
      (await stage.call('GET', `/api/datacapture/syncs/${started.body.sync_id}`, undefined, coordinator.token)).status,
    ).to.equal(200);
    expect(
      (await stage.call('GET', `/api/datacapture/syncs/${started.body.sync_id}`, undefined, outsider.token)).status,
    ).to.equal(404);
    await stage.call('PATCH', `/api/studies/${study.id}`, { datacapture_enabled: false });
    expect((await stage.call('POST', `/api/datacapture/sync/${study.id}`)).status).to.equal(409);
  });
});
