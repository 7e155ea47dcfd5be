import { expect } from 'chai';
import type { StudyDocument } from '../../db/exports/full-study/document.js';
import { admin, newParticipant, newStudy, unique } from '../support/http.js';

describe('A document of a study that the API would not have taken', () => {
  it('is refused by the place: an end before the start, a language that is none', async () => {
    const http = await admin();
    const study = await newStudy(http);
    await newParticipant(http, study.id, { preferred_language: 'de' });
    const document = await http.expect<StudyDocument>(200, 'GET', `/api/exports/studies/${study.id}/full`);
    const speaking = (preferred_language: unknown) => ({
      ...document,
      tables: {
        ...document.tables,
        participants: document.tables.participants!.map((row) => ({ ...row, preferred_language })),
      },
    });
    const load = (edited: object) =>
      http.post(`/api/studies/import/full?study_code=${unique('COPY')}&study_name=A%20copy`, edited);
    const language = 'tables.participants.0.preferred_language';
    for (const [edited, refused] of [
      [
        { ...document, study: { ...document.study, start_date: '2024-05-01', end_date: '2024-04-30' } },
        [400, 'study.end_date', 'END_BEFORE_START'],
      ],
      [speaking('not a language'), [422, language, 'PATTERN']],
      [speaking(''), [422, language, 'PATTERN']],
      [speaking(7), [422, language, 'PATTERN']],
    ] as const) {
      const { status, body } = await load(edited);
      const [fault] = body.errors ?? [];
      expect([status, fault?.path, fault?.code]).to.deep.equal(refused);
    }
    const right = { ...document, study: { ...document.study, start_date: '2024-05-01', end_date: '2024-05-01' } };
    expect((await load(right)).status).to.equal(201);
    expect((await load(speaking('en_US'))).status).to.equal(201);
    expect((await load(speaking(null))).status).to.equal(201);
  });
});
