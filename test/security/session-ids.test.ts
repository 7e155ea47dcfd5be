import { expect } from 'chai';
import { DAY_MS, Site, endTimeOf, instant, trials } from '../assessment/stage.js';
import { Http, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { seesEverything } from '../support/everything.js';

const DATASETS = ['sessions', 'task_summaries', 'raw_trials', 'visits', 'audit', 'notifications'];

describe('The id of an active session is a credential: who only reads does not see it', () => {
  let site: Site, reader: Http, coordinator: Http, session: string;
  before(async () => {
    site = await Site.open();
    reader = await user(site.http, 'data_manager', { study_ids: [site.study.id] });
    coordinator = await user(site.http, 'coordinator', { study_ids: [site.study.id] });
    await site.visit();
    session = await site.session();
    const sent = await site.submit(session, {
      task_summaries: { stroop: { mean_rt: 400 } },
      raw_trials: trials('stroop', 3),
    });
    if (sent.status !== 200) throw new Error(sent.text);
  });

  const listed = async (by: Http) =>
    (await by.expect(200, 'GET', `/api/sessions?study_id=${site.study.id}`)).items.find(
      ({ participant_id, source }) => participant_id === site.participant.id && source === 'online',
    )!;

  it('lists and reads have its public id in its place; who may start sessions sees both', async () => {
    const seen = await listed(reader);
    expect(seen.id).to.equal(null);
    expect(seen.public_id)
      .to.match(/^[0-9a-f-]{36}$/)
      .and.not.equal(session);
    for (const by of [coordinator, site.http]) {
      const own = await listed(by);
      expect([own.id, own.public_id]).to.deep.equal([session, seen.public_id]);
    }
    for (const id of [String(seen.public_id), session]) {
      const read = await reader.expect(200, 'GET', `/api/sessions/${id}`);
      expect([read.id, read.public_id, (read.tasks as unknown[]).length]).to.deep.equal([null, seen.public_id, 1]);
    }
    const streamed = await reader.get(`/api/sessions/${String(seen.public_id)}/trials`);
    expect([streamed.body.session_id, streamed.body.total]).to.deep.equal([seen.public_id, 3]);
  });

  it('nothing else that it may read or take out has it', async () => {
    const of = `/api/studies/${site.study.id}`;
    const person = `${of}/participants/${site.participant.id}`;
    const found: string[] = [];
    const look = async (what: string, answer: Promise<{ status: number; text: string }>) => {
      const { status, text } = await answer;
      expect(status, `${what}: ${text.slice(0, 200)}`).to.equal(200);
      if (text.includes(session)) found.push(what);
      return text;
    };
    const { public_id } = await listed(reader);
    for (const dataset of DATASETS)
      for (const format of ['csv', 'json']) {
        const text = await look(
          `${dataset} as ${format}`,
          reader.post(`/api/exports/${format}`, { study_id: site.study.id, dataset }),
        );
        if (['sessions', 'task_summaries', 'raw_trials'].includes(dataset))
          expect(text, dataset).to.include(String(public_id));
      }
    await look(
      'wide',
      reader.post('/api/exports/csv', { study_id: site.study.id, dataset: 'task_summaries', layout: 'wide' }),
    );
    await look('the full export', reader.get(`/api/exports/studies/${site.study.id}/full`));
    await look('the timeline', reader.get(`${person}/timeline`));
    await look('the report', reader.get(`/api/reports/participants/${site.participant.id}`));
    await look('events', reader.get(`${of}/events`));
    await look('visits', reader.get(`/api/schedules/visits?participant_id=${site.participant.id}`));
    await look('conflicts', reader.get(`${of}/sync-conflicts`));
    await look('FHIR', reader.get(`/api/exports/studies/${site.study.id}/participants/${site.participant.id}/fhir`));
    await look('ODM', reader.get(`/api/exports${of.slice(4)}/odm`));
    expect(found).to.deep.equal([]);
  });

  it('nor has it a cursor of the lists of /api/v1, which names the last row of its page', async () => {
    const person = await site.newParticipant();
    const going = [session, await site.session({ participant_id: person.id, visit_id: null })];
    const { token } = await reader.expect<{ token: string }>(201, 'POST', '/api/v1/tokens', {
      name: 'lists',
      scopes: ['sessions:read'],
      study_ids: [site.study.id],
      expires_in_days: 1,
    });
    const scoped = new Http(site.http.base, token);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { items: Loose[]; next_cursor: string | null } = await scoped.expect(
        200,
        'GET',
        `/api/v1/studies/${site.study.id}/sessions?limit=1${cursor ? `&cursor=${cursor}` : ''}`,
      );
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next_cursor;
      const readable = (cursor ?? '').split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'));
      for (const id of going) expect([cursor, ...readable].join('\n')).not.to.include(id);
    } while (cursor);
    const { items } = await reader.expect(200, 'GET', `/api/sessions?study_id=${site.study.id}`);
    expect(seen).to.have.members(items.map(({ public_id }) => public_id));
    expect((await site.end(going[1]!)).status).to.equal(200);
  });

  /** What a reader finds a text in: conflicts, one by one too, audit records, the whole study, and all sets of data. */
  const findsIn = async (id: string, by: Http): Promise<string[]> => {
    const of = `/api/studies/${site.study.id}`;
    const found: string[] = [];
    const look = async (what: string, answer: Promise<{ status: number; text: string }>) => {
      const { status, text } = await answer;
      expect(status, `${what}: ${text.slice(0, 200)}`).to.equal(200);
      if (text.toLowerCase().includes(id)) found.push(what);
    };
    for (const dataset of DATASETS)
      for (const format of ['csv', 'json'])
        await look(`${dataset} as ${format}`, by.post(`/api/exports/${format}`, { study_id: site.study.id, dataset }));
    await look('the full export', by.get(`/api/exports/studies/${site.study.id}/full`));
    await look('the timeline', by.get(`${of}/participants/${site.participant.id}/timeline`));
    await look('the report', by.get(`/api/reports/participants/${site.participant.id}`));
    await look('sessions', by.get(`/api/sessions?study_id=${site.study.id}`));
    await look('conflicts', by.get(`${of}/sync-conflicts?limit=500`));
    for (const conflict of (await by.expect(200, 'GET', `${of}/sync-conflicts?limit=500`)).items)
      await look(`the conflict of a ${String(conflict.kind)}`, by.get(`${of}/sync-conflicts/${String(conflict.id)}`));
    return found;
  };

  it('nor what a device sends for it: its conflicts, and the records of them', async () => {
    const response = { id: 'r', task: 'stroop', summary: { mean_rt: 999 }, trials: [] };
    const { results } = await site.bulk({
      sessions: [site.item(session.toUpperCase(), { status: 'active', completedAt: null })],
      responses: [
        { ...response, sessionId: session.toUpperCase() },
        { ...response, id: 'other', sessionId: session, task: 'flanker' },
      ],
    });
    expect(results.map(({ kind, status }) => [kind, status])).to.deep.include(['response', 'conflict']);
    expect(await findsIn(session, reader)).to.deep.equal([]);
    const path = `/api/studies/${site.study.id}/sync-conflicts`;
    const { public_id } = await listed(reader);
    const shown = (await reader.expect(200, 'GET', path)).items.filter(({ kind }) => kind === 'response');
    expect(shown.map(({ session_id }) => session_id)).to.deep.equal([public_id]);
    const own = (await coordinator.expect(200, 'GET', path)).items.filter(({ kind }) => kind === 'response');
    expect(own.map(({ session_id }) => session_id)).to.deep.equal([session]);
    const { id } = own[0]!;
    await coordinator.expect(200, 'POST', `${path}/${String(id)}/resolve`, { keep: 'both', reason: 'two devices' });
    const { server_content } = await coordinator.expect<{ server_content: Record<string, string> }>(
      200,
      'GET',
      `${path}/${String(id)}`,
    );
    const beside = server_content.beside_session_id!;
    expect(await site.see(beside)).to.include({ status: 'active' });
    expect(await findsIn(session, reader)).to.deep.equal([]);
    expect(await findsIn(beside, reader)).to.deep.equal([]);
  });

  it('nor has it the id of a session that a device has not ended yet', async () => {
    const { results } = await site.bulk({
      sessions: [site.item('under way', { status: 'active', completedAt: null })],
    });
    const going = results[0]!.server_id!;
    expect((await site.submit(going, { task_summaries: { flanker: { accuracy: 1 } } })).status, 'it is good').to.equal(
      200,
    );
    expect(await findsIn(going, reader)).to.deep.equal([]);
    const { public_id } = await site.see(going);
    const read = await reader.expect(200, 'GET', `/api/sessions/${String(public_id)}`);
    expect([read.id, read.public_id, read.status]).to.deep.equal([null, public_id, 'active']);
    expect((await site.end(String(public_id))).status).to.equal(401);
    await site.end(going);
    expect((await reader.expect(200, 'GET', `/api/sessions/${going}`)).id).to.equal(going);
  });

  it('the public id is good for nothing, and after the end the id is shown', async () => {
    const { public_id } = await listed(reader);
    expect((await site.submit(String(public_id), { task_summaries: { other: { a: 1 } } })).status).to.equal(401);
    expect((await site.end(String(public_id))).status).to.equal(401);
    expect((await site.end(session)).status).to.equal(200);
    const seen = await listed(reader);
    expect([seen.id, seen.public_id]).to.deep.equal([session, public_id]);
  });

  it('nothing is added by the id of a session that ended, which readers see, once its time is over', async () => {
    const before = { timestamp: instant(-DAY_MS + 60_000) };
    const [onTime, late] = ['stroop', 'flanker'].map((task) => ({
      task_summaries: {},
      raw_trials: trials(task, 2, before),
    })) as unknown as [Loose, Loose];
    const ended = await site.session();
    await site.end(ended);
    expect((await site.submit(ended, onTime)).status, 'in its time, what was on its way').to.equal(200);
    await endTimeOf(ended);
    const { results } = await site.bulk({ sessions: [site.item('off line')] });
    for (const id of [ended, results[0]!.server_id!]) {
      expect((await reader.expect(200, 'GET', `/api/sessions/${id}`)).status).to.equal('completed');
      const refused = await site.submit(id, late);
      expect([refused.status, refused.body.code]).to.deep.equal([409, 'SESSION_ENDED']);
    }
    expect((await site.submit(ended, onTime)).body.status).to.equal('duplicate');
    const delivered = await site.bulk({
      sessions: [],
      responses: [{ id: 'late', sessionId: ended, task: 'flanker', trials: trials('flanker', 2, before) }],
    });
    expect(delivered.results.map(({ status }) => status)).to.deep.equal(['created']);
  });

  it('what is sent by the id alone is audited with who opened the session, how, and from which network', async () => {
    const database = await seesEverything();
    try {
      const { rows } = await database.query<{ action: string; audit_metadata: Record<string, unknown> }>(
        `select action, audit_metadata from audit_log where resource_id = $1 and action in ('results_submitted', 'session_completed') order by seq`,
        [session],
      );
      expect(rows.map(({ action }) => action)).to.deep.equal(['results_submitted', 'session_completed']);
      for (const { audit_metadata } of rows)
        expect(audit_metadata).to.include({
          opened_by_id: site.http.userId,
          opened_via: 'staff',
          network: '127.0.0.0/24',
        });
    } finally {
      await database.end();
    }
  });
});
