import { expect } from 'chai';
import type { StudyDocument } from '../../db/exports/full-study/document.js';
import { Site } from '../assessment/stage.js';
import { admin, newStudy, unique } from '../support/http.js';

describe('A document of a study that the API would not have taken', () => {
  it('is refused by the place: an end before the start', async () => {
    const http = await admin();
    const study = await newStudy(http);
    const document = await http.expect<StudyDocument>(200, 'GET', `/api/exports/studies/${study.id}/full`);
    const load = (start_date: string | null, end_date: string | null) =>
      http.post(`/api/studies/import/full?study_code=${unique('COPY')}&study_name=A%20copy`, {
        ...document,
        study: { ...document.study, start_date, end_date },
      });
    const { status, body } = await load('2024-05-01', '2024-04-30');
    const [fault] = body.errors ?? [];
    expect([status, fault?.path, fault?.code]).to.deep.equal([400, 'study.end_date', 'END_BEFORE_START']);
    for (const [start, end] of [
      ['2024-05-01', '2024-05-01'],
      ['2024-05-01', null],
      [null, '2024-04-30'],
    ] as const)
      expect((await load(start, end)).status).to.equal(201);
  });

  const target = () => `/api/studies/import/full?study_code=${unique('COPY')}&study_name=A%20copy`;

  it('is refused by the place: a window that closes before its day', async () => {
    const site = await Site.open();
    const { http } = site;
    await site.visit();
    await site.bulk({ sessions: [site.item('s')] });
    const document = await http.expect<StudyDocument>(200, 'GET', `/api/exports/studies/${site.study.id}/full`);
    const load = (table: string, change: object) => {
      const [first, ...others] = document.tables[table]!;
      const tables = { ...document.tables, [table]: [{ ...first, ...change }, ...others] };
      return http.post(target(), { ...document, tables });
    };
    const wrong = { window_open: '2024-05-03', target_date: '2024-05-02', window_close: '2024-05-01' };
    for (const table of ['scheduled_visits', 'visit_states']) {
      const { status, body } = await load(table, wrong);
      const [fault] = body.errors ?? [];
      expect([status, fault?.path, fault?.code]).to.deep.equal([
        400,
        `tables.${table}.0.target_date`,
        'OUTSIDE_WINDOW',
      ]);
    }
    // The clock of a device may have been set back meanwhile: its session is taken as it was sent.
    const back = { started_at: '2024-05-01T10:00:00Z', completed_at: '2024-05-01T09:00:00Z' };
    const { status, text } = await load('assessment_sessions', back);
    expect(status, text).to.equal(201);
  });
});
