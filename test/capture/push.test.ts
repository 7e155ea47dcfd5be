import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { Http } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { compared } from './compared.js';
import { EVENT, MAPPING, PushStage, SECOND, SUMMARY } from './push-stage.js';
import type { AttemptView, Ended, PushStudy } from './push-stage.js';

const ended = (attempts: AttemptView[]) => attempts.map(({ status, error_type }) => error_type ?? status);

describe('results are pushed to the capture system', function () {
  let stage: PushStage;
  let study: PushStudy;
  before(async () => {
    stage = await PushStage.set();
    study = await stage.study();
  });
  after(() => stage?.clear());

  it('a completed session of an event becomes a record: floats with two decimals, integers as they are, what is missing left out, the instrument complete', async () => {
    const { session, visit, record } = await study.ended();
    await study.synced(session);
    expect(study.standing(record!)).to.deep.equal({
      mean_rt: '412.35',
      median_rt: '22.0',
      accuracy: '0.97',
      trials: '40',
      cognition_complete: '2',
    });
    const [attempt, ...more] = await study.attempts(session);
    expect(attempt).to.include({
      status: 'success',
      error_type: null,
      message: null,
      records_imported: 1,
      already_there: false,
      next_attempt_at: null,
      number: 1,
    });
    expect(more).to.deep.equal([]);
    const [seen, seenVisit] = [await study.see(session), await study.seeVisit(visit)];
    expect([seen.sync_status, seenVisit.data_sync_status]).to.deep.equal(['synced', 'synced']);
    expect(seen.synced_at).to.be.a('string').and.equal(seenVisit.synced_at);
  });

  it('it is imported once, with overwrite, under the primary key and the event', async () => {
    const { session, record } = await study.ended({ visit: { datacapture_event: SECOND } });
    await study.synced(session);
    const [call, ...more] = stage.simulator.control
      .calls(study.projectId)
      .filter(({ action, records }) => action === 'import' && records.includes(record!));
    expect(more).to.deep.equal([]);
    expect(call!.parameters).to.include({ overwriteBehavior: 'overwrite', type: 'flat', format: 'json' });
    expect(study.standing(record!, SECOND)).to.include({ mean_rt: '412.35' });
    expect(study.standing(record!)).to.equal(undefined);
  });

  it('metrics and instruments that the session does not have are not sent', async () => {
    const { session, record } = await study.ended({
      summaries: { stroop: { mean_rt: 300, unmapped: 5 }, digit_span: { span: 7 } },
    });
    await study.synced(session);
    expect(study.standing(record!)).to.deep.equal({
      mean_rt: '300',
      cognition_complete: '2',
      span: '7.0',
      memory_complete: '2',
    });
    const other = await study.ended({ summaries: { digit_span: { span: 6.25 } } });
    await study.synced(other.session);
    expect(study.standing(other.record!)).to.deep.equal({ span: '6.3', memory_complete: '2' });
  });

  it('a session without a visit of an event, and a study that is not integrated, are left alone: the status stays null', async () => {
    const plain = await study.ended({ visit: { datacapture_event: null } });
    const elsewhere = await stage.study({}, { datacapture_enabled: false });
    const other = await elsewhere.ended();
    for (const [of, { session, visit }] of [
      [study, plain],
      [elsewhere, other],
    ] as [PushStudy, Ended][]) {
      expect((await of.see(session)).sync_status).to.equal(null);
      expect((await of.seeVisit(visit)).data_sync_status).to.equal(null);
      expect(await of.attempts(session)).to.deep.equal([]);
    }
    await elsewhere.push(other.session);
    expect(
      await elsewhere.attempt(other.session, ({ status }) => status === 'skipped', 'the skipped attempt'),
    ).to.include({ error_type: null });
    expect((await elsewhere.see(other.session)).sync_status).to.equal(null);
    expect(elsewhere.calls('record')).to.equal(0);
  });

  describe('what something is missing for ends at once as a configuration error', () => {
    const cases: [what: string, words: RegExp, make: () => Promise<{ of: PushStudy; session: string }>][] = [
      [
        'no configuration',
        /no capture-system configuration/,
        async () => {
          const of = await stage.study(null);
          return { of, session: (await of.ended()).session };
        },
      ],
      [
        'no mapping of results',
        /data_field_mapping/,
        async () => {
          const of = await stage.study({ data_field_mapping: {} });
          return { of, session: (await of.ended()).session };
        },
      ],
      [
        'no record id',
        /external_id/,
        async () => ({
          of: study,
          session: (await study.ended({ person: await study.person({ external_id: null }) })).session,
        }),
      ],
      [
        'no event, and somebody asks for the push',
        /datacapture_event/,
        async () => {
          const { session } = await study.ended({ visit: { datacapture_event: null } });
          await study.push(session);
          return { of: study, session };
        },
      ],
    ];
    for (const [what, words, make] of cases) {
      it(what, async () => {
        const { of, session } = await make();
        const attempt = await of.attempt(session, () => true, 'an attempt');
        expect(attempt).to.include({
          status: 'failed',
          error_type: 'configuration',
          next_attempt_at: null,
          records_imported: null,
        });
        expect(attempt.message).to.match(words);
        expect((await of.see(session)).sync_status).to.equal('failed');
      });
    }
  });

  describe('what the capture system would not take is refused before it is sent, naming field and rule and no value', () => {
    const cases: [what: string, fields: Record<string, string>, summary: Record<string, number>, rule: RegExp][] = [
      ['a float for an integer', { total_trials: 'trials' }, { total_trials: 411.25 }, /trials: its type is integer/],
      ['a choice that is none', { grade: 'grade' }, { grade: 3 }, /grade: it takes only 1, 2/],
      ['a calculated field', { score: 'score' }, { score: 411.25 }, /score: a field of type calc/],
    ];
    for (const [what, fields, summary, rule] of cases) {
      it(what, async () => {
        const of = await stage.study({
          data_field_mapping: { stroop: { datacapture_instrument: 'cognition', fields } },
        });
        const { session, record } = await of.ended({ summaries: { stroop: summary } });
        const attempt = await of.attempt(session, () => true, 'an attempt');
        expect(attempt).to.include({ status: 'failed', error_type: 'rejected', next_attempt_at: null });
        expect(attempt.message).to.match(rule).and.not.include('411').and.not.include(record!);
        expect(of.calls('record:import')).to.equal(0);
        expect((await of.status()).breaker).to.include({ state: 'closed', consecutive_failures: 0 });
      });
    }
  });

  it('a field that does not take its result stops no other: the others are sent, the form is not complete, and the push names the field', async () => {
    const of = await stage.study();
    const { session, record } = await of.ended({
      summaries: { stroop: { mean_rt: 300.5, accuracy: 0.9, total_trials: 411.25 } },
    });
    const attempt = await of.attempt(session, () => true, 'an attempt');
    expect(attempt).to.include({ status: 'failed', error_type: 'rejected', next_attempt_at: null });
    expect(attempt.message)
      .to.match(/has the others: trials: its type is integer/)
      .and.not.include('411');
    const { trials, cognition_complete: complete, ...sent } = of.standing(record!)!;
    expect([trials ?? '', complete ?? '']).to.deep.equal(['', '']);
    expect(sent).to.include({ mean_rt: '300.5', accuracy: '0.9' });
    expect((await of.failures('?final=true')).total).to.equal(1);

    of.redesign((dictionary) => dictionary.replace('text,Trials,,integer,1,5000', 'text,Trials,,number,1,5000'));
    await of.push(session);
    await of.synced(session);
    expect(of.standing(record!)).to.include({ mean_rt: '300.5', trials: '411.25', cognition_complete: '2' });
  });

  it('a field that was renamed there stops no other result: the push names it', async () => {
    const of = await stage.study();
    of.redesign((dictionary) => dictionary.replace('mean_rt,', 'mean_rt_ms,'));
    const { session, record } = await of.ended({ summaries: { stroop: { mean_rt: 300.5, accuracy: 0.9 } } });
    const attempt = await of.attempt(session, () => true, 'an attempt');
    expect(attempt).to.include({ error_type: 'rejected', next_attempt_at: null });
    expect(attempt.message).to.contain('has the others: mean_rt: the capture system does not list it');
    expect(of.standing(record!)).to.include({ accuracy: '0.9' });
    await of.configure({ data_field_mapping: { stroop: { fields: { mean_rt: 'mean_rt_ms' } } } });
    await of.push(session);
    await of.synced(session);
    expect(of.standing(record!)).to.include({ mean_rt_ms: '300.5', cognition_complete: '2' });
  });

  it('a form that is locked stops no result of another form: the push names its fields, and delivers them once it is unlocked', async () => {
    const of = await stage.study();
    const person = await of.person();
    stage.simulator.control.lockRecord(of.projectId, person.record!, true, 'cognition', EVENT);
    const { session, record } = await of.ended({
      person,
      summaries: { stroop: { mean_rt: 300.5, accuracy: 0.9 }, digit_span: { span: 6 } },
    });
    const attempt = await of.attempt(session, () => true, 'an attempt');
    expect(attempt).to.include({ error_type: 'rejected', next_attempt_at: null, records_imported: 1 });
    expect(attempt.message).to.match(
      /has the others: mean_rt: This field is located on a form that is locked.*accuracy: /,
    );
    expect(attempt.message).to.not.include('300').and.not.include(record!).and.not.include('span:');
    expect(of.standing(record!)).to.include({ span: '6.0' }).and.not.have.any.keys('mean_rt', 'accuracy');
    expect((await of.see(session)).sync_status).to.equal('failed');
    stage.simulator.control.lockRecord(of.projectId, record!, false, 'cognition', EVENT);
    await of.push(session);
    await of.synced(session);
    const complete = { cognition_complete: '2', memory_complete: '2' };
    expect(of.standing(record!)).to.include({ mean_rt: '300.5', span: '6.0', ...complete });
  });

  it('a value outside of the range that a field suggests is sent, and the push says so', async () => {
    const { session, record } = await study.ended({ summaries: { stroop: { accuracy: 411.25, mean_rt: 300 } } });
    await study.synced(session);
    expect(study.standing(record!)).to.include({ accuracy: '411.25', mean_rt: '300' });
    const [attempt] = await study.attempts(session);
    const warnings = [
      {
        code: 'OUT_OF_RANGE',
        field: 'accuracy',
        message: 'accuracy: it is outside of the range from 0 to 1.',
      },
    ];
    expect(attempt!.warnings).to.deep.equal(warnings);
    const shown = await study.http.expect<{ push: object }>(200, 'GET', `/api/sessions/${session}/pushes`);
    expect(shown.push).to.deep.include({ status: 'synced', warnings });
    const inside = await study.ended();
    await study.synced(inside.session);
    expect((await study.attempts(inside.session))[0]!.warnings).to.deep.equal([]);
  });

  it('a record that is not there is not made: rejected with what to do, and pushed when it is there again', async () => {
    const of = await stage.study();
    const { session, record } = await of.ended({ person: await of.person({ external_id: 'Gone-1' }) });
    await of.synced(session);
    stage.simulator.control.deleteRecord(of.projectId, record!);
    await of.push(session);
    const attempt = await of.attempt(session, ({ status }) => status === 'failed', 'a refused attempt');
    expect(attempt).to.include({ error_type: 'rejected', next_attempt_at: null });
    expect(attempt.message)
      .to.match(/^RECORD_NOT_FOUND: /)
      .and.not.include('Gone-1');
    expect(stage.simulator.control.record(of.projectId, record!)).to.equal(undefined);
    expect(of.calls('record:import')).to.equal(1);
    of.exists('GONE-1');
    await of.push(session);
    await of.synced(session);
    expect(of.standing('gone-1')).to.include({ mean_rt: '412.35' });
  });

  it('a classic project is written to without an event', async () => {
    const of = await stage.study({}, {}, 'subject_id', []);
    const { session, record } = await of.ended();
    await of.synced(session);
    expect(of.standing(record!, '')).to.include({ mean_rt: '412.35', cognition_complete: '2' });
  });

  it('an answer that begins with a byte order mark is read', async () => {
    const of = await stage.study();
    for (const body of ['\uFEFF{"count": 1}', '\uFEFF\uFEFF\uFEFF{"count": 1}', '\n \uFEFF{"count": 1}\n\uFEFF']) {
      of.fault({ content: ['record:import'], after_write: true, body });
      const { session } = await of.ended();
      await of.synced(session);
      expect(await of.attempts(session), JSON.stringify(body)).to.have.length(1);
    }
  });

  describe('what the capture system refuses is final, with its reason, and is tried again only when somebody asks', () => {
    it('a locked record: not repeated, no value or record in the reason, in the dead letters; unlocked and pushed again it is there', async () => {
      const of = await stage.study();
      const person = await of.person();
      stage.simulator.control.load(of.projectId, [
        { subject_id: person.record!, redcap_event_name: EVENT, mean_rt: '1' },
      ]);
      stage.simulator.control.lockRecord(of.projectId, person.record!);
      const { session, visit, record } = await of.ended({ person });
      const attempt = await of.attempt(session, () => true, 'an attempt');
      expect(attempt).to.include({ error_type: 'rejected', next_attempt_at: null });
      expect(attempt.message)
        .to.match(/mean_rt: This record has been locked/)
        .and.not.include('412')
        .and.not.include(record!);
      const { items, total } = await of.failures('?final=true');
      expect(total).to.equal(1);
      expect(items[0]).to.include({
        session_id: session,
        visit_id: visit,
        error_type: 'rejected',
        final: true,
        message: attempt.message,
      });
      expect((await of.status()).pushes).to.deep.equal({ pending: 0, synced: 0, failed: 1 });

      stage.simulator.control.lockRecord(of.projectId, person.record!, false);
      await of.push(session);
      await of.synced(session);
      expect(ended(await of.attempts(session))).to.deep.equal(['rejected', 'success']);
      expect((await of.failures()).total).to.equal(0);
      expect(await of.status()).to.deep.include({ pushes: { pending: 0, synced: 1, failed: 0 } });
      const { items: audited } = await of.http.expect(
        200,
        'GET',
        `/api/audit?study_id=${of.id}&resource_id=${session}`,
      );
      expect(audited.map(({ action }) => action)).to.include.members([
        'push_failed',
        'push_requested',
        'results_pushed',
      ]);
    });

    it('a ban, and a token without the right: one call, then silence', async () => {
      const [banned, forbidden] = [await stage.study(), await stage.study()];
      stage.simulator.control.setFaults([
        {
          project_id: banned.projectId,
          content: ['record:import'],
          status: 429,
          message: 'Your IP address (10.0.0.1) has been banned due to suspected abuse.',
        },
        {
          project_id: forbidden.projectId,
          content: ['record:import'],
          status: 403,
          message: 'You do not have permissions to use the API',
        },
      ]);
      for (const of of [banned, forbidden]) {
        const { session } = await of.ended();
        expect(await of.attempt(session, () => true, 'an attempt')).to.include({
          error_type: 'rejected',
          next_attempt_at: null,
        });
        expect(of.calls('record:import')).to.equal(1);
        expect((await of.status()).breaker).to.include({ state: 'closed', consecutive_failures: 0, last_error: null });
      }
      stage.simulator.control.clearFaults();
    });
  });

  it('what the dictionary does not list is sent, and the capture system has the word: its refusal is final and names no value', async () => {
    const of = await stage.study({
      data_field_mapping: { stroop: { datacapture_instrument: 'cognition', fields: { mean_rt: 'no_such_field' } } },
    });
    const { session, record } = await of.ended({ summaries: { stroop: { mean_rt: 411.25 } } });
    const attempt = await of.attempt(session, () => true, 'an attempt');
    expect(attempt).to.include({ status: 'failed', error_type: 'rejected', next_attempt_at: null });
    expect(attempt.message)
      .to.match(/no_such_field/)
      .and.not.include('411')
      .and.not.include(record!);
    expect(of.calls('record:import')).to.equal(1);
  });

  it('a dictionary that cannot be read does not stop a push whose record has the usual key', async () => {
    const of = await stage.study({}, {}, 'record_id');
    for (const fault of [{ status: 500 }, { status: 403 }, { body: '[]', content_type: 'application/json' }]) {
      of.fault({ content: ['metadata'], ...fault });
      const { session, record } = await of.ended({ summaries: { stroop: { mean_rt: 412.34567 } } });
      expect(await of.attempt(session, () => true, 'the push'), JSON.stringify(fault)).to.include({
        status: 'success',
        records_imported: 1,
      });
      expect(of.standing(record!)).to.include({ mean_rt: '412.35', cognition_complete: '2' });
    }
    of.fault();
  });

  it('a refusal of what was sent by guess is tried again: the next time the dictionary tells the key', async () => {
    const fresh = await stage.study();
    fresh.fault({ content: ['metadata'], status: 500, times: 1 });
    const { session } = await fresh.ended();
    const first = await fresh.attempt(session, () => true, 'an attempt');
    expect(first).to.include({ status: 'failed', error_type: 'http_error' });
    expect(first.next_attempt_at).to.be.a('string');
    await fresh.push(session);
    await fresh.attempt(session, ({ status }) => status === 'success', 'the push');
  });

  it('a field that has been given another type since the dictionary was read is written as it wants it now', async () => {
    const of = await stage.study();
    const summaries = { stroop: { mean_rt: 412 } };
    await of.synced((await of.ended({ summaries })).session);
    of.redesign((dictionary) => dictionary.replace('text,Mean,,,,', 'text,Mean,,number_1dp,,'));
    const { session, record } = await of.ended({ summaries });
    await of.synced(session);
    expect(of.standing(record!)).to.include({ mean_rt: '412.0' });
    expect(await of.attempts(session)).to.have.length(1);
  });

  it('what changed since the session ended counts as it stands: a study that left the capture system', async () => {
    const of = await stage.study();
    of.fault({ content: ['record:import', 'metadata'], status: 503 });
    const { session } = await of.ended();
    await of.attempt(session, ({ error_type }) => error_type === 'http_error', 'a failed attempt');
    await of.http.expect(200, 'PATCH', `/api/studies/${of.id}`, { datacapture_enabled: false });
    of.fault();
    const before = of.calls();
    await of.push(session);
    await of.attempt(session, ({ status }) => status === 'skipped', 'the skipped attempt');
    expect((await of.see(session)).sync_status).to.equal(null);
    expect(of.calls()).to.equal(before);
  });

  it('what was completed while the exchange was switched off is pushed when it is switched on; an attempt that was skipped too', async () => {
    const of = await stage.study();
    of.fault({ content: ['record:import', 'metadata'], status: 503 });
    const waiting = await of.ended();
    await of.attempt(waiting.session, ({ error_type }) => error_type === 'http_error', 'a failed attempt');
    const switched = (datacapture_enabled: boolean) =>
      of.http.expect(200, 'PATCH', `/api/studies/${of.id}`, { datacapture_enabled });
    await switched(false);
    of.fault();
    await of.push(waiting.session);
    await of.attempt(waiting.session, ({ status }) => status === 'skipped', 'the skipped attempt');
    const meanwhile = await of.ended();
    expect((await of.see(meanwhile.session)).sync_status).to.equal(null);
    await switched(true);
    for (const { session } of [waiting, meanwhile]) await of.synced(session);
  });

  it('an offline session is pushed as an online one, also when its results come after it, and again when more of them come', async () => {
    const person = await study.person();
    const visit = await study.visit(person);
    const local = randomUUID(),
      at = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
    const [{ server_id: session }] = (
      await study.http.expect<{ results: { server_id: string }[] }>(200, 'POST', '/api/sync/bulk', {
        sessions: [
          {
            id: local,
            participantId: person.id,
            studyId: study.id,
            visitId: visit.id,
            status: 'completed',
            startedAt: at(30),
            completedAt: at(10),
            syncStatus: 'pending',
            syncAttempts: 0,
          },
        ],
        responses: [],
      })
    ).results as [{ server_id: string }];
    expect((await study.see(session)).sync_status).to.equal('pending');
    await study.http.expect(200, 'POST', '/api/sync/responses', {
      id: randomUUID(),
      sessionId: local,
      task: 'stroop',
      summary: SUMMARY,
      trials: [],
    });
    await study.synced(session);
    await study.http.expect(200, 'POST', '/api/sync/responses', {
      id: randomUUID(),
      sessionId: local,
      task: 'digit_span',
      summary: { span: 5 },
      trials: [],
    });
    await study.attempt(session, ({ number, status }) => number === 2 && status === 'success', 'the second push');
    expect(study.standing(person.record!)).to.include({ mean_rt: '412.35', span: '5.0', memory_complete: '2' });
    expect(ended(await study.attempts(session))).to.deep.equal(['success', 'success']);
  });

  it('only a completed session of one’s own study can be pushed', async () => {
    const person = await study.person();
    const { sessionId } = await study.http.expect<Loose & { sessionId: string }>(201, 'POST', '/api/session/start', {
      participant_id: person.id,
      language: 'en',
    });
    expect((await study.http.post(`/api/sessions/${sessionId}/push`)).body).to.include({
      code: 'SESSION_NOT_COMPLETED',
    });
    const stranger = await (await stage.study()).role('researcher');
    for (const [method, path] of [
      ['GET', `/api/sessions/${sessionId}/pushes`],
      ['POST', `/api/sessions/${sessionId}/push`],
      ['GET', `/api/studies/${study.id}/push-failures`],
    ] as const) {
      expect((await stranger.send(method, path)).status, path).to.equal(404);
      expect((await new Http(stage.run.api).send(method, path)).status, path).to.equal(401);
    }
  });

  it('the mapping of the test is what the capture system knows', async () => {
    const path = `/api/datacapture/config/${study.id}?strict=true`;
    const { status, body } = await compared(() =>
      study.http.patch<Loose & { warnings?: unknown }>(path, { data_field_mapping: MAPPING }),
    );
    expect([status, body.warnings]).to.deep.equal([200, undefined]);
  });
});
