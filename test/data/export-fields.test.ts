import { expect } from 'chai';
import { Site } from '../assessment/stage.js';
import { unique } from '../support/http.js';
import type { Loose } from '../support/http.js';

type Row = Record<string, unknown>;

/** What the service keeps of somebody, and shows elsewhere, is in the exports too. */
describe('An export has what was recorded', function () {
  this.timeout(120_000);
  let site: Site;
  let first: Loose, second: Loose;
  before(async () => {
    site = await Site.open({
      consent_mode: 'external',
      config: {
        enrollment_date_policy: {
          sources: [
            {
              type: 'form_item',
              form_mapping: { form_oid: 'ONSET', item_oid: 'month', partial_date_handling: 'first_of_month' },
            },
            { type: 'manual_entry' },
          ],
          prerequisites: { require_consent_signed: false },
        },
      },
    });
    [first, second] = [site.participant, await site.newParticipant()];
  });

  const rowsOf = async (dataset: string, more: object = {}): Promise<Row[]> =>
    (
      await site.http.expect<{ rows: Row[] }>(200, 'POST', '/api/exports/json', {
        study_id: site.study.id,
        dataset,
        ...more,
      })
    ).rows;
  const rowOf = async (dataset: string, { id }: { id: string }): Promise<Row> =>
    (await rowsOf(dataset)).find((row) => row.id === id || row.participant_id === id)!;
  const of = ({ id }: Loose) => `/api/studies/${site.study.id}/participants/${id}`;

  it('of an eligibility: the documents that were seen; of a visit: why it was cancelled; neither de-identified', async () => {
    const source_documents = [{ type: 'letter', ref: 'Dr. Noether, 2 May', date: '2026-05-02' }];
    const put = { status: 'pending', source_documents };
    const assessed = await site.http.expect(200, 'PUT', `${of(first)}/eligibility`, put);
    const row = await rowOf('eligibility', assessed);
    expect(row.source_documents).to.deep.equal(source_documents);
    expect(row.waiver_requested_by_id).to.equal(assessed.waiver_requested_by_id);

    const { id } = await site.visit();
    const cancelled = await site.http.expect(200, 'POST', `/api/visits/${id}/cancel`, { reason: 'Ms Noether is ill' });
    expect((await rowOf('visits', cancelled)).status_reason)
      .to.equal('Ms Noether is ill')
      .and.to.equal(cancelled.status_reason);
    for (const dataset of ['eligibility', 'visits'])
      expect(JSON.stringify(await rowsOf(dataset, { deidentify: true })), dataset).not.to.include('Noether');
  });

  it('of a participant: when the last withdrawal was taken back', async () => {
    await site.http.expect(200, 'POST', `/api/participants/${second.id}/withdraw`, { reason: 'moved' });
    const back = await site.http.expect(200, 'POST', `/api/participants/${second.id}/reinstate`, { reason: 'is back' });
    expect(back.reinstated_at).to.be.a('string');
    expect((await rowOf('participants', second)).reinstated_at).to.equal(back.reinstated_at);
  });

  it('of an anchor: the month that a date was made of, who made it final, and who overrode it', async () => {
    const { http } = site;
    const form = { form_oid: 'ONSET', status: 'complete', items: { month: '2026-02' } };
    await http.expect(201, 'POST', `${of(first)}/forms`, form);
    await http.expect(200, 'POST', `${of(first)}/anchor-date/evaluate`, {});
    expect(await rowOf('anchors', first)).to.include({
      enrollment_date: '2026-02-01',
      precision: 'partial_month',
      partial_value: '2026-02',
      override_at: null,
      override_actor_id: null,
    });
    await http.expect(200, 'POST', `${of(second)}/anchor-date`, { enrollment_date: '2026-03-04' });
    await http.expect(200, 'POST', `${of(second)}/anchor-date/override`, {
      new_enrollment_date: '2026-03-05',
      reason: 'miscounted',
    });
    const row = await rowOf('anchors', second);
    expect(row).to.include({ is_override: true, partial_value: null, override_actor_id: http.userId });
    expect(row.override_at).to.match(/Z$/);
    const [entry] = (await rowsOf('anchor_history')).filter(({ participant_id }) => participant_id === first.id);
    expect(entry!.source_ref).to.include({ form_oid: 'ONSET', item_oid: 'month' });
    const hidden = JSON.stringify(await rowsOf('anchors', { deidentify: true }));
    // The month by itself: a date that was moved may lie in it.
    for (const told of ['"2026-02"', 'miscounted', String(http.userId)]) expect(hidden, told).not.to.include(told);
  });

  it('of a message: what its provider reported of it', async () => {
    await site.visit({}, [3, 4]);
    const shown = (await site.http.expect(200, 'GET', `/api/notifications?participant_id=${first.id}`)).items;
    expect(shown).not.to.have.length(0);
    const rows = await rowsOf('notifications', { participant_ids: [first.id] });
    const told = (list: Row[]) => new Map(list.map(({ id, delivery_status }) => [id, delivery_status]));
    expect(told(rows)).to.deep.equal(told(shown));
  });

  it('of what a document has brought: no language, zone or code that a spreadsheet would run', async () => {
    const document = await site.http.expect<{ tables: Record<string, Row[]> }>(
      200,
      'GET',
      `/api/exports/studies/${site.study.id}/full`,
    );
    for (const row of document.tables.participants!) row.preferred_language = '=1+1';
    const target = `study_code=${unique('COPY')}&study_name=A%20copy`;
    const loaded = await site.http.expect<Loose>(201, 'POST', `/api/studies/import/full?${target}`, document);
    const asked = { study_id: loaded.study_id, dataset: 'participants' };
    const { text } = await site.http.post('/api/exports/csv', asked);
    expect(text.split('\n')[1]).to.include(",'=1+1,");
  });
});
