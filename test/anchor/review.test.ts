import { expect } from 'chai';
import type { Http, Loose } from '../support/http.js';
import { until } from '../support/service.js';
import { DAY, Stage } from './stage.js';
import type { AnchorStudy, Person, VisitView } from './stage.js';

interface ReviewedView extends VisitView {
  reviewed_at: string | null;
  reviewed_by_id: string | null;
  review_resolution: string | null;
}

describe('completed visits when the anchor moves', function () {
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());

  const studyWith = (completed_visit_handling: string): Promise<AnchorStudy> =>
    stage.study({ re_anchoring: { completed_visit_handling } }, { fields: { consent_mode: 'external' } });
  /** Somebody whose first visit is done: final on 10 March, visits on 10 March and 9 April. */
  const halfway = async (study: AnchorStudy): Promise<{ person: Person; done: VisitView }> => {
    const person = await study.person();
    await person.set(DAY);
    const first = (await person.visits())[0]!;
    await person.complete(first.id);
    return { person, done: await visitOf(first.id) };
  };
  const visitOf = (id: string) => stage.admin.expect<ReviewedView>(200, 'GET', `/api/visits/${id}`);
  const review = (
    id: string,
    body?: Record<string, unknown>,
    by: Http = stage.admin,
    headers: Record<string, string> = {},
  ) => by.post<ReviewedView & Loose>(`/api/visits/${id}/review`, body, { headers });

  const handlings: [handling: string, after: Partial<VisitView>][] = [
    ['preserve_original', { needs_review: false, reporting_target_date: null }],
    ['recalculate_reporting', { needs_review: false, reporting_target_date: '2024-03-20' }],
    ['flag_for_review', { needs_review: true, reporting_target_date: null }],
  ];
  for (const [handling, after] of handlings) {
    it(`${handling}: the visit stays the one row that it is, on its version, target unchanged, reconciled`, async () => {
      const { person, done } = await halfway(await studyWith(handling));
      expect((await person.override('2024-03-20')).status).to.equal(200);
      const now = await visitOf(done.id);
      expect(now).to.include({
        status: 'completed',
        target_date: DAY,
        anchor_reconciled: true,
        schedule_version_id: done.schedule_version_id,
        visit_key: done.visit_key,
        completed_at: done.completed_at,
        ...after,
      });
      expect(now.anchor_reconciled_at).to.be.a('string');
      expect((await person.visits()).filter((v) => v.visit_key === done.visit_key)).to.have.length(1);
      const { visits } = await stage.admin.expect<{ visits: (VisitView & { carried: boolean })[] }>(
        200,
        'GET',
        `${person.path}/schedule`,
      );
      expect(visits.map((v) => [v.name, v.target_date, v.status, v.carried])).to.deep.equal([
        ['Day 0', DAY, 'completed', true],
        ['Day 30', '2024-04-19', 'missed', false],
      ]);
    });

    it(`${handling}: a changed window, with the anchor where it is, asks for nothing`, async () => {
      const study = await studyWith(handling);
      const { person, done } = await halfway(study);
      const before = (await person.versions()).length;
      await study.window(90);
      await until(async () => (await person.versions()).length > before, { what: 'the next version' });
      expect(await visitOf(done.id)).to.include({
        needs_review: false,
        anchor_reconciled: false,
        reporting_target_date: null,
      });
    });
  }

  it('an override to the date that the schedule has kept reconciles the version that it supersedes, as its preview says', async () => {
    const { person, done } = await halfway(await studyWith('flag_for_review'));
    const left = await person.override('2024-03-20', undefined, { regenerate_schedule: false });
    expect(left.status).to.equal(200);
    const { body } = await person.override(DAY);
    expect(body.impact).to.include({ completed_visits_to_reconcile: 1, new_schedule_version: 2 });
    expect(body.schedule_version).to.include({ version_number: 2, anchor_date_used: DAY });
    const of = async (version: string | null) =>
      (await person.visits())
        .filter((v) => v.schedule_version_id === version)
        .map((v) => [v.name, v.status, v.anchor_reconciled, v.anchor_reconciled_at !== null, v.needs_review]);
    expect(await of(done.schedule_version_id)).to.have.deep.members([
      ['Day 0', 'completed', true, true, false],
      ['Day 30', 'superseded', true, true, false],
    ]);
    expect(await of(body.schedule_version!.id)).to.deep.equal([['Day 30', 'missed', false, false, false]]);
  });

  it('a missed visit that the version has from an earlier one is reconciled with it', async () => {
    const { person } = await halfway(await studyWith('flag_for_review'));
    const missed = (await person.visits()).find((v) => v.name === 'Day 30')!;
    // As the hourly job writes it down.
    await stage.sql(`update scheduled_visits set status = 'missed' where id = ?`, [missed.id]);
    await person.study.window(90);
    await until(async () => (await person.versions()).length === 2, { what: 'the next version' });
    expect((await person.override('2024-03-20')).status).to.equal(200);
    expect(await visitOf(missed.id)).to.include({ status: 'superseded', anchor_reconciled: true });
  });

  it('recalculate_reporting follows every further move, and back', async () => {
    const { person, done } = await halfway(await studyWith('recalculate_reporting'));
    for (const date of ['2024-03-20', '2024-03-15', DAY]) {
      expect((await person.override(date)).status).to.equal(200);
      expect(await visitOf(done.id)).to.include({ target_date: DAY, reporting_target_date: date });
    }
  });

  describe('review', () => {
    let study: AnchorStudy;
    before(async () => {
      study = await studyWith('flag_for_review');
    });
    const flagged = async () => {
      const { person, done } = await halfway(study);
      await person.override('2024-03-20');
      return { person, id: done.id };
    };

    it('settles the mark; the visit keeps its target unless it is told otherwise', async () => {
      const { id } = await flagged();
      const { status, body } = await review(id, { resolution: 'the visit was held on the day that was right then' });
      expect(status).to.equal(200);
      expect(body).to.include({
        needs_review: false,
        reporting_target_date: null,
        target_date: DAY,
        status: 'completed',
        reviewed_by_id: stage.admin.userId,
        review_resolution: 'the visit was held on the day that was right then',
      });
      expect(body.reviewed_at).to.be.a('string');
      expect(await visitOf(id)).to.deep.equal(body);
    });

    it('keep_target false: it is reported against the target that it would have now', async () => {
      const { id } = await flagged();
      expect((await review(id, { keep_target: false })).body).to.include({
        needs_review: false,
        reporting_target_date: '2024-03-20',
        target_date: DAY,
        review_resolution: null,
      });
    });

    it('needs no body at all', async () => {
      const { id } = await flagged();
      expect((await review(id)).status).to.equal(200);
    });

    it('is an audit record without the words, in a chain that verifies', async () => {
      const { person, id } = await flagged();
      const by = await study.as('coordinator');
      await review(id, { resolution: 'words about a person', keep_target: false }, by);
      const [record] = (await study.audit('visit_reviewed')).filter((r) => r.resource_id === id);
      expect(record).to.include({ user_id: by.userId });
      expect(record!.audit_metadata).to.deep.equal({
        participant_id: person.id,
        keep_target: false,
        target_date: DAY,
        held_against: '2024-03-20',
        reporting_target_date: '2024-03-20',
      });
      expect(await study.chainVerifies()).to.equal(true);
    });

    it('with nothing to review is 409: before, and a second time', async () => {
      const { person, done } = await halfway(study);
      expect((await review(done.id)).body).to.include({ code: 'NOTHING_TO_REVIEW' });
      await person.override('2024-03-20');
      expect((await review(done.id)).status).to.equal(200);
      const second = await review(done.id, { keep_target: false });
      expect([second.status, second.body.code]).to.deep.equal([409, 'NOTHING_TO_REVIEW']);
      expect(await visitOf(done.id)).to.include({ reporting_target_date: null });
    });

    it('of two at once one settles it', async () => {
      const { id } = await flagged();
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, i) => review(id, { resolution: `by hand ${i}` })),
      );
      expect(answers.map((a) => a.status).sort()).to.deep.equal([200, 409, 409, 409, 409, 409]);
    });

    it('is not undone by an override of the same moment: each sees all of the other, or nothing', async () => {
      const { person, id } = await flagged();
      // Nothing else of this participant waits for the visit.
      await person.settled();
      const sent: Promise<{ status: number }>[] = [];
      await stage.database.transaction(async (holder) => {
        const held = await holder.raw<{ rows: { pid: number }[] }>(
          'select pg_backend_pid() as pid from scheduled_visits where id = ? for update',
          [id],
        );
        const waiting = (count: number) =>
          until(
            async () => {
              const [blocked] = await stage.sql<{ n: number }>(
                `with recursive blocked as (
                   select pid from pg_stat_activity where ? = any(pg_blocking_pids(pid))
                   union select a.pid from pg_stat_activity a join blocked b on b.pid = any(pg_blocking_pids(a.pid)))
                 select count(*)::int as n from blocked`,
                [held.rows[0]!.pid],
              );
              return blocked!.n >= count;
            },
            { what: `${count} to wait` },
          );
        sent.push(review(id, { keep_target: false }));
        await waiting(1);
        sent.push(person.override('2024-03-25'));
        await waiting(2);
      });
      expect((await Promise.all(sent)).map(({ status }) => status)).to.deep.equal([200, 200]);
      // The review came first: the target of the version before the override, and a new review of the one after it.
      expect(await visitOf(id)).to.include({ reporting_target_date: '2024-03-20', needs_review: true });
    });

    it('holds until the target moves again: a further version alone does not flag it', async () => {
      const own = await studyWith('flag_for_review');
      const { person, done } = await halfway(own);
      await person.override('2024-03-20');
      await review(done.id);
      const before = (await person.versions()).length;
      await own.window(90);
      await until(async () => (await person.versions()).length > before, { what: 'the next version' });
      expect(await visitOf(done.id)).to.include({ needs_review: false });
      await person.override('2024-03-25');
      expect(await visitOf(done.id)).to.include({ needs_review: true, review_resolution: null });
      await review(done.id, { keep_target: false });
      expect(await visitOf(done.id)).to.include({ needs_review: false, reporting_target_date: '2024-03-25' });
      await person.override(DAY);
      expect(await visitOf(done.id), 'what it is reported against has moved').to.include({
        needs_review: true,
        reporting_target_date: '2024-03-25',
      });
    });

    it('a visit that no version plans has no new target to take', async () => {
      const { person } = await halfway(study);
      const extra = await stage.admin.expect(201, 'POST', '/api/schedules/visits', {
        participant_id: person.id,
        name: 'By hand',
        target_date: DAY,
      });
      await stage.admin.expect(200, 'PATCH', `/api/visits/${extra.id}`, { needs_review: true });
      const { status, body } = await review(extra.id, { keep_target: false });
      expect(status).to.equal(400);
      expect(body.errors[0]).to.include({ path: 'keep_target', code: 'NO_NEW_TARGET' });
      expect((await review(extra.id, { keep_target: true })).status).to.equal(200);
    });

    it('is refused to who may not work with visits, for what is out of reach, and for a wrong body', async () => {
      const { id } = await flagged();
      expect((await review(id, {}, await study.as('data_manager'))).status).to.equal(403);
      expect((await review(id, {}, await (await stage.study()).as('researcher'))).status).to.equal(404);
      expect((await review('00000000-0000-4000-8000-000000000000')).status).to.equal(404);
      for (const wrong of [
        { keep_target: 'no' },
        { resolution: 7 },
        { resolution: 'x'.repeat(2001) },
        { verdict: 'fine' },
      ])
        expect((await review(id, wrong)).status).to.equal(422);
      expect((await review(id, {}, stage.admin, { 'If-Match': '"another"' })).body.code).to.equal('STALE');
      expect(await visitOf(id)).to.include({ needs_review: true });
    });
  });
});

