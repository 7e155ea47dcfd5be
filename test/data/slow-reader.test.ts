import { expect } from 'chai';
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { Loose } from '../support/http.js';
import { Site, trials } from '../assessment/stage.js';

/** Longer than a transaction of a request may be idle. */
const PAUSE_MS = 35_000;

describe('A reader of an export that takes its time', function () {
  this.timeout(240_000);

  it('between two batches of rows gets all of them', async () => {
    const site = await Site.open();
    const id = await site.session();
    // More than the buffers of a connection hold.
    for (const task of ['stroop', 'n_back']) {
      const raw_trials = trials(task, 10_000, { data: { note: 'x'.repeat(1_000) } });
      expect((await site.submit(id, { task_summaries: {}, raw_trials })).status).to.equal(200);
    }
    const { token } = await site.http.expect<Loose & { token: string }>(201, 'POST', '/api/v1/tokens', {
      name: 'slow',
      scopes: ['exports:read'],
      study_ids: [site.study.id],
      expires_in_days: 1,
    });
    const url = `${site.http.base}/api/v1/studies/${site.study.id}/export?format=ndjson&include=raw_trials`;
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      get(url, { headers: { Authorization: `Bearer ${token}` } }, resolve).on('error', reject);
    });
    expect(answer.statusCode).to.equal(200);
    // Nothing is read meanwhile: the writer waits for its reader.
    await wait(PAUSE_MS);
    let text = '';
    for await (const chunk of answer.setEncoding('utf8')) text += chunk as string;
    const lines = text.trimEnd().split('\n');
    const found = lines.filter((line) => line.startsWith('{"set":"raw_trials"')).length;
    expect([found, lines.at(-1)!.startsWith('{"set":"end"')]).to.deep.equal([20_000, true]);
  });
});
