import { expect } from 'chai';
import type { Loose } from '../support/http.js';
import { until } from '../support/service.js';
import { DAY, Stage } from './stage.js';
import type { AnchorStudy, HistoryView, Person } from './stage.js';

interface DecisionView {
  history_id: string; policy_version: number; policy: Record<string, unknown>; facts: Record<string, unknown> & { anchor: Record<string, unknown> }; command: Record<string, unknown>;
  trace: { sources: { type: string; priority: number; outcome: string; date?: string; reason?: string }[]; validation: { rule: string; passed: boolean }[]; prerequisites: { name: string; met: boolean }[] };
  decision: Record<string, unknown>; actor_user_id: string | null; approver_user_id: string | null;
}
interface AgainView { same: boolean; decision: Record<string, unknown> | null; differences: string[] }

describe('decisions: what was known, by whose rule, and made again', function () {
  let stage: Stage;
  let plain: AnchorStudy;
  let approved: AnchorStudy;
  before(async () => {
    stage = await Stage.open();
    [plain, approved] = await Promise.all([
      stage.study(),
      stage.study({
        sources: [{ type: 'form_item', form_mapping: { form_oid: 'ENROL', item_oid: 'ON' } }, { type: 'computed_rule', computed_rule: { expression: 'addDays(consent.date, 3)' } }, { type: 'manual_entry' }],
        permissions: { override_requires_approval: true, can_override: ['coordinator'], override_approver_roles: ['researcher'] },
        validation: { custom_rules: [{ id: 'weekday', name: 'On a weekday', expression: 'dayOfWeek(candidate.date) < 6', error_message: 'falls on a weekend', severity: 'warning' }] },
      }),
    ]);
  });
  after(() => stage.close());

  const decisionOf = (person: Person, entry: { id: string }) => stage.admin.expect<DecisionView>(200, 'GET', `${person.path}/anchor-date/decisions/${entry.id}`);
  const again = (person: Person, entry: { id: string }) => stage.admin.expect<AgainView>(200, 'POST', `${person.path}/anchor-date/decisions/${entry.id}/rederive`);
  /** Changes what is stored as only the database's owner can, with the guard of the table switched off. */
  const tamper = async (entry: { id: string }, column: string, path: string, value: unknown) => {
    await stage.sql('alter table anchor_decisions disable trigger insert_only');
    try {
      await stage.sql(`update anchor_decisions set ${column} = jsonb_set(${column}, ?::text[], ?::jsonb) where history_id = ?`, [path, JSON.stringify(value), entry.id]);
    } finally {
      await stage.sql('alter table anchor_decisions enable trigger insert_only');
    }
  };
  const allSame = async (person: Person): Promise<HistoryView[]> => {
    const history = await person.history();
    for (const entry of history) {
      const { same, differences, decision } = await again(person, entry);
      expect({ same, differences }, `${entry.event_type} (version ${entry.anchor_version})`).to.deep.equal({ same: true, differences: [] });
      expect(decision).to.deep.equal((await decisionOf(person, entry)).decision);
      expect(decision).to.include({ event_type: entry.event_type, status_before: entry.status_before, status_after: entry.status_after, delta_days: entry.change_delta_days });
    }
    return history.reverse();
  };

  it('tells source by source what was tried, which rule passed, what was still missing', async () => {
    const person = await plain.person();
    await person.set(DAY);
    const [proposed] = await person.history();
    const view = await decisionOf(person, proposed!);
    expect(view).to.include({ history_id: proposed!.id, policy_version: 1, actor_user_id: stage.admin.userId, approver_user_id: null });
    expect(view.policy).to.have.nested.property('multi_consent.anchor_consent', 'first');
    expect(view.command).to.deep.equal({ kind: 'set', enrollment_date: DAY, entry: 0 });
    expect(view.trace.sources).to.deep.equal([
      { type: 'consent_workflow', priority: 1, outcome: 'no_date', reason: 'no signed consent' },
      { type: 'manual_entry', priority: 2, outcome: 'chosen', date: DAY },
    ]);
    expect(view.trace.validation).to.deep.equal([{ rule: 'cannot_be_future', passed: true }]);
    expect(view.trace.prerequisites).to.deep.equal([{ name: 'consent', met: false }]);
    expect(view.facts.anchor).to.include({ status: 'unset', version: 1, date: null });
    expect(view.facts).to.deep.include({ manual: { enrollment_date: DAY, entered_by_user_id: stage.admin.userId }, consents: [] });
    expect(view.decision).to.include({ event_type: 'PROPOSED', status_before: 'unset', status_after: 'provisional' });
  });

  it('holds nothing of a person beyond what the rules read', async () => {
    const person = await plain.person({ email: 'anna@example.org', phone: '+49 30 1', date_of_birth: '1960-02-03' });
    await person.form('DIARY', { SECRET: 'nobody reads this' });
    await person.set(DAY);
    const text = JSON.stringify(await decisionOf(person, (await person.history())[0]!));
    for (const word of ['anna@', '+49 30', '1960-02-03', 'nobody reads this']) expect(text).not.to.include(word);
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
      ['PROPOSED', 'provisional'], ['CHANGED', 'unset'], ['PROPOSED', 'provisional'], ['CHANGED', 'provisional'], ['CHANGED', 'provisional'], ['FINALIZED', 'finalized'],
    ]);
    const [changed, finalized] = [await decisionOf(person, history[4]!), await decisionOf(person, history[5]!)];
    expect([changed.command, finalized.command]).to.deep.equal([{ kind: 'evaluate', entry: 0 }, { kind: 'evaluate', entry: 1 }]);
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
    expect(await Promise.all(history.map(async (h) => (await decisionOf(person, h)).command.kind))).to.deep.equal(['set', 'override', 'override_back', 'evaluate']);
    expect((await decisionOf(person, history[1]!)).command).to.deep.include({ requested_by: stage.admin.userId, new_enrollment_date: '2024-03-20', regenerate_schedule: true });
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
    expect(history.map((h) => h.event_type)).to.deep.equal(['SET', 'OVERRIDE_REQUESTED', 'OVERRIDE_DENIED', 'OVERRIDE_REQUESTED', 'OVERRIDE_GRANTED']);
    const views = await Promise.all(history.map((h) => decisionOf(person, h)));
    expect(views.map((v) => v.approver_user_id)).to.deep.equal([null, null, decides.userId, null, decides.userId]);
    expect(views[0]!.trace.sources.map((s) => [s.type, s.outcome, s.date])).to.deep.equal([
      ['form_item', 'no_date', undefined], ['computed_rule', 'chosen', '2024-03-04'], ['manual_entry', 'not_reached', undefined],
    ]);
    expect(views[4]!.trace.validation).to.deep.include({ rule: 'weekday', passed: false });
    expect(views[4]!.command).to.deep.include({ kind: 'decide_override', decision: 'approve', requested_by: asks.userId, override_request_id: second });
  });

  it('keeps the policy of the time: a later version changes nothing of an older decision', async () => {
    const study = await stage.study({ sources: [{ type: 'manual_entry' }], validation: { max_days_from_consent: 30 } }, { fields: { consent_mode: 'external' } });
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
    const study = await stage.study({ sources: [{ type: 'consent_workflow' }], multi_consent: { anchor_consent: 'first' }, prerequisites: { require_eligibility_confirmed: true } });
    const person = await study.person();
    await person.consent('2024-03-01T09:00:00Z');
    await person.consent('2024-03-08T09:00:00Z');
    await person.becomes({ status: 'provisional', enrollment_date: '2024-03-01' });
    await study.policy({ sources: [{ type: 'consent_workflow' }], multi_consent: { anchor_consent: 'latest', reconsent_updates_anchor: true } });
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
      ['a fact that the decision hangs on', 'facts', '{consents,0,signed_at}', '2024-03-06T09:00:00.000000Z', ['decision', 'trace', 'snapshot']],
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
      for (const [column, path] of [['facts', '{manual,enrollment_date}'], ['command', '{enrollment_date}'], ['decision', '{value,date}'], ['trace', '{sources,1,date}']] as const) {
        await tamper(proposed, column, path, '2024-03-09');
      }
      expect(await again(person, proposed)).to.deep.include({ same: false, differences: ['snapshot'] });
    });

    it('a policy version that was rewritten', async () => {
      const study = await stage.study({ sources: [{ type: 'manual_entry' }] });
      const person = await study.person();
      await person.set(DAY);
      await stage.sql(`update enrollment_policies set policy = jsonb_set(policy, '{prerequisites,require_consent_signed}', 'false') where study_id = ?`, [study.id]);
      const { same, differences, decision } = await again(person, (await person.history())[0]!);
      expect({ same, differences }).to.deep.equal({ same: false, differences: ['decision', 'trace', 'snapshot'] });
      expect(decision).to.include({ event_type: 'SET', status_after: 'finalized' });
    });
  });

  it('an entry of somebody else, of another study or of nobody is 404', async () => {
    const [one, two] = [await plain.person(), await plain.person()];
    await one.set(DAY);
    const entry = (await one.history())[0]!;
    const elsewhere = await approved.as('researcher');
    for (const suffix of ['', '/rederive']) {
      const send = (path: string, by = stage.admin) => (suffix === '' ? by.get<Loose>(path) : by.post<Loose>(path + suffix));
      expect((await send(`${two.path}/anchor-date/decisions/${entry.id}`)).status).to.equal(404);
      expect((await send(`${one.path}/anchor-date/decisions/${one.id}`)).status).to.equal(404);
      expect((await send(`${one.path}/anchor-date/decisions/first`)).status).to.equal(404);
      expect((await send(`${one.path}/anchor-date/decisions/${entry.id}`, elsewhere)).status).to.equal(404);
    }
  });

  it('the digest of each decision stands in the audit chain, which verifies', async () => {
    const person = await plain.person();
    await person.set(DAY);
    const records = await until(async () => (await plain.audit('anchor_proposed')).filter((r) => r.resource_id === person.id));
    expect(records[0]!.audit_metadata.decision_hash).to.match(/^[0-9a-f]{64}$/);
    expect(await plain.chainVerifies()).to.equal(true);
  });
});
