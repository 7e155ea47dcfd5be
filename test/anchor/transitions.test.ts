import { expect } from 'chai';
import { withdrawn } from '../../workflows/contract.js';
import { DAY, Stage } from './stage.js';
import type { AnchorStudy, Person } from './stage.js';

/** What the newest history entry and the anchor must say after a transition. */
const taken = async (person: Person) => {
  const [anchor, [entry], versions] = await Promise.all([person.anchor(), person.history(), person.versions()]);
  return { anchor, entry: entry!, versions, current: versions.filter((v) => v.is_current) };
};
const typesOf = async (person: Person) => (await person.history()).map((h) => h.event_type);

describe('states and transitions of the anchor date', function () {
  let stage: Stage;
  /** Consent is needed and comes first; a date by hand counts until then. */
  let byHand: AnchorStudy;
  let twoSources: AnchorStudy;
  let consentless: AnchorStudy;
  let early: AnchorStudy;

  before(async () => {
    stage = await Stage.open();
    [byHand, twoSources, consentless, early] = await Promise.all([
      stage.study({ sources: [{ type: 'manual_entry' }] }),
      stage.study(),
      stage.study({}, { fields: { consent_mode: 'external' } }),
      stage.study({ sources: [{ type: 'manual_entry' }], schedule_on_provisional: true }),
    ]);
  });
  after(() => stage.close());

  it('every participant has an anchor from the start: unset, version 1, no date, no schedule', async () => {
    const person = await byHand.person();
    expect(await person.anchor()).to.include({
      status: 'unset',
      version: 1,
      enrollment_date: null,
      enrollment_datetime: null,
      precision: 'date',
      source_type: null,
      source_ref: null,
      is_override: false,
      override_reason: null,
      current_schedule_version_id: null,
    });
    expect(await person.history()).to.deep.equal([]);
    expect(await person.versions()).to.deep.equal([]);
  });

  it('unset, propose_enrollment_date, valid source → provisional; history entry; no schedule where the policy does not want one', async () => {
    const person = await byHand.person();
    const { status, body } = await person.set(DAY, undefined, {
      source_type: 'manual_entry',
      reason: 'from the diary',
    });
    expect(status).to.equal(200);
    expect(body).to.include({
      status: 'provisional',
      enrollment_date: DAY,
      source_type: 'manual_entry',
      version: 2,
      current_schedule_version_id: null,
    });
    expect(body.evaluation).to.deep.equal({
      result: 'proposed',
      source_type: 'manual_entry',
      errors: [],
      warnings: [],
    });
    expect(await person.history()).to.have.length(1);
    const { entry } = await taken(person);
    expect(entry).to.include({
      event_type: 'PROPOSED',
      status_before: 'unset',
      status_after: 'provisional',
      enrollment_date_value: DAY,
      previous_enrollment_date: null,
      change_delta_days: null,
      source_type: 'manual_entry',
      actor_user_id: stage.admin.userId,
      actor_type: 'user',
      reason: 'from the diary',
      anchor_version: 2,
    });
    expect(entry.source_ref).to.deep.equal({ entered_by_user_id: stage.admin.userId });
  });

  it('unset, propose_enrollment_date, schedule_on_provisional → provisional with visits scheduled', async () => {
    const person = await early.person();
    await person.set(DAY);
    const { anchor, current } = await taken(person);
    expect(anchor.status).to.equal('provisional');
    expect(current).to.have.length(1);
    expect(current[0]).to.include({ version_number: 1, anchor_date_used: DAY, visits_generated: 2, status: 'active' });
    expect(anchor.current_schedule_version_id).to.equal(current[0]!.id);
  });

  it('unset, set_enrollment_date, prerequisites met → finalized; history entry SET; schedule generated', async () => {
    const person = await consentless.person();
    const { body } = await person.set(DAY);
    expect(body).to.include({ status: 'finalized', version: 2 });
    expect(body.evaluation.result).to.equal('set');
    const { entry, current } = await taken(person);
    expect(entry).to.include({
      event_type: 'SET',
      status_before: 'unset',
      status_after: 'finalized',
      schedule_version_created_id: current[0]!.id,
    });
    expect(await person.visits()).to.have.length(2);
    expect((await person.visits()).map((v) => [v.target_date, v.window_open, v.window_close, v.status])).to.deep.equal([
      ['2024-03-10', '2024-03-07', '2024-03-13', 'missed'],
      ['2024-04-09', '2024-04-06', '2024-04-12', 'missed'],
    ]);
    expect(await stage.sql('select enrollment_date from participants where id = ?', [person.id])).to.deep.equal([
      { enrollment_date: DAY },
    ]);
  });

  it('provisional, prerequisites_met → finalized by itself; history entry FINALIZED; schedule made', async () => {
    const person = await byHand.person();
    await person.set(DAY);
    await person.consent(`${DAY}T09:00:00Z`);
    await person.becomes({ status: 'finalized', enrollment_date: DAY, source_type: 'manual_entry', version: 3 });
    const { entry, current } = await taken(person);
    expect(entry).to.include({
      event_type: 'FINALIZED',
      status_before: 'provisional',
      status_after: 'finalized',
      change_delta_days: 0,
      actor_type: 'workflow',
      actor_user_id: stage.admin.userId,
    });
    expect(current[0]).to.include({ version_number: 1, anchor_version: 3 });
  });

  it('provisional with a schedule, prerequisites_met → finalized; the schedule that fits stays as it is', async () => {
    const person = await early.person();
    await person.set(DAY);
    await person.consent(`${DAY}T09:00:00Z`);
    await person.becomes({ status: 'finalized' });
    expect((await person.versions()).map((v) => v.version_number)).to.deep.equal([1]);
  });

  it('provisional, change_source, a different valid source → CHANGED, and with its prerequisite met FINALIZED in the same transaction', async () => {
    const person = await twoSources.person();
    await person.set(DAY);
    await person.consent('2024-03-08T09:00:00Z');
    await person.becomes({
      status: 'finalized',
      enrollment_date: '2024-03-08',
      source_type: 'consent_workflow',
      version: 4,
    });
    const [finalized, changed] = await person.history();
    expect(changed).to.include({
      event_type: 'CHANGED',
      status_before: 'provisional',
      status_after: 'provisional',
      previous_enrollment_date: DAY,
      change_delta_days: -2,
      anchor_version: 3,
      schedule_version_created_id: null,
    });
    expect(finalized).to.include({
      event_type: 'FINALIZED',
      previous_enrollment_date: '2024-03-08',
      change_delta_days: 0,
      anchor_version: 4,
    });
    expect(finalized!.schedule_version_created_id).to.be.a('string');
    const ids = await stage.sql<{ xmin: string }>(
      'select distinct xmin::text from anchor_date_history where participant_id = ? and anchor_version >= 3',
      [person.id],
    );
    expect(ids, 'one transaction').to.have.length(1);
  });

  it('provisional with a schedule, another date → schedule regenerated: version one higher, the prior one superseded, its visits kept', async () => {
    const person = await early.person();
    await person.set(DAY);
    await person.set('2024-03-15');
    const versions = await person.versions();
    expect(versions.map((v) => [v.version_number, v.status, v.is_current, v.anchor_date_used])).to.deep.equal([
      [1, 'superseded', false, DAY],
      [2, 'active', true, '2024-03-15'],
    ]);
    const visits = await person.visits();
    expect(visits.filter((v) => v.status === 'superseded')).to.have.length(2);
    expect(new Set(visits.map((v) => v.visit_key)), 'a visit is the same whatever its version').to.have.length(2);
  });

  it('provisional, the same date from another source → the source fields follow, CHANGED with delta 0, no new schedule version', async () => {
    const study = await stage.study({
      sources: [{ type: 'eligibility_workflow' }, { type: 'manual_entry' }],
      schedule_on_provisional: true,
      validation: { cannot_precede_study_start: false },
    });
    const person = await study.person();
    await person.set(DAY);
    await person.eligible(`${DAY}T10:00:00Z`);
    await person.becomes({
      source_type: 'eligibility_workflow',
      status: 'provisional',
      enrollment_date: DAY,
      version: 3,
    });
    expect((await taken(person)).entry).to.include({
      event_type: 'CHANGED',
      change_delta_days: 0,
      previous_enrollment_date: DAY,
    });
    expect(await person.versions()).to.have.length(1);
  });

  it('provisional, cancel → unset; history CHANGED; the provisional schedule out of use but on record', async () => {
    const person = await early.person();
    await person.set(DAY);
    const { status, body } = await person.post('/cancel', { reason: 'typed for somebody else' });
    expect(status).to.equal(200);
    expect(body).to.include({ status: 'unset', enrollment_date: null, version: 3, current_schedule_version_id: null });
    const { entry, versions, current } = await taken(person);
    expect(entry).to.include({
      event_type: 'CHANGED',
      status_before: 'provisional',
      status_after: 'unset',
      enrollment_date_value: null,
      previous_enrollment_date: DAY,
      change_delta_days: null,
      reason: 'typed for somebody else',
    });
    expect(current).to.deep.equal([]);
    expect(versions[0]).to.include({ status: 'superseded', supersede_reason: 'cancelled' });
    expect((await person.visits()).map((v) => v.status)).to.deep.equal(['cancelled', 'cancelled']);
    expect(await stage.sql('select enrollment_date from participants where id = ?', [person.id])).to.deep.equal([
      { enrollment_date: null },
    ]);
  });

  it('after a cancel nothing is proposed again until a source changes; then the versions go on counting', async () => {
    const person = await early.person();
    await person.set(DAY);
    await person.post('/cancel', {});
    expect((await person.post('/evaluate')).body.result).to.equal('none');
    await person.set('2024-03-20');
    const { anchor, current } = await taken(person);
    expect(anchor).to.include({ status: 'provisional', enrollment_date: '2024-03-20', version: 4 });
    expect(current[0]!.version_number).to.equal(2);
  });

  it('a cancelled proposal of a source other than the hand stays cancelled until that source changes', async () => {
    const study = await stage.study({ sources: [{ type: 'eligibility_workflow' }] });
    const person = await study.person();
    await person.eligible(`${DAY}T10:00:00Z`);
    await person.becomes({ status: 'provisional' });
    await person.post('/cancel');
    await person.form('unrelated', { note: 'x' });
    await person.settled();
    expect(await person.anchor()).to.include({ status: 'unset' });
    await person.eligible('2024-03-12T10:00:00Z');
    await person.becomes({ status: 'provisional', enrollment_date: '2024-03-12' });
  });

  it('cancel of what is not provisional → 409 NOT_PROVISIONAL', async () => {
    const unset = await byHand.person();
    expect((await unset.post('/cancel')).status).to.equal(409);
    const finalized = await consentless.person();
    await finalized.set(DAY);
    expect((await finalized.post('/cancel')).body.code).to.equal('NOT_PROVISIONAL');
  });

  it('finalized, override_change, allowed with reason → finalized; one entry OVERRIDE_GRANTED with the delta; schedule regenerated; all visits of the old version reconciled', async () => {
    const person = await consentless.person();
    await person.set(DAY);
    const [first] = await person.standing();
    const done = await person.complete(first!.id);
    const { status, body } = await person.override('2024-03-17');
    expect(status).to.equal(200);
    expect(body).to.deep.include({ status: 'applied', warnings: [] });
    expect(body.anchor).to.include({
      status: 'finalized',
      enrollment_date: '2024-03-17',
      source_type: 'override',
      is_override: true,
      override_reason: 'the form was misread',
      version: 3,
    });
    expect(body.anchor.source_ref).to.deep.equal({
      override_by_user_id: stage.admin.userId,
      previous_source_type: 'manual_entry',
    });
    expect(body.schedule_version).to.include({
      version_number: 2,
      is_current: true,
      anchor_date_used: '2024-03-17',
      visits_generated: 1,
    });
    expect(await typesOf(person)).to.deep.equal(['OVERRIDE_GRANTED', 'SET']);
    expect((await taken(person)).entry).to.include({
      change_delta_days: 7,
      previous_enrollment_date: DAY,
      status_before: 'finalized',
      status_after: 'finalized',
      reason: 'the form was misread',
    });
    const visits = await person.visits();
    const kept = visits.find((v) => v.id === first!.id)!;
    expect(kept).to.include({
      status: 'completed',
      target_date: DAY,
      anchor_reconciled: true,
      completed_at: done.completed_at,
      schedule_version_id: first!.schedule_version_id,
      needs_review: true,
    });
    expect(
      visits.filter((v) => v.visit_key === first!.visit_key),
      'its window is not to do again',
    ).to.have.length(1);
    const superseded = visits.filter((v) => v.schedule_version_id === first!.schedule_version_id);
    expect(superseded).to.have.length(2);
    for (const visit of superseded) {
      expect(visit.anchor_reconciled, visit.name).to.equal(true);
      expect(visit.anchor_reconciled_at, visit.name).to.be.a('string');
    }
    expect(
      visits.filter((v) => v.schedule_version_id !== first!.schedule_version_id).map((v) => v.anchor_reconciled),
      'those of the new version are not',
    ).to.deep.equal([false]);
    const listed = await stage.admin.expect<{ visits: { id: string; carried: boolean }[] }>(
      200,
      'GET',
      `${person.path}/schedule-versions/${body.schedule_version!.id}`,
    );
    expect(listed.visits.filter((v) => v.carried).map((v) => v.id)).to.deep.equal([first!.id]);
  });

  it('override with regenerate_schedule false → the anchor alone, with the warning SCHEDULE_NOT_REGENERATED', async () => {
    const person = await consentless.person();
    await person.set(DAY);
    const { body } = await person.override('2024-03-17', undefined, { regenerate_schedule: false });
    expect(body.warnings.map((w) => w.code)).to.deep.equal(['SCHEDULE_NOT_REGENERATED']);
    const { anchor, current } = await taken(person);
    expect(anchor.enrollment_date).to.equal('2024-03-17');
    expect(current.map((v) => [v.version_number, v.anchor_date_used])).to.deep.equal([[1, DAY]]);
  });

  it('finalized, override_back, with reason → provisional at what the sources give; schedule regenerated; history CHANGED', async () => {
    const person = await consentless.person();
    await person.set(DAY);
    await person.override('2024-03-17');
    const { status, body } = await person.post('/override-back', { reason: 'the override was wrong' });
    expect(status).to.equal(200);
    expect(body).to.include({
      status: 'provisional',
      enrollment_date: DAY,
      source_type: 'manual_entry',
      is_override: false,
      override_reason: null,
      version: 4,
    });
    const { entry, current } = await taken(person);
    expect(entry).to.include({
      event_type: 'CHANGED',
      status_before: 'finalized',
      status_after: 'provisional',
      change_delta_days: -7,
      reason: 'the override was wrong',
    });
    expect(current.map((v) => [v.version_number, v.anchor_date_used])).to.deep.equal([[3, DAY]]);
  });

  it('after override_back the anchor stays provisional, also over a lost workflow and a restart, until evaluate is called', async () => {
    const person = await consentless.person();
    await person.set(DAY);
    await person.post('/override-back', { reason: 'reopened' });
    await stage.handle(person.id).terminate('lost');
    await stage.sql(`insert into outbox (topic, study_id, subject, payload) values ('participant-start', ?, ?, '{}')`, [
      consentless.id,
      person.id,
    ]);
    await stage.sql(`select pg_notify('outbox', '')`);
    await person.settled();
    expect(await person.anchor()).to.include({ status: 'provisional', version: 3 });
    expect((await person.post('/evaluate')).body.result).to.equal('finalized');
    expect(await person.anchor()).to.include({ status: 'finalized', version: 4 });
  });

  it('after override_back a start of the workflow finds a changed source whose message was lost', async () => {
    const person = await consentless.person();
    await person.set(DAY);
    await person.post('/override-back', { reason: 'reopened' });
    await stage.handle(person.id).terminate('lost');
    await stage.sql(
      `insert into consents (study_id, participant_id, status, signed_at) values (?, ?, 'signed', '2024-03-09T10:00:00Z')`,
      [consentless.id, person.id],
    );
    await stage.sql(`insert into outbox (topic, study_id, subject, payload) values ('participant-start', ?, ?, '{}')`, [
      consentless.id,
      person.id,
    ]);
    await stage.sql(`select pg_notify('outbox', '')`);
    await person.becomes({ status: 'finalized', source_type: 'consent_workflow', enrollment_date: '2024-03-09' });
  });

  it('after override_back a message of a withdrawal that there is none of leaves the anchor provisional', async () => {
    const person = await consentless.person();
    await person.set(DAY);
    await person.post('/override-back', { reason: 'reopened' });
    await stage.handle(person.id).signal(withdrawn);
    // The workflow takes one message after the other: this one comes last.
    expect((await person.post('/override', { new_enrollment_date: '2024-03-11', reason: 'x' })).body).to.include({
      code: 'NOT_FINALIZED',
    });
    expect(await person.anchor()).to.include({ status: 'provisional', version: 3 });
  });

  it('after override_back the guards hold for every move until the date is final, not for the first alone', async () => {
    const person = await (await stage.study({ sources: [{ type: 'manual_entry' }] })).person();
    const consent = await person.consent('2024-03-01T10:00:00Z');
    await person.set(DAY);
    await person.post('/override-back', { reason: 'reopened' });
    await stage.admin.expect(200, 'PATCH', `${person.path}/consents/${consent.id}`, { status: 'revoked' });
    await person.settled();
    expect((await person.set('2024-03-12')).body).to.include({ status: 'provisional', enrollment_date: '2024-03-12' });
    await person.form('VISIT', {}, 'signed');
    await person.settled();
    const { status, body } = await person.set('2024-03-14');
    expect([status, body.code]).to.deep.equal([400, 'NOT_ALLOWED_AFTER_SIGNATURE']);
    // Where it stays it becomes final as its prerequisite is met, and an override is refused as it was.
    await person.consent('2024-03-02T10:00:00Z');
    await person.becomes({ status: 'finalized', enrollment_date: '2024-03-12' });
    expect((await person.override('2024-03-14')).body).to.include({ code: 'NOT_ALLOWED_AFTER_SIGNATURE' });
  });

  it('after override_back a changed source finalizes again', async () => {
    const person = await consentless.person();
    await person.set(DAY);
    await person.post('/override-back', { reason: 'reopened' });
    await person.consent(`${DAY}T10:00:00Z`);
    await person.becomes({ status: 'finalized', source_type: 'consent_workflow', version: 5 });
  });

  it('after override_back what changes neither source nor prerequisite leaves the anchor provisional', async () => {
    const study = await stage.study({
      sources: [{ type: 'eligibility_workflow' }],
      prerequisites: { require_consent_signed: false, require_randomization: true },
    });
    const person = await study.person();
    await person.eligible(`${DAY}T10:00:00Z`);
    await stage.admin.expect(201, 'POST', `${person.path}/randomization`, {
      arm: 'A',
      randomized_at: `${DAY}T10:00:00Z`,
    });
    await person.becomes({ status: 'finalized' });
    await person.override('2024-03-17');
    expect((await person.post('/override-back', { reason: 'wrong' })).body).to.include({
      status: 'provisional',
      enrollment_date: DAY,
    });
    await stage.admin.expect(200, 'PATCH', `/api/participants/${person.id}`, { preferred_language: 'fr' });
    await person.form('unrelated', { note: 'x' });
    await person.consent(`${DAY}T10:00:00Z`);
    await person.settled();
    expect(await person.anchor()).to.include({ status: 'provisional', enrollment_date: DAY });
    await person.eligible('2024-03-12T10:00:00Z');
    await person.becomes({ status: 'finalized', enrollment_date: '2024-03-12' });
  });

  it('override_back to a date that the policy does not allow now → 400 with the codes, nothing changes; a date that stays is not judged again', async () => {
    const free = {
      prerequisites: { require_consent_signed: false },
      sources: [{ type: 'manual_entry', priority: 1, is_active: true }],
      permissions: { override_requires_approval: false },
    };
    const study = await stage.study(free);
    const [moved, kept] = [await study.person(), await study.person()];
    for (const person of [moved, kept]) expect((await person.set('2024-03-10')).status).to.equal(200);
    expect((await moved.override('2024-03-20')).status).to.equal(200);
    await study.policy({
      ...free,
      validation: {
        custom_rules: [
          {
            id: 'late',
            name: 'late enough',
            expression: 'candidate.date >= date("2024-03-15")',
            error_message: 'too early',
            severity: 'error',
          },
        ],
      },
    });
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { start_date: '2024-03-12' });
    const [before, versions] = [await moved.anchor(), await moved.versions()];
    const refused = await moved.post('/override-back', { reason: 'the override was wrong' });
    expect([refused.status, refused.body.code], refused.text).to.deep.equal([400, 'VALIDATION_FAILED']);
    expect((refused.body.errors as { code: string }[]).map(({ code }) => code)).to.have.members([
      'BEFORE_STUDY_START',
      'CUSTOM_RULE',
    ]);
    expect(await moved.anchor()).to.deep.equal(before);
    expect(await moved.versions()).to.deep.equal(versions);
    const stays = await kept.post('/override-back', { reason: 'reopened' });
    expect(stays.status, stays.text).to.equal(200);
    expect(await kept.anchor()).to.include({ status: 'provisional', enrollment_date: '2024-03-10' });
  });

  it('override_back where no source gives a date any more → the date before the override', async () => {
    const study = await stage.study({
      sources: [{ type: 'eligibility_workflow' }],
      prerequisites: { require_consent_signed: false },
    });
    const person = await study.person();
    await person.eligible(`${DAY}T10:00:00Z`);
    await person.becomes({ status: 'finalized' });
    await person.override('2024-03-17');
    await stage.admin.expect(200, 'PUT', `${person.path}/eligibility`, { status: 'deferred' });
    await person.settled();
    const { body } = await person.post('/override-back', { reason: 'wrong' });
    expect(body).to.include({ status: 'provisional', enrollment_date: DAY, source_type: 'eligibility_workflow' });
  });

  it('override_back to a partial date that no source gives any more → what was said comes back with it', async () => {
    const study = await stage.study({
      sources: [
        {
          type: 'form_item',
          form_mapping: { form_oid: 'VISIT', item_oid: 'START', partial_date_handling: 'middle_of_month' },
        },
      ],
      prerequisites: { require_consent_signed: false },
    });
    const person = await study.person();
    const form = await person.form('VISIT', { START: '2024-02' });
    const said = {
      enrollment_date: '2024-02-15',
      precision: 'partial_month',
      partial_value: '2024-02',
      source_type: 'form_item',
    };
    await person.becomes({ status: 'finalized', ...said });
    await person.override('2024-03-17');
    await person.override('2024-03-18');
    await stage.admin.expect(200, 'PATCH', `${person.path}/forms/${form.id}`, { items: { START: 'not known' } });
    await person.settled();
    expect((await person.post('/override-back', { reason: 'wrong' })).body).to.include({
      status: 'provisional',
      ...said,
    });
    const [entry] = await person.history();
    expect(
      (await stage.admin.expect(200, 'POST', `${person.path}/anchor-date/decisions/${entry!.id}/rederive`)).same,
    ).to.equal(true);
  });

  it('override, override_back and override of what is not finalized → 409 NOT_FINALIZED', async () => {
    const person = await byHand.person();
    for (const at of ['unset', 'provisional']) {
      expect((await person.override('2024-03-17')).body.code, at).to.equal('NOT_FINALIZED');
      expect((await person.post('/override-back', { reason: 'x' })).body.code, at).to.equal('NOT_FINALIZED');
      expect(
        (await person.post('/override/preview', { new_enrollment_date: '2024-03-17', reason: 'x' })).body.code,
        at,
      ).to.equal('NOT_FINALIZED');
      await person.set(DAY);
    }
  });

  it('the chain of audit records verifies after all of this', async () => {
    for (const study of [byHand, twoSources, consentless, early]) expect(await study.chainVerifies()).to.equal(true);
  });
});
