import { expect } from 'chai';
import { contentHash } from '../../db/exports/full-study/content.js';
import type { StudyDocument } from '../../db/exports/full-study/document.js';
import { HOUR, Site, instant } from '../assessment/stage.js';
import { unique } from '../support/http.js';
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
});
