import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { StudyDocument } from '../../db/exports/full-study/document.js';
import { dateIn } from '../../workflows/domain/util/dates.js';
import { unique } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { until } from '../support/service.js';
import { codecOf, opened } from '../support/temporal.js';
import { textOf, tracesIn } from '../security/traces-of.js';
import { AnchorStudy, DAY, Person, Stage } from './stage.js';
import type { HistoryView } from './stage.js';

interface DecisionView {
  history_id: string;
  policy_version: number;
  policy: Record<string, unknown>;
  facts: Record<string, unknown> & { anchor: Record<string, unknown> };
  command: Record<string, unknown>;
  trace: {
    sources: { type: string; priority: number; outcome: string; date?: string; reason?: string }[];
    validation: { rule: string; passed: boolean }[];
    prerequisites: { name: string; met: boolean }[];
  };
  decision: Record<string, unknown>;
  actor_user_id: string | null;
  approver_user_id: string | null;
}
interface AgainView {
  same: boolean;
  decision: Record<string, unknown> | null;
  differences: string[];
}

const SITE_ZONE = 'Europe/Berlin';

describe('decisions: what was known, by whose rule, and made again', function () {
  let stage: Stage;
  let plain: AnchorStudy;
  let approved: AnchorStudy;
  before(async () => {
    stage = await Stage.open();
    [plain, approved] = await Promise.all([
      stage.study(),
      stage.study({
        sources: [
          { type: 'form_item', form_mapping: { form_oid: 'ENROL', item_oid: 'ON' } },
          { type: 'computed_rule', computed_rule: { expression: 'addDays(consent.date, 3)' } },
          { type: 'manual_entry' },
        ],
        permissions: {
          override_requires_approval: true,
          can_override: ['coordinator'],
          override_approver_roles: ['researcher'],
        },
        validation: {
          custom_rules: [
            {
              id: 'weekday',
              name: 'On a weekday',
              expression: 'dayOfWeek(candidate.date) < 6',
              error_message: 'falls on a weekend',
              severity: 'warning',
            },
          ],
        },
      }),
    ]);
  });
  after(() => stage.close());

  const decisionOf = (person: Person, entry: { id: string }) =>
    stage.admin.expect<DecisionView>(200, 'GET', `${person.path}/anchor-date/decisions/${entry.id}`);
  const again = (person: Person, entry: { id: string }) =>
    stage.admin.expect<AgainView>(200, 'POST', `${person.path}/anchor-date/decisions/${entry.id}/rederive`);
  /** Changes what is stored as only the database's owner can, with the guard of the table switched off. */
  const tamper = async (entry: { id: string }, column: string, path: string, value: unknown) => {
    await stage.sql('alter table anchor_decisions disable trigger insert_only');
    try {
      await stage.sql(
        `update anchor_decisions set ${column} = jsonb_set(${column}, ?::text[], ?::jsonb) where history_id = ?`,
        [path, JSON.stringify(value), entry.id],
      );
    } finally {
      await stage.sql('alter table anchor_decisions enable trigger insert_only');
    }
  };
  /** Today in the zone of the person's site. */
  const yearsSince = (day: string) => {
    const today = dateIn(new Date().toISOString(), SITE_ZONE);
    return Number(today.slice(0, 4)) - Number(day.slice(0, 4)) - (today.slice(5) < day.slice(5) ? 1 : 0);
  };
  const allSame = async (person: Person): Promise<HistoryView[]> => {
    const history = await person.history();
    for (const entry of history) {
      const { same, differences, decision } = await again(person, entry);
      expect({ same, differences }, `${entry.event_type} (version ${entry.anchor_version})`).to.deep.equal({
        same: true,
        differences: [],
      });
      expect(decision).to.deep.equal((await decisionOf(person, entry)).decision);
      expect(decision).to.include({
        event_type: entry.event_type,
        status_before: entry.status_before,
        status_after: entry.status_after,
        delta_days: entry.change_delta_days,
      });
    }
    return history.reverse();
  };

  it('tells source by source what was tried, which rule passed, what was still missing', async () => {
    const person = await plain.person();
    await person.set(DAY);
    const [proposed] = await person.history();
    const view = await decisionOf(person, proposed!);
    expect(view).to.include({
      history_id: proposed!.id,
      policy_version: 1,
      actor_user_id: stage.admin.userId,
      approver_user_id: null,
    });
    expect(view.policy).to.have.nested.property('multi_consent.anchor_consent', 'first');
    expect(view.command).to.deep.equal({ kind: 'set', enrollment_date: DAY, entry: 0 });
    expect(view.trace.sources).to.deep.equal([
      { type: 'consent_workflow', priority: 1, outcome: 'no_date', reason: 'no signed consent' },
      { type: 'manual_entry', priority: 2, outcome: 'chosen', date: DAY },
    ]);
    expect(view.trace.validation).to.deep.equal([{ rule: 'cannot_be_future', passed: true }]);
    expect(view.trace.prerequisites).to.deep.equal([{ name: 'consent', met: false }]);
    expect(view.facts.anchor).to.include({ status: 'unset', version: 1, date: null });
    expect(view.facts).to.deep.include({
      manual: { enrollment_date: DAY, entered_by_user_id: stage.admin.userId },
      consents: [],
    });
    expect(view.decision).to.include({ event_type: 'PROPOSED', status_before: 'unset', status_after: 'provisional' });
  });

  it('holds nothing of a person beyond what the rules read', async () => {
    const person = await plain.person({ email: 'anna@example.org', phone: '+49 30 1', date_of_birth: '1960-02-03' });
    await person.form('DIARY', { SECRET: 'nobody reads this' });
    await person.set(DAY);
    const text = JSON.stringify(await decisionOf(person, (await person.history())[0]!));
    for (const word of ['anna@', '+49 30', '1960-02-03', 'nobody reads this']) expect(text).not.to.include(word);
  });

  describe('of a person and its randomization', () => {
    const known = { site_code: 'BER', preferred_language: 'pt-BR', date_of_birth: '1960-02-03' };
    const rule = (expression: string) => ({ id: 'r', name: 'R', expression, error_message: 'no', severity: 'warning' });
    const decided = async (policy: Record<string, unknown>) => {
      const study = await stage.study({ sources: [{ type: 'manual_entry' }, { type: 'randomization' }], ...policy });
      await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, {
        site_code: 'BER',
        timezone: SITE_ZONE,
      });
      const person = await study.person(known);
      await stage.admin.expect(201, 'POST', `${person.path}/randomization`, {
        arm: 'ARM-GIVEN',
        randomized_at: '2024-03-02T10:00:00Z',
      });
      await person.set(DAY);
      await person.consent('2024-03-05T09:00:00Z');
      await person.becomes({ status: 'finalized' });
      const views = await Promise.all((await allSame(person)).map((entry) => decisionOf(person, entry)));
      return { person, views, facts: views.at(-1)!.facts as unknown as { participant: Loose; randomization: Loose } };
    };

    it('a policy without expressions: its status, and when it was randomized; neither in the record nor in Temporal’s history', async () => {
      const { person, views, facts } = await decided({
        prerequisites: { require_consent_signed: true, require_randomization: true },
      });
      expect(facts.participant).to.deep.equal({ status: 'enrolled' });
      expect(Object.keys(facts.randomization)).to.have.members(['id', 'randomized_at']);
      await person.settled();
      const words = ['ARM-GIVEN', known.preferred_language, 'age_years', 'site_code'].map((word) => ({
        name: word,
        word,
      }));
      expect(tracesIn('decisions', JSON.stringify(views), words)).to.deep.equal([]);
      const history = textOf(await opened(await stage.handle(person.id).fetchHistory(), codecOf(stage.run)));
      expect(history).to.include('randomized_at');
      expect(tracesIn('history', history, words)).to.deep.equal([]);
    });

    it('what its expressions name, wherever they stand, and nothing beside', async () => {
      const { facts } = await decided({
        sources: [
          {
            type: 'computed_rule',
            is_active: false,
            computed_rule: { expression: 'participant.arm == "X" ? study.today : consent.date' },
          },
          { type: 'manual_entry' },
        ],
        prerequisites: { require_consent_signed: true, custom_rule: 'has(participant.age_years)' },
        validation: { custom_rules: [rule('[1].exists(i, participant["site_code"] == "BER")')] },
      });
      expect(facts.participant).to.deep.equal({
        status: 'enrolled',
        arm: 'ARM-GIVEN',
        age_years: yearsSince(known.date_of_birth),
        site_code: 'BER',
      });
      expect(facts.randomization).not.to.have.property('arm');
      const other = await decided({
        validation: {
          custom_rules: [rule('randomization.arm == "ARM-GIVEN" && participant.preferred_language == "pt-BR"')],
        },
      });
      expect(other.facts.participant).to.deep.equal({ status: 'enrolled', preferred_language: 'pt-BR' });
      expect(other.facts.randomization).to.include({ arm: 'ARM-GIVEN' });
      expect(other.views.at(-1)!.trace.validation).to.deep.include({ rule: 'r', passed: true });
    });

    it('all that there is for an expression that takes it as a whole', async () => {
      const { facts, views } = await decided({
        validation: { custom_rules: [rule('dyn(participant)["arm"] == [randomization].map(x, x.arm)[0]')] },
      });
      expect(facts.participant).to.deep.equal({
        status: 'enrolled',
        site_code: 'BER',
        arm: 'ARM-GIVEN',
        preferred_language: 'pt-BR',
        age_years: yearsSince(known.date_of_birth),
      });
      expect(facts.randomization).to.include({ arm: 'ARM-GIVEN' });
      expect(views.at(-1)!.trace.validation).to.deep.include({ rule: 'r', passed: true });
    });

    it('an earlier snapshot, which has more in it, is made again as it was', async () => {
      const { person } = await decided({});
      for (const entry of await person.history()) {
        await tamper(entry, 'facts', '{participant}', {
          status: 'enrolled',
          site_code: 'BER',
          arm: 'ARM-GIVEN',
          preferred_language: 'pt-BR',
          age_years: 64,
        });
        await tamper(entry, 'facts', '{randomization,arm}', 'ARM-GIVEN');
        // It is not what was sealed; what follows from it is the same.
        expect((await again(person, entry)).differences).to.deep.equal(['snapshot']);
      }
    });
  });

  it('set, changed and final in one command, final by itself, cancelled: all made again as they were', async () => {
    const person = await plain.person();
    await person.set(DAY);
    await stage.admin.expect(200, 'POST', `${person.path}/anchor-date/cancel`, { reason: 'a slip' });
    await person.set('2024-03-11');
    await person.set('2024-03-12');
    await person.consent('2024-03-05T09:00:00Z');
    await person.becomes({ status: 'finalized' });
    const history = await allSame(person);
    expect(history.map((h) => [h.event_type, h.status_after])).to.deep.equal([
      ['PROPOSED', 'provisional'],
      ['CHANGED', 'unset'],
      ['PROPOSED', 'provisional'],
      ['CHANGED', 'provisional'],
      ['CHANGED', 'provisional'],
      ['FINALIZED', 'finalized'],
    ]);
    const [changed, finalized] = [await decisionOf(person, history[4]!), await decisionOf(person, history[5]!)];
    expect([changed.command, finalized.command]).to.deep.equal([
      { kind: 'evaluate', entry: 0 },
      { kind: 'evaluate', entry: 1 },
    ]);
    expect(finalized.facts).to.deep.equal(changed.facts);
  });

  it('an override at once and its undoing are made again', async () => {
    const study = await stage.study({}, { fields: { consent_mode: 'external' } });
    const person = await study.person();
    await person.set(DAY);
    await person.override('2024-03-20');
    await person.post('/override-back', { reason: 'it was right before' });
    await person.post('/evaluate');
    const history = await allSame(person);
    expect(history.map((h) => h.event_type)).to.deep.equal(['SET', 'OVERRIDE_GRANTED', 'CHANGED', 'FINALIZED']);
    expect(await Promise.all(history.map(async (h) => (await decisionOf(person, h)).command.kind))).to.deep.equal([
      'set',
      'override',
      'override_back',
      'evaluate',
    ]);
    expect((await decisionOf(person, history[1]!)).command).to.deep.include({
      requested_by: stage.admin.userId,
      new_enrollment_date: '2024-03-20',
      regenerate_schedule: true,
    });
  });

  it('an override asked for, denied, asked again, approved: with the approver, and made again', async () => {
    const [asks, decides] = [await approved.as('coordinator'), await approved.as('researcher')];
    const person = await approved.person();
    await person.consent('2024-03-01T22:30:00Z');
    await person.becomes({ status: 'finalized', enrollment_date: '2024-03-04' });
    const first = (await person.override('2024-03-09', asks)).body.override_request_id;
    await person.decide(first, 'deny', decides);
    const second = (await person.override('2024-03-16', asks)).body.override_request_id;
    expect((await person.decide(second, 'approve', decides)).status).to.equal(200);
    const history = await allSame(person);
    expect(history.map((h) => h.event_type)).to.deep.equal([
      'SET',
      'OVERRIDE_REQUESTED',
      'OVERRIDE_DENIED',
      'OVERRIDE_REQUESTED',
      'OVERRIDE_GRANTED',
    ]);
    const views = await Promise.all(history.map((h) => decisionOf(person, h)));
    expect(views.map((v) => v.approver_user_id)).to.deep.equal([null, null, decides.userId, null, decides.userId]);
    expect(views[0]!.trace.sources.map((s) => [s.type, s.outcome, s.date])).to.deep.equal([
      ['form_item', 'no_date', undefined],
      ['computed_rule', 'chosen', '2024-03-04'],
      ['manual_entry', 'not_reached', undefined],
    ]);
    expect(views[4]!.trace.validation).to.deep.include({ rule: 'weekday', passed: false });
    expect(views[4]!.command).to.deep.include({
      kind: 'decide_override',
      decision: 'approve',
      requested_by: asks.userId,
      override_request_id: second,
    });
  });

  it('keeps the policy of the time: a later version changes nothing of an older decision', async () => {
    const study = await stage.study(
      { sources: [{ type: 'manual_entry' }], validation: { max_days_from_consent: 30 } },
      { fields: { consent_mode: 'external' } },
    );
    const person = await study.person();
    await person.set(DAY);
    await study.policy({ sources: [{ type: 'consent_workflow' }] });
    const [entry] = await person.history();
    const view = await decisionOf(person, entry!);
    expect(view.policy_version).to.equal(1);
    expect(view.policy).to.have.nested.property('validation.max_days_from_consent', 30);
    expect(await again(person, entry!)).to.include({ same: true });
  });

  it('a study’s change is made again as the batch had it', async () => {
    const study = await stage.study({
      sources: [{ type: 'consent_workflow' }],
      multi_consent: { anchor_consent: 'first' },
      prerequisites: { require_eligibility_confirmed: true },
    });
    const person = await study.person();
    await person.consent('2024-03-01T09:00:00Z');
    await person.consent('2024-03-08T09:00:00Z');
    await person.becomes({ status: 'provisional', enrollment_date: '2024-03-01' });
    await study.policy({
      sources: [{ type: 'consent_workflow' }],
      multi_consent: { anchor_consent: 'latest', reconsent_updates_anchor: true },
    });
    await person.becomes({ status: 'finalized', enrollment_date: '2024-03-08' });
    const history = await allSame(person);
    const last = await decisionOf(person, history.at(-1)!);
    expect(last.policy_version).to.equal(2);
    expect(last.command).to.deep.include({ kind: 'evaluate', entry: 1 });
  });

  describe('what was changed behind the service’s back is found', () => {
    const finalized = async () => {
      const person = await plain.person();
      await person.set(DAY);
      await person.consent('2024-03-05T09:00:00Z');
      await person.becomes({ status: 'finalized' });
      return { person, entries: (await person.history()).reverse() };
    };
    const cases: [name: string, column: string, path: string, value: unknown, differences: string[]][] = [
      [
        'a fact that the decision hangs on',
        'facts',
        '{consents,0,signed_at}',
        '2024-03-06T09:00:00.000000Z',
        ['decision', 'trace', 'snapshot'],
      ],
      ['a fact that it does not hang on', 'facts', '{participant,preferred_language}', 'fr', ['snapshot']],
      ['the anchor as it was before', 'facts', '{anchor,date}', '2024-03-04', ['decision', 'snapshot']],
      ['the decision', 'decision', '{value,date}', '2024-03-06', ['decision', 'snapshot']],
      ['the trace', 'trace', '{prerequisites,0,met}', false, ['trace', 'snapshot']],
      ['the place of the entry', 'command', '{entry}', 1, ['decision', 'snapshot']],
      ['a snapshot that is none any more', 'facts', '{consents}', 7, ['decision', 'trace', 'snapshot']],
      ['a date that is none', 'facts', '{anchor,date}', 'soon', ['decision', 'trace', 'snapshot']],
    ];
    for (const [name, column, path, value, differences] of cases) {
      it(name, async () => {
        const { person, entries } = await finalized();
        const changed = entries.find((e) => e.event_type === 'CHANGED')!;
        expect(await again(person, changed)).to.include({ same: true });
        await tamper(changed, column, path, value);
        expect(await again(person, changed)).to.deep.include({ same: false, differences });
        expect(await again(person, entries.at(-1)!), 'the entry beside it').to.include({ same: true });
      });
    }

    it('a decision whose facts and outcome were both made to fit', async () => {
      const { person, entries } = await finalized();
      const proposed = entries[0]!;
      for (const [column, path] of [
        ['facts', '{manual,enrollment_date}'],
        ['command', '{enrollment_date}'],
        ['decision', '{value,date}'],
        ['trace', '{sources,1,date}'],
      ] as const) {
        await tamper(proposed, column, path, '2024-03-09');
      }
      expect(await again(person, proposed)).to.deep.include({ same: false, differences: ['snapshot'] });
    });

    it('a policy version that was rewritten', async () => {
      const study = await stage.study({ sources: [{ type: 'manual_entry' }] });
      const person = await study.person();
      await person.set(DAY);
      await stage.sql(
        `update enrollment_policies set policy = jsonb_set(policy, '{prerequisites,require_consent_signed}', 'false') where study_id = ?`,
        [study.id],
      );
      const { same, differences, decision } = await again(person, (await person.history())[0]!);
      expect({ same, differences }).to.deep.equal({ same: false, differences: ['decision', 'trace', 'snapshot'] });
      expect(decision).to.include({ event_type: 'SET', status_after: 'finalized' });
    });
  });

  describe('what came with a full import', () => {
    let original: AnchorStudy, copy: AnchorStudy;
    /** One with a date entered by hand, one of whom nothing was decided. */
    let set: Person, fresh: Person;
    let people: { from: Person; to: Person }[];
    before(async () => {
      original = await stage.study({
        sources: [
          { type: 'form_item', form_mapping: { form_oid: 'ENROL', item_oid: 'ON' } },
          { type: 'computed_rule', computed_rule: { expression: 'addDays(consent.date, 3)' } },
          { type: 'manual_entry' },
        ],
        permissions: {
          override_requires_approval: true,
          can_override: ['coordinator'],
          override_approver_roles: ['researcher'],
        },
      });
      const [asks, decides] = [await original.as('coordinator'), await original.as('researcher')];
      const one = await original.person();
      set = await original.person();
      fresh = await original.person();
      await one.consent('2024-03-01T09:00:00Z');
      await one.becomes({ status: 'finalized', enrollment_date: '2024-03-04' });
      await one.decide((await one.override('2024-03-09', asks)).body.override_request_id, 'approve', decides);
      await set.form('ENROL', { ON: '2024-03-05' });
      await set.becomes({ status: 'provisional', enrollment_date: '2024-03-05' });
      await original.policy({ sources: [{ type: 'manual_entry' }], permissions: { can_override: ['coordinator'] } });
      await set.set('2024-03-06');
      copy = await copyOf(original);
      people = await counterparts(original, copy);
      expect(await Promise.all(people.map(async ({ to }) => (await to.history()).length))).to.have.members([3, 2, 0]);
    });
    const documentOf = (study: AnchorStudy) =>
      stage.admin.expect<StudyDocument>(200, 'GET', `/api/exports/studies/${study.id}/full`);
    const copyOf = async (study: AnchorStudy): Promise<AnchorStudy> => loaded(await documentOf(study));
    const loaded = async (document: StudyDocument): Promise<AnchorStudy> => {
      const { study_id } = await stage.admin.expect<{ study_id: string }>(
        201,
        'POST',
        `/api/studies/import/full?study_code=${unique('COPY')}&study_name=A%20copy`,
        document,
      );
      return new AnchorStudy(stage, study_id);
    };
    const peopleOf = async (study: AnchorStudy) =>
      (
        await stage.admin.expect<{ items: (Loose & { id: string })[] }>(
          200,
          'GET',
          `/api/studies/${study.id}/participants`,
        )
      ).items;
    const counterparts = async (from: AnchorStudy, to: AnchorStudy) => {
      const there = await peopleOf(to);
      return (await peopleOf(from)).map(({ id, participant_code }) => ({
        from: new Person(from, id),
        to: new Person(to, there.find((p) => p.participant_code === participant_code)!.id),
      }));
    };

    it('is made again as it was, under its own ids', async () => {
      for (const { from, to } of people) {
        const [originals, copies] = [await allSame(from), await allSame(to)];
        expect(copies.map((h) => [h.event_type, h.status_after, h.enrollment_date_value])).to.deep.equal(
          originals.map((h) => [h.event_type, h.status_after, h.enrollment_date_value]),
        );
        expect(copies.filter(({ id }) => originals.some((h) => h.id === id))).to.deep.equal([]);
      }
    });

    it('also from a copy of the copy', async () => {
      for (const { to } of await counterparts(copy, await copyOf(copy))) await allSame(to);
    });

    it('has its digests in the new study’s chain, one record a participant, by who imported it', async () => {
      const records = await copy.audit('decisions_imported');
      const entries = new Map(
        await Promise.all(people.map(async ({ to }) => [to.id, (await to.history()).map(({ id }) => id)] as const)),
      );
      expect(records.map(({ resource_id }) => resource_id)).to.have.members(
        [...entries].filter(([, ids]) => ids.length > 0).map(([id]) => id),
      );
      for (const { resource_id, user_id, audit_metadata } of records) {
        expect(user_id).to.equal(stage.admin.userId);
        expect(Object.keys(audit_metadata.decision_hashes as object)).to.have.members(entries.get(resource_id)!);
      }
      expect(await copy.chainVerifies()).to.equal(true);
    });

    it('a history longer than one record holds is sealed in several', async () => {
      const document = await documentOf(original);
      const { anchor_date_history: history = [], anchor_decisions: decisions = [] } = document.tables;
      const entry = history.find(({ participant_id }) => participant_id === set.id)!;
      const decision = decisions.find(({ history_id }) => history_id === entry.id)!;
      const ids = Array.from({ length: 600 }, () => randomUUID());
      history.push(...ids.map((id) => ({ ...entry, id })));
      decisions.push(...ids.map((id) => ({ ...decision, history_id: id })));
      const long = await loaded(document);
      const { to } = (await counterparts(original, long)).find(({ from }) => from.id === set.id)!;
      const sizes = (await long.audit('decisions_imported'))
        .filter(({ resource_id }) => resource_id === to.id)
        .map(({ audit_metadata }) => Object.keys(audit_metadata.decision_hashes as object).length);
      expect(sizes).to.deep.equal([250, 250, 102]);
      const entries = await stage.sql<{ id: string }>(
        'select id from anchor_date_history where participant_id = ? order by seq',
        [to.id],
      );
      for (const at of [0, 249, 250, 499, 500, 601])
        expect(await again(to, entries[at]!), `entry ${at}`).to.include({ same: true });
    });

    it('what the copy decides from then on is sealed as any decision is', async () => {
      const { to } = people.find(({ from }) => from.id === fresh.id)!;
      await to.consent('2024-03-02T09:00:00Z');
      await to.set(DAY);
      await to.becomes({ status: 'finalized' });
      expect(await allSame(to)).not.to.deep.equal([]);
    });

    it('a snapshot or a decision that the database’s owner changed afterwards is found, and only that', async () => {
      const { to } = (await counterparts(original, await copyOf(original))).find(({ from }) => from.id === set.id)!;
      const [last, first] = await to.history();
      const found: unknown[] = [];
      for (const [column, path, value] of [
        ['facts', '{participant,preferred_language}', 'fr'],
        ['decision', '{value,date}', '2024-03-07'],
        ['facts', '{manual,enrollment_date}', '2024-03-07'],
      ] as const) {
        await tamper(last!, column, path, value);
        found.push((await again(to, last!)).differences);
        expect(await again(to, last!)).to.include({ same: false });
      }
      expect(found).to.deep.equal([['snapshot'], ['decision', 'snapshot'], ['decision', 'trace', 'snapshot']]);
      expect(await again(to, first!), 'the entry beside it').to.include({ same: true });
    });
  });

  it('an entry of somebody else, of another study or of nobody is 404', async () => {
    const [one, two] = [await plain.person(), await plain.person()];
    await one.set(DAY);
    const entry = (await one.history())[0]!;
    const elsewhere = await approved.as('researcher');
    for (const suffix of ['', '/rederive']) {
      const send = (path: string, by = stage.admin) =>
        suffix === '' ? by.get<Loose>(path) : by.post<Loose>(path + suffix);
      expect((await send(`${two.path}/anchor-date/decisions/${entry.id}`)).status).to.equal(404);
      expect((await send(`${one.path}/anchor-date/decisions/${one.id}`)).status).to.equal(404);
      expect((await send(`${one.path}/anchor-date/decisions/first`)).status).to.equal(404);
      expect((await send(`${one.path}/anchor-date/decisions/${entry.id}`, elsewhere)).status).to.equal(404);
    }
  });

  it('the digest of each decision stands in the audit chain, which verifies', async () => {
    const person = await plain.person();
    await person.set(DAY);
    const record = await until(async () =>
      (await plain.audit('anchor_proposed')).find((r) => r.resource_id === person.id),
    );
    expect(record.audit_metadata.decision_hash).to.match(/^[0-9a-f]{64}$/);
    expect(await plain.chainVerifies()).to.equal(true);
  });
});
