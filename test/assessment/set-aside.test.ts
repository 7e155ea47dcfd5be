import { expect } from 'chai';
import { Site } from './stage.js';

interface Report {
  sessions: { id: string; status: string }[];
  metrics: { task: string; metric: string; points: { session_id: string; value: number }[] }[];
}
interface Bundle {
  entry: { resource: { resourceType: string; identifier: { value: string }[] } }[];
}
type Row = Record<string, unknown>;

describe('A session that was set aside when a sync conflict was resolved', () => {
  let site: Site;
  let counted: string;
  let aside: string;
  before(async () => {
    site = await Site.open();
    const visit = await site.visit({}, [-2, 0]);
    const made: string[] = [];
    for (const [id, accuracy] of [
      ['counts', 0.9],
      ['set aside', 0.1],
    ] as const) {
      const { results } = await site.bulk({
        sessions: [site.item(id, { visitId: visit.id })],
        responses: [{ id, sessionId: id, task: 'stroop', summary: { accuracy }, trials: [] }],
      });
      made.push(results[0]!.server_id!);
    }
    [counted, aside] = made as [string, string];
    const { items } = await site.conflicts('?status=open');
    const path = `/api/studies/${site.study.id}/sync-conflicts/${items[0]!.id}/resolve`;
    await site.http.expect(200, 'POST', path, { keep: 'server', reason: 'done twice' });
    expect((await site.see(aside)).status).to.equal('abandoned');
  });
  const rows = async (dataset: string, more: object = {}): Promise<Row[]> =>
    (
      await site.http.expect<{ rows: Row[] }>(200, 'POST', '/api/exports/json', {
        study_id: site.study.id,
        dataset,
        ...more,
      })
    ).rows;

  it('is listed in the report of its participant, and its results are in none of its courses', async () => {
    const { sessions, metrics } = await site.http.expect<Report>(
      200,
      'GET',
      `/api/reports/participants/${site.participant.id}`,
    );
    expect(sessions.map(({ id, status }) => [id, status])).to.have.deep.members([
      [counted, 'completed'],
      [aside, 'abandoned'],
    ]);
    expect(sessions.flatMap((session) => Object.keys(session))).not.to.include('set_aside');
    expect(metrics.map(({ points }) => points.map(({ session_id, value }) => [session_id, value]))).to.deep.equal([
      [[counted, 0.9]],
    ]);
  });

  it('is no observation of FHIR and no form of ODM', async () => {
    const { text } = await site.http.get(
      `/api/exports/studies/${site.study.id}/participants/${site.participant.id}/fhir`,
    );
    const observations = (JSON.parse(text) as Bundle).entry
      .map(({ resource }) => resource)
      .filter(({ resourceType }) => resourceType === 'Observation');
    expect(observations.map(({ identifier }) => identifier[0]!.value)).to.deep.equal([counted]);
    const odm = (await site.http.get(`/api/exports/studies/${site.study.id}/odm`)).text;
    expect([odm.includes(counted), odm.includes(aside)]).to.deep.equal([true, false]);
  });

  for (const [dataset, id, more] of [
    ['sessions', 'id', {}],
    ['task_summaries', 'session_id', {}],
    ['task_summaries', 'session_id', { layout: 'wide' }],
  ] as const)
    it(`is marked in an export of ${dataset} ${JSON.stringify(more)}`, async () => {
      expect((await rows(dataset, more)).map((row) => [row[id], row.set_aside])).to.have.deep.members([
        [counted, false],
        [aside, true],
      ]);
    });
});
