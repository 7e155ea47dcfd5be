import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { canonicalJson } from '../../db/audit/canonical-json.js';
import { Http } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { DAY_MS, Site, instant, trials } from './stage.js';
import type { TrialGiven } from './stage.js';

describe('What has arrived of a session', () => {
  let site: Site;
  before(async () => {
    site = await Site.open();
  });
  const state = (id: string) =>
    new Http(site.http.base).get('/api/session/state', { headers: id === '' ? {} : { 'X-Session-ID': id } });

  it('is told by its id alone: tasks with counts and checksums, expiry, the server’s time', async () => {
    const started = await site.start();
    const id = started.body.sessionId;
    const { body: empty } = await state(id);
    expect(empty).to.deep.include({ session_id: id, status: 'active', tasks: [], completed_at: null });
    expect(empty.expires_at).to.equal(started.body.expiresAt);
    expect(Math.abs(Date.parse(empty.server_time as string) - Date.now())).to.be.below(60_000);
    await site.submit(id, { task_summaries: { flanker: { accuracy: 1 } }, raw_trials: trials('stroop', 3) });
    await site.end(id);
    const { body } = await state(id);
    const tasks = (await site.see(id)).tasks as (Loose & { trial_count: number })[];
    expect(body.status).to.equal('completed');
    expect(
      (body.tasks as unknown as Loose[]).map(({ task, trials: count, checksum }) => [task, count, checksum]),
    ).to.deep.equal(tasks.map(({ task, trial_count, content_hash }) => [task, trial_count, content_hash]));
    for (const unknown of ['', 'x', '00000000-0000-4000-8000-000000000000']) {
      const refused = await state(unknown);
      expect([refused.status, refused.body.code]).to.deep.equal([401, 'SESSION_UNKNOWN']);
    }
  });

  it('one key is one answer: flagged only where answers differ; a clock far behind is flagged', async () => {
    const codes = async (task: string, fields: object) => {
      const id = await site.session();
      const raw = trials(task, 12).map((trial) => ({ ...trial, data: { response: ' ' }, ...fields }));
      const { body } = await site.submit(id, { task_summaries: {}, raw_trials: raw });
      return (body.quality_flags as { code: string }[]).map(({ code }) => code);
    };
    for (const task of ['reaction_time', 'continuous_performance', 'n_back'])
      expect(await codes(task, {}), task).to.deep.equal([]);
    for (const task of ['stroop', 'flanker']) expect(await codes(task, {}), task).to.deep.equal(['ONE_ANSWER']);
    expect(await codes('reaction_time', { timestamp: instant(-400 * DAY_MS) })).to.deep.equal(['CLOCK_BEHIND']);
  });

  it('has the checksum that anybody with the same content can work out: SHA-256 of its canonical JSON', async () => {
    const odd: Partial<TrialGiven & { practice: boolean }>[] = [
      { rt: 0.1 + 0.2, practice: true },
      { rt: 1e-7, timestamp: '2026-01-05T10:00:00Z' },
      { rt: null, correct: null, timestamp: '2026-01-05t12:00:00.5+02:00' },
    ];
    const plain = trials('stroop', 4).map((trial, i): TrialGiven => ({ ...trial, ...odd[i] }));
    const detailed = trials('flanker', 3).map((trial, i): TrialGiven => ({
      ...trial,
      ...(i === 1 && { data: { '10': 'é', '9': [{ b: 1, a: '\u2028' }] } }),
    }));
    const sha256 = (content: unknown) => createHash('sha256').update(canonicalJson(content)).digest('hex');
    for (const raw_trials of [plain, detailed, [...plain, ...detailed].reverse()]) {
      const { sessionId: id } = (await site.start()).body;
      const task_summaries = { stroop: { accuracy: 0.75 } };
      const { body } = await site.submit(id, { task_summaries, raw_trials });
      expect(body.checksum).to.equal(sha256({ raw_trials, task_summaries }));
      const tasks = (await state(id)).body.tasks as unknown as { task: string; checksum: string }[];
      for (const { task, checksum } of tasks)
        expect(checksum, task).to.equal(
          sha256({
            summary: task === 'stroop' ? task_summaries.stroop : {},
            trials: raw_trials.filter((trial) => trial.task === task),
          }),
        );
    }
  });
});
