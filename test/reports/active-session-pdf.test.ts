import { expect } from 'chai';
import { download } from '../support/download.js';
import { admin, newParticipant, newStudy } from '../support/http.js';
import type { Loose } from '../support/http.js';

describe('The PDF of a session that is under way', function () {
  this.timeout(120_000);

  it('is had by the id that lists show of it', async () => {
    const http = await admin();
    const study = await newStudy(http);
    const { id } = await newParticipant(http, study.id);
    const { sessionId } = await http.expect<Loose>(201, 'POST', '/api/session/start', {
      study_id: study.id,
      participant_id: id,
      language: 'en',
    });
    const { public_id } = await http.expect<Loose>(200, 'GET', `/api/sessions/${sessionId as string}`);
    expect(public_id).not.to.equal(sessionId);
    const path = `/api/reports/studies/${study.id}/sessions/${public_id as string}/pdf`;
    expect((await download(http, path)).status).to.equal(200);
  });
});
