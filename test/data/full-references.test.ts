import { expect } from 'chai';
import { visitKey } from '../../db/audit/hashing.js';
import { contentHash } from '../../db/exports/full-study/content.js';
import type { StudyDocument } from '../../db/exports/full-study/document.js';
import { HOUR, Site, instant } from '../assessment/stage.js';
import { byHand } from '../notifications/stage.js';
import { admin, newParticipant, newStudy, unique } from '../support/http.js';
import { formOf } from './stage.js';
import type { Loose } from '../support/http.js';

describe('A loaded study', () => {
  it('has its own batteries also in what devices sent, and leaves alone what users call so', async () => {
    const site = await Site.open();
    const { http } = site;
    const battery = await site.battery();
    await http.expect(200, 'PATCH', `/api/batteries/${String(battery.id)}`, { status: 'published' });
    const people = `/api/studies/${site.study.id}/participants`;
    const items = { battery_id: battery.id, batteryId: battery.id };
    await http.expect(201, 'POST', `${people}/${site.participant.id}/forms`, { form_oid: 'DEVICE', items });
    const id = unique('s');
    await site.bulk({ sessions: [site.item(id, { batteryId: battery.id })] });
    const other = { batteryId: battery.id, startedAt: instant(-HOUR), completedAt: instant() };
    expect(await site.bulk({ sessions: [site.item(id, other)] })).to.include({ conflicts: 1 });

    const exported = (study: string) => http.expect<StudyDocument>(200, 'GET', `/api/exports/studies/${study}/full`);
    const document = await exported(site.study.id);
    const target = `study_code=${unique('COPY')}&study_name=A%20copy`;
    const loaded = await http.expect<Loose>(201, 'POST', `/api/studies/import/full?${target}`, document);
    const copy = loaded.study_id as string;
    const again = await exported(copy);
    expect([loaded.content_sha256, contentHash(again)]).to.deep.equal([contentHash(document), contentHash(document)]);
    expect(again.tables.form_instances!.map((form) => form.items)).to.deep.equal([items]);

    const [own] = (await http.expect(200, 'GET', `/api/batteries?study_id=${copy}`)).items;
    expect(own!.id).not.to.equal(battery.id);
    const conflicts = `/api/studies/${copy}/sync-conflicts`;
    const [conflict] = (await http.expect(200, 'GET', conflicts)).items;
    expect((conflict!.local_content as Loose).batteryId).to.equal(own!.id);
    await http.expect(200, 'POST', `${conflicts}/${conflict!.id}/resolve`, { keep: 'both', reason: 'both were done' });
  });

  it('has its own batteries in what a template brought for a capture system, which a configuration takes over', async () => {
    const http = await admin();
    const applied = await http.expect<Loose>(
      201,
      'POST',
      `/api/templates/longitudinal-cognition/apply?study_code=${unique('T')}`,
    );
    const exported = (study: string) => http.expect<StudyDocument>(200, 'GET', `/api/exports/studies/${study}/full`);
    const document = await exported(String(applied.study_id));
    const target = `study_code=${unique('COPY')}&study_name=A%20copy`;
    const loaded = await http.expect<Loose>(201, 'POST', `/api/studies/import/full?${target}`, document);
    const copy = String(loaded.study_id);
    const hash = contentHash(document);
    expect([loaded.content_sha256, contentHash(await exported(copy))]).to.deep.equal([hash, hash]);

    await http.expect(201, 'PATCH', `/api/datacapture/config/${copy}`, {
      api_url: 'http://127.0.0.1:9/api/',
      api_token: '0123456789ABCDEF',
    });
    const { event_battery_mapping: mapping } = await http.expect<{
      event_battery_mapping: Record<string, { battery_id: number }>;
    }>(200, 'GET', `/api/datacapture/config/${copy}/event-mapping`);
    const { items } = await http.expect(200, 'GET', `/api/batteries?study_id=${copy}`);
    const codeOf = new Map(items.map(({ id, code }) => [Number(id), code]));
    const codes = Object.entries(mapping).map(([event, { battery_id }]) => [event, codeOf.get(battery_id)]);
    const wanted = await http.expect<{ capture: { event_battery_mapping: Record<string, { battery: string }> } }>(
      200,
      'GET',
      '/api/templates/longitudinal-cognition',
    );
    expect(Object.fromEntries(codes)).to.deep.equal(
      Object.fromEntries(
        Object.entries(wanted.capture.event_battery_mapping).map(([event, { battery }]) => [event, battery]),
      ),
    );
  });

  it('has a code and a name by the rules of every study, also where the document or a form gives them', async () => {
    const http = await admin();
    const { id } = await newStudy(http);
    const document = await http.expect<StudyDocument>(200, 'GET', `/api/exports/studies/${id}/full`);
    const study_code = unique('Cafe\u0301');
    for (const [target, path] of [
      [{ study_code: 'two\nlines', study_name: 'A copy' }, 'study_code'],
      [{ study_code: 'x'.repeat(300), study_name: 'A copy' }, 'study_code'],
      [{ study_code, study_name: ' ' }, 'study_name'],
    ] as const) {
      const beside = await http.post('/api/studies/import/full', { ...target, document });
      const within = await http.post('/api/studies/import/full', { ...document, ...target });
      const raw = await formOf(JSON.stringify(document), target);
      const form = await http.post('/api/studies/import/full', undefined, { raw });
      for (const answer of [beside, within, form])
        expect([answer.status, answer.body.errors?.map((fault) => fault.path)], answer.text).to.deep.equal([
          422,
          [path],
        ]);
    }
    const given = { study_code, study_name: 'A copy', document };
    const loaded = await http.expect<Loose>(201, 'POST', '/api/studies/import/full', given);
    expect(loaded.study_code).to.equal(study_code.normalize('NFC'));
  });

  it('knows a visit whose event somebody changed by the event that planned it', async () => {
    const http = await admin();
    const study = await newStudy(http, { config: { enrollment_date_policy: byHand } });
    const battery = await http.expect(201, 'POST', '/api/batteries', {
      study_id: study.id,
      code: 'B',
      name: 'A battery',
      modules: [{ task: 'stroop' }],
    });
    await http.expect(201, 'PATCH', `/api/datacapture/config/${study.id}`, {
      api_url: 'http://127.0.0.1:9/api/',
      api_token: '0123456789ABCDEF',
      event_battery_mapping: { baseline_arm_1: { battery_id: battery.id, target_day: 0 } },
    });
    const person = await newParticipant(http, study.id);
    const path = `/api/studies/${study.id}/participants/${person.id}`;
    await http.expect(200, 'POST', `${path}/anchor-date`, { enrollment_date: '2024-05-01' });
    const exported = (id: string) => http.expect<StudyDocument>(200, 'GET', `/api/exports/studies/${id}/full`);
    const [visit] = (await http.expect(200, 'GET', `/api/schedules/visits?participant_id=${person.id}`)).items;
    expect(visit!.visit_key).to.equal(visitKey(person.id, 'event:baseline_arm_1'));
    await http.expect(200, 'PATCH', `/api/visits/${visit!.id}`, { datacapture_event: 'unscheduled_arm_1' });
    const document = await exported(study.id);
    const target = `study_code=${unique('COPY')}&study_name=A%20copy`;
    const loaded = await http.expect<Loose>(201, 'POST', `/api/studies/import/full?${target}`, document);
    const { participants, scheduled_visits } = (await exported(String(loaded.study_id))).tables;
    expect(scheduled_visits!.map(({ visit_key }) => visit_key)).to.deep.equal([
      visitKey(String(participants![0]!.id), 'event:baseline_arm_1'),
    ]);
  });
});
