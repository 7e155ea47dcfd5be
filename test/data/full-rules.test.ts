import { expect } from 'chai';
import type { StudyDocument } from '../../db/exports/full-study/document.js';
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
});
