import { expect } from 'chai';
import { admin, newParticipant, newStudy, unique } from '../support/http.js';
import { imported } from '../data/stage.js';
import { Stage, synced } from './support.js';

/** A capture system ignores case in record names: two participants must not have one record. */
describe('record names that differ only in case', function () {
  let stage: Stage;
  before(async function () {
    this.timeout(240_000);
    stage = await Stage.set({ polls: false });
  });
  after(() => stage?.clear());

  it('are one record: a second participant is refused when enrolled, changed and imported', async () => {
    const http = await admin();
    const study = await stage.study();
    const path = `/api/studies/${study.id}/participants`;
    const first = await newParticipant(http, study.id, { external_id: 'R5-é' });
    const second = await newParticipant(http, study.id, { external_id: 'other' });
    const refused = async (method: string, at: string, body: object) => {
      const { status, body: answer } = await http.send<{ code: string }>(method, at, body);
      expect([status, answer.code]).to.deep.equal([409, 'DUPLICATE_EXTERNAL_ID']);
    };
    for (const external_id of ['r5-é', 'R5-É', 'R5-É'.normalize('NFD')])
      await refused('POST', path, { participant_code: unique('P'), external_id });
    await refused('PATCH', `/api/participants/${second.id}`, { external_id: 'r5-é' });
    await http.expect(200, 'PATCH', `/api/participants/${first.id}`, { external_id: 'r5-é' });
    const codes = [unique('A'), unique('B'), unique('C'), unique('D')];
    const rows = [`${codes[0]},R5-é`, `${codes[1]},R6`, `${codes[2]},r6`, `${first.participant_code as string},R5-é`];
    rows.push(`${unique('E')},Ж9`, `${unique('F')},ж9`);
    const result = await imported(http, study.id, `participant_code,external_id\n${rows.join('\n')}\n`, '?mode=upsert');
    expect(result.errors.map(({ row, field, code }) => [row, field, code])).to.deep.equal([
      [2, 'external_id', 'DUPLICATE_EXTERNAL_ID'],
      [4, 'external_id', 'DUPLICATE_EXTERNAL_ID'],
      [7, 'external_id', 'DUPLICATE_EXTERNAL_ID'],
    ]);
    expect([result.imported_count, result.updated_count]).to.deep.equal([2, 1]);
    // Of two requests at once one comes first.
    const both = await Promise.all(
      ['R7-Ü', 'r7-ü'].map((external_id) => http.post(path, { participant_code: unique('P'), external_id })),
    );
    expect(both.map(({ status }) => status).sort()).to.deep.equal([201, 409]);
  });

  it('a record that gets the other one there has not vanished: its participant follows', async () => {
    const study = await stage.study();
    await study.enroll('abc-é', { enrolled: '2026-01-15' });
    await study.enroll('gone', { enrolled: '2026-01-15' });
    await study.settled(2);
    for (const record of ['abc-é', 'gone']) stage.simulator.control.deleteRecord(Number(study.projectId), record);
    await study.enroll('ABC-É', { enrolled: '2026-01-15', lang: 'de' }, { trigger: false });
    const report = await synced(study);
    expect(report.issues.items.map(({ record, issues }) => [record, ...issues.map(({ code }) => code)])).to.deep.equal([
      ['gone', 'RECORD_VANISHED'],
    ]);
    expect(report.progress).to.include({ vanished: 1, updated: 1, created: 0, failed: 0 });
    expect((await study.participants()).map(({ external_id }) => external_id).sort()).to.deep.equal(['ABC-É', 'gone']);
  });

  it('are two ids of a study without a capture system', async () => {
    const http = await admin();
    const { id } = await newStudy(http);
    await newParticipant(http, id, { external_id: 'aB3' });
    await newParticipant(http, id, { external_id: 'Ab3' });
  });
});