describe('the anchor for who wants nobody to come between', function () {
  let stage: Stage;
  let study: AnchorStudy;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study({}, { fields: { consent_mode: 'external' } });
  });
  after(() => stage.close());
  const tagOf = async (person: Person) => (await stage.admin.get(`${person.path}/anchor-date`)).headers.get('etag')!;
  const matching = (tag: string) => ({ headers: { 'If-Match': tag } });

  it('its ETag changes with every change of it, and with nothing else', async () => {
    const person = await study.person();
    const seen = [await tagOf(person)];
    expect(seen[0]).to.match(/^"[\w-]+"$/);
    for (const change of [
      () => person.set(DAY),
      () => person.override('2024-03-20'),
      () => person.post('/override-back', { reason: 'right before' }),
      () => person.post('/evaluate'),
    ]) {
      await change();
      seen.push(await tagOf(person));
    }
    expect(new Set(seen).size).to.equal(5);
    expect((await person.set('2024-03-01')).status).to.equal(409);
    await person.complete((await person.standing())[0]!.id);
    await person.post('/evaluate');
    expect(await tagOf(person)).to.equal(seen.at(-1));
    const unchanged = await stage.admin.get(`${person.path}/anchor-date`, {
      headers: { 'If-None-Match': seen.at(-1)! },
    });
    expect(unchanged.status).to.equal(304);
  });

  it('an If-Match that is stale refuses every change with 409 and the tag of now, and changes nothing', async () => {
    const person = await study.person();
    const old = await tagOf(person);
    await person.set(DAY);
    const now = await tagOf(person);
    const before = await person.anchor();
    for (const [suffix, body] of [
      ['', { enrollment_date: DAY }],
      ['/override', { new_enrollment_date: '2024-03-20', reason: 'x' }],
      ['/cancel', {}],
      ['/override-back', { reason: 'x' }],
    ] as const) {
      const answer = await person.post(suffix, body, stage.admin, matching(old));
      expect([answer.status, answer.body.code, answer.headers.get('etag')], suffix).to.deep.equal([409, 'STALE', now]);
    }
    expect(await person.anchor()).to.deep.equal(before);
    expect(await person.history()).to.have.length(1);
  });

  it('the tag of now lets the change through, `*` any', async () => {
    const person = await study.person();
    expect(
      (await person.post('', { enrollment_date: DAY }, stage.admin, matching(await tagOf(person)))).status,
    ).to.equal(200);
    expect(
      (
        await person.post(
          '/override',
          { new_enrollment_date: '2024-03-20', reason: 'x' },
          stage.admin,
          matching(`"other", ${await tagOf(person)}`),
        )
      ).status,
    ).to.equal(200);
    expect(
      (await person.post('/override', { new_enrollment_date: '2024-03-21', reason: 'x' }, stage.admin, matching('*')))
        .status,
    ).to.equal(200);
  });

  it('of many at once with one tag exactly one comes through', async () => {
    const person = await study.person();
    await person.set(DAY);
    const tag = await tagOf(person);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        person.post('/override', { new_enrollment_date: `2024-03-${11 + i}`, reason: 'x' }, stage.admin, matching(tag)),
      ),
    );
    expect(answers.map((a) => a.status).sort()).to.deep.equal([200, ...Array.from({ length: 7 }, () => 409)]);
    expect(new Set(answers.filter((a) => a.status === 409).map((a) => a.body.code))).to.satisfy((codes: Set<string>) =>
      [...codes].every((c) => c === 'STALE' || c === 'STALE_VERSION'),
    );
    expect(await person.history()).to.have.length(2);
  });
});
