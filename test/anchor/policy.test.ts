import { expect } from 'chai';
import type { Http, Loose } from '../support/http.js';
import { newStudy, unique } from '../support/http.js';
import { until } from '../support/service.js';
import { DAY, Stage } from './stage.js';
import type { AnchorStudy, Person } from './stage.js';

interface DryRunView {
  dry_run: boolean;
  policy: Record<string, unknown>;
  total: number;
  would_change: number;
  counts: Record<string, number>;
  schedules_regenerated: number;
  examples: Record<string, string[]>;
}
interface ProgressView {
  change_id: string;
  status: string;
  seen: number;
  total: number;
  moved: number;
  schedules: number;
}

const source = (type: string, more: Record<string, unknown> = {}) => ({ type, ...more });
const form = (item = 'ON') => source('form_item', { form_mapping: { form_oid: 'F', item_oid: item } });
const rule = (expression: unknown) => source('computed_rule', { computed_rule: { expression } });
const check = (expression: unknown, id = 'r') => ({
  validation: { custom_rules: [{ id, name: 'a rule', expression, error_message: 'broken', severity: 'error' }] },
});

/** Wrong policies: what is wrong, the policy, the path that the fault names, its code, and words of its message. */
const WRONG: [name: string, policy: unknown, path: string, code: string, words?: RegExp][] = [
  ['not an object', [], 'body', 'TYPE'],
  ['an unknown section', { sauces: [] }, 'sauces', 'UNKNOWN_FIELD'],
  [
    'an unknown field in a section',
    { prerequisites: { require_luck: true } },
    'prerequisites.require_luck',
    'UNKNOWN_FIELD',
  ],
  ['an unknown anchor type', { anchor_type: 'birth' }, 'anchor_type', 'ENUM'],
  [
    'an unknown role that sets',
    { permissions: { can_set: ['admin', 'nurse'] } },
    'permissions.can_set.1',
    'ENUM',
    /admin, researcher/,
  ],
  [
    'an unknown role that approves',
    { permissions: { override_approver_roles: ['boss'] } },
    'permissions.override_approver_roles.0',
    'ENUM',
  ],
  [
    'a role named twice',
    { permissions: { can_override: ['admin', 'admin'] } },
    'permissions.can_override',
    'UNIQUE_ITEMS',
  ],
  ['an unknown source type', { sources: [source('horoscope')] }, 'sources.0.type', 'ENUM'],
  ['a source without a type', { sources: [{ priority: 1 }] }, 'sources.0.type', 'REQUIRED'],
  [
    'a priority that is no whole number',
    { sources: [source('manual_entry', { priority: 1.5 })] },
    'sources.0.priority',
    'TYPE',
  ],
  ['a priority below 0', { sources: [source('manual_entry', { priority: -1 })] }, 'sources.0.priority', 'MINIMUM'],
  [
    'a type twice without a reason',
    { sources: [source('consent_workflow'), source('manual_entry'), source('consent_workflow')] },
    'sources.2.type',
    'DUPLICATE',
    /same as sources\.0/,
  ],
  ['the same form item twice', { sources: [form(), form()] }, 'sources.1.type', 'DUPLICATE'],
  [
    'the same rule twice',
    { sources: [rule('study.start_date'), rule('study.start_date')] },
    'sources.1.type',
    'DUPLICATE',
  ],
  ['a form item without a mapping', { sources: [source('form_item')] }, 'sources.0.form_mapping', 'MISSING'],
  [
    'a mapping of another source',
    { sources: [source('manual_entry', { form_mapping: { form_oid: 'F', item_oid: 'I' } })] },
    'sources.0.form_mapping',
    'NOT_ALLOWED',
  ],
  [
    'a mapping without an item',
    { sources: [source('form_item', { form_mapping: { form_oid: 'F' } })] },
    'sources.0.form_mapping.item_oid',
    'REQUIRED',
  ],
  [
    'an unknown handling of partial dates',
    {
      sources: [
        source('form_item', { form_mapping: { form_oid: 'F', item_oid: 'I', partial_date_handling: 'guess' } }),
      ],
    },
    'sources.0.form_mapping.partial_date_handling',
    'ENUM',
  ],
  ['a computed rule without a rule', { sources: [source('computed_rule')] }, 'sources.0.computed_rule', 'MISSING'],
  [
    'a rule of another source',
    { sources: [source('consent_workflow', { computed_rule: { expression: 'true' } })] },
    'sources.0.computed_rule',
    'NOT_ALLOWED',
  ],
  [
    'a syntax error',
    { sources: [rule('consent.date +')] },
    'sources.0.computed_rule.expression',
    'INVALID_EXPRESSION',
    /line 1, column 15/,
  ],
  [
    'a syntax error further down',
    { sources: [source('manual_entry'), rule('consent.date\n  ?? 1')] },
    'sources.1.computed_rule.expression',
    'INVALID_EXPRESSION',
    /line 2, column/,
  ],
  [
    'a type error',
    { prerequisites: { custom_rule: 'consent.date == 1' } },
    'prerequisites.custom_rule',
    'INVALID_EXPRESSION',
    /string == int \(line 1, column 1\)/,
  ],
  [
    'an unknown variable',
    check('person.name == "Anna"'),
    'validation.custom_rules.0.expression',
    'INVALID_EXPRESSION',
    /Unknown variable: person/,
  ],
  [
    'a field that no fact has',
    check('consent.day == ""'),
    'validation.custom_rules.0.expression',
    'INVALID_EXPRESSION',
    /day \(line 1, column 9\)/,
  ],
  [
    'an unknown function',
    check('fetch("http://example.org") == ""'),
    'validation.custom_rules.0.expression',
    'INVALID_EXPRESSION',
  ],
  [
    'a rule that is not true or false',
    check('candidate.date'),
    'validation.custom_rules.0.expression',
    'INVALID_EXPRESSION',
    /must be true or false/,
  ],
  [
    'a computed rule that gives no date',
    { sources: [rule('consent.count')] },
    'sources.0.computed_rule.expression',
    'INVALID_EXPRESSION',
    /must give a date/,
  ],
  [
    'a regular expression that never ends',
    check('consent.status.matches("(a+)+$")'),
    'validation.custom_rules.0.expression',
    'INVALID_EXPRESSION',
    /matches\(\)/,
  ],
  [
    'loops in loops',
    check('[1].exists(a, [1].exists(b, [1].exists(c, a == b && b == c)))'),
    'validation.custom_rules.0.expression',
    'INVALID_EXPRESSION',
    /loops/,
  ],
  [
    'brackets without end',
    check(`${'('.repeat(300)}true${')'.repeat(300)}`),
    'validation.custom_rules.0.expression',
    'INVALID_EXPRESSION',
    /maxDepth/,
  ],
  [
    'a huge expression',
    check(Array.from({ length: 650 }, () => 'true').join('&&')),
    'validation.custom_rules.0.expression',
    'INVALID_EXPRESSION',
    /maxAstNodes/,
  ],
  ['an endless text', check(`"${'a'.repeat(4000)}" == ""`), 'validation.custom_rules.0.expression', 'MAX_LENGTH'],
  ['an empty expression', check(''), 'validation.custom_rules.0.expression', 'MIN_LENGTH'],
  ['an expression that is no text', check(7), 'validation.custom_rules.0.expression', 'TYPE'],
  [
    'a form that cannot be told',
    check('forms[consent.status].ON == ""'),
    'validation.custom_rules.0.expression',
    'INVALID_EXPRESSION',
    /forms\.FORM\.ITEM/,
  ],
  [
    'a rule id twice',
    {
      validation: {
        custom_rules: [...check('true').validation.custom_rules, ...check('false').validation.custom_rules],
      },
    },
    'validation.custom_rules.1.id',
    'DUPLICATE',
  ],
  [
    'an unknown severity',
    { validation: { custom_rules: [{ ...check('true').validation.custom_rules[0], severity: 'fatal' }] } },
    'validation.custom_rules.0.severity',
    'ENUM',
  ],
  [
    'a zone that does not exist',
    { time_precision: { study_timezone: 'Mars/Olympus' } },
    'time_precision.study_timezone',
    'UNKNOWN_ZONE',
    /Mars\/Olympus/,
  ],
  [
    'an offset in place of a zone',
    { time_precision: { study_timezone: '+02:00' } },
    'time_precision.study_timezone',
    'UNKNOWN_ZONE',
  ],
  ['an unknown precision', { time_precision: { precision: 'minute' } }, 'time_precision.precision', 'ENUM'],
  [
    'a custom anchor without a definition',
    { anchor_type: 'custom', sources: [source('manual_entry')] },
    'custom_anchor_definition',
    'MISSING',
  ],
  [
    'a custom anchor without a source',
    { anchor_type: 'custom', sources: [], custom_anchor_definition: { name: 'First dose' } },
    'sources',
    'MISSING',
  ],
  [
    'a definition without a custom anchor',
    { custom_anchor_definition: { name: 'First dose' } },
    'custom_anchor_definition',
    'NOT_ALLOWED',
  ],
  [
    'a specific consent that is not named',
    { multi_consent: { anchor_consent: 'specific_version' } },
    'multi_consent.specific_consent_version_id',
    'MISSING',
  ],
  [
    'days that are negative',
    { validation: { max_days_from_consent: -1 } },
    'validation.max_days_from_consent',
    'MINIMUM',
  ],
  ['a text for a truth', { validation: { cannot_be_future: 'yes' } }, 'validation.cannot_be_future', 'TYPE'],
  [
    'an approval without time',
    { override_approval_timeout_hours: 0 },
    'override_approval_timeout_hours',
    'EXCLUSIVE_MINIMUM',
  ],
  [
    'a handling that does not exist',
    { re_anchoring: { completed_visit_handling: 'forget' } },
    're_anchoring.completed_visit_handling',
    'ENUM',
  ],
];

describe('the anchor policy', function () {
  let stage: Stage;
  let study: AnchorStudy;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study();
  });
  after(() => stage.close());

  const pathOf = (of: AnchorStudy) => `/api/studies/${of.id}/config/enrollment-policy`;
  const faultAt = (body: Loose, path: string) => body.errors?.find((e) => e.path === path);

  describe('refuses with the path of what is wrong', () => {
    for (const [name, policy, path, code, words] of WRONG) {
      it(name, async () => {
        const before = await stage.admin.get(pathOf(study));
        for (const suffix of ['', '?dry_run=true']) {
          const { status, body } = await stage.admin.post(pathOf(study) + suffix, policy);
          expect(status, JSON.stringify(body)).to.equal(422);
          const fault = faultAt(body, path);
          expect(fault, JSON.stringify(body.errors)).to.include({ code });
          expect(fault!.message)
            .to.match(words ?? /./)
            .and.include(path)
            .and.not.include('\n');
        }
        if (!Array.isArray(policy)) {
          const { status, body } = await stage.admin.patch(`/api/studies/${study.id}`, {
            config: { enrollment_date_policy: policy },
          });
          expect(status).to.equal(422);
          const fault = faultAt(body, `config.enrollment_date_policy.${path}`);
          expect(fault, JSON.stringify(body.errors)).to.include({ code });
          expect(fault!.message).to.include(`config.enrollment_date_policy.${path}`);
        }
        expect((await stage.admin.get(pathOf(study))).body).to.deep.equal(before.body);
      });
    }

    it('names every fault at once', async () => {
      const { body } = await stage.admin.post(pathOf(study), {
        sources: [form(), form(), rule('nope')],
        time_precision: { study_timezone: 'X/Y' },
        ...check('1'),
      });
      expect(body.errors.map((e) => e.path)).to.have.members([
        'sources.1.type',
        'sources.2.computed_rule.expression',
        'time_precision.study_timezone',
        'validation.custom_rules.0.expression',
      ]);
    });

    it('a study that begins with a wrong policy is not created', async () => {
      const study_code = unique('S');
      const { status, body } = await stage.admin.post('/api/studies', {
        study_code,
        study_name: 'x',
        config: { enrollment_date_policy: { anchor_type: 'custom' } },
      });
      expect(status).to.equal(422);
      expect(body.errors.map((e) => e.path)).to.include('config.enrollment_date_policy.custom_anchor_definition');
      expect((await stage.admin.get(`/api/studies?search=${study_code}`)).body.total).to.equal(0);
    });
  });

  it('a form item of one form twice is right where the reason shows: another item, another handling', async () => {
    const sources = [
      form('ON'),
      form('AT'),
      source('form_item', { form_mapping: { form_oid: 'F', item_oid: 'ON', partial_date_handling: 'first_of_month' } }),
    ];
    const other = await stage.study();
    expect((await stage.admin.post(pathOf(other), { sources })).status).to.equal(200);
  });

  it('that was read and changed meanwhile is not overwritten: If-Match is honoured', async () => {
    const other = await stage.study();
    const read = await stage.admin.get(pathOf(other));
    const tag = read.headers.get('etag')!;
    const save = (days: number) =>
      stage.admin.post(
        pathOf(other),
        { ...read.body, validation: { max_days_from_consent: days } },
        { headers: { 'If-Match': tag } },
      );
    expect((await save(5)).status).to.equal(200);
    const late = await save(6);
    expect([late.status, late.body.code]).to.deep.equal([409, 'STALE']);
    expect((await stage.admin.get(pathOf(other))).body.validation).to.include({ max_days_from_consent: 5 });
  });

  it('in the study’s config it is merged, becomes the next version and is what the policy’s own path shows', async () => {
    const other = await stage.study({ validation: { max_days_from_consent: 10 } });
    const patched = await stage.admin.expect<Loose & { config: Loose }>(200, 'PATCH', `/api/studies/${other.id}`, {
      config: { enrollment_date_policy: { permissions: { can_set: ['researcher'] } }, note: 'kept' },
    });
    const policy = await stage.admin.expect<Record<string, Record<string, unknown>>>(200, 'GET', pathOf(other));
    expect(policy.permissions).to.deep.include({ can_set: ['researcher'], can_override: ['admin'] });
    expect(policy.validation).to.deep.include({ max_days_from_consent: 10, cannot_be_future: true });
    expect(patched.config.enrollment_date_policy).to.deep.equal(policy);
    expect(patched.config.note).to.equal('kept');
    const { items: versions, total } = await stage.admin.expect(200, 'GET', `${pathOf(other)}/versions`);
    expect(total).to.equal(2);
    expect(
      (await stage.admin.expect(200, 'GET', `${pathOf(other)}/versions?skip=1&limit=1`)).items.map(
        (v) => v.policy_version,
      ),
    ).to.deep.equal([1]);
    expect(versions.map((v) => v.policy_version)).to.deep.equal([2, 1]);
    expect(versions[0]).to.include({ author_id: stage.admin.userId });
    await stage.admin.expect(200, 'PATCH', `/api/studies/${other.id}`, { config: { enrollment_date_policy: null } });
    expect(
      (await stage.admin.expect<Record<string, Loose>>(200, 'GET', pathOf(other))).permissions!.can_set,
    ).to.deep.equal(['admin', 'coordinator']);
  });

  describe('what it would change, before it does', () => {
    const next = {
      sources: [source('eligibility_workflow'), source('manual_entry'), source('consent_workflow')],
      prerequisites: { require_consent_signed: false, require_randomization: true },
    };
    let of: AnchorStudy;
    const people = {} as Record<string, Person>;
    const stored = async () =>
      JSON.stringify(
        await stage.sql(
          `select (select count(*) from enrollment_policies where study_id = :id) as policies, (select count(*) from anchor_date_history where study_id = :id) as history,
         (select count(*) from schedule_versions where study_id = :id) as versions, (select count(*) from audit_log where study_id = :id and action <> 'visit_statuses_updated') as audit, (select policy_version from studies where id = :id) as version`.replaceAll(
            ':id',
            `'${of.id}'`,
          ),
        ),
      );
    const dryRun = (policy: unknown, by: Http = stage.admin) =>
      by.expect<DryRunView>(200, 'POST', `${pathOf(of)}?dry_run=true`, policy);

    before(async () => {
      of = await stage.study({}, { fields: { start_date: '2024-01-01' } });
      for (const name of ['nothing', 'proposes', 'sets', 'moves', 'finalizes', 'stays', 'overrides', 'breaks', 'left'])
        people[name] = await of.person();
      const randomize = (person: Person) =>
        stage.admin.expect(201, 'POST', `${person.path}/randomization`, {
          arm: 'A',
          randomized_at: '2024-03-15T10:00:00Z',
        });
      await people.proposes!.eligible('2024-03-09T10:00:00Z');
      await people.sets!.eligible('2024-03-09T10:00:00Z');
      await randomize(people.sets!);
      for (const name of ['moves', 'finalizes', 'stays', 'left'])
        expect((await people[name]!.set(DAY)).status).to.equal(200);
      await people.moves!.eligible('2024-03-09T10:00:00Z');
      await randomize(people.finalizes!);
      await people.overrides!.consent('2024-03-01T10:00:00Z');
      await people.overrides!.becomes({ status: 'finalized' });
      await people.overrides!.eligible('2024-03-09T10:00:00Z');
      await people.breaks!.eligible('2023-06-01T10:00:00Z');
      await people.left!.withdraw();
      await Promise.all(
        Object.values(people)
          .filter((p) => p !== people.left)
          .map((p) => p.settled()),
      );
      await of.settled();
      await until(async () => (await stage.handle(people.left!.id).describe()).status.name !== 'RUNNING', {
        what: 'the workflow of who has left to end',
      });
    });

    it('counts by what would happen, with examples, and stores nothing', async () => {
      const before = await stored();
      const run = await dryRun(next);
      expect(run).to.deep.include({
        dry_run: true,
        total: 8,
        would_change: 4,
        schedules_regenerated: 2,
        counts: {
          unchanged: 2,
          proposed: 1,
          set: 1,
          changed: 1,
          finalized: 1,
          override_required: 1,
          validation_failed: 1,
        },
      });
      expect(run.policy).to.deep.nested.include({
        'prerequisites.require_randomization': true,
        'permissions.can_override': ['admin'],
      });
      const ids = Object.fromEntries(Object.entries(people).map(([name, person]) => [name, person.id]));
      expect(run.examples).to.deep.include({
        proposed: [ids.proposes],
        set: [ids.sets],
        changed: [ids.moves],
        finalized: [ids.finalizes],
        override_required: [ids.overrides],
        validation_failed: [ids.breaks],
      });
      expect(run.examples.schedules_regenerated).to.have.members([ids.sets, ids.finalizes]);
      expect(await stored()).to.equal(before);
    });

    it('is for who may set the policy', async () => {
      expect((await dryRun(next, await of.as('researcher'))).total).to.equal(8);
      expect((await (await of.as('coordinator')).post(`${pathOf(of)}?dry_run=true`, next)).status).to.equal(403);
      expect((await stage.admin.post(`${pathOf(of)}?dry_run=perhaps`, next)).body.errors[0]).to.include({
        path: 'query.dry_run',
      });
    });

    it('is what then happens, and the progress of it can be read', async () => {
      const expected = await dryRun(next);
      const answer = await stage.admin.post(pathOf(of), next);
      expect(answer.status).to.equal(200);
      const change = answer.headers.get('x-change-id');
      expect(change).to.equal('policy-2');
      const progress = await until(
        async () => {
          const now = await stage.admin.expect<ProgressView>(
            200,
            'GET',
            `/api/studies/${of.id}/reanchorings/${change}`,
          );
          return now.status === 'completed' && now;
        },
        { what: 'the change to be carried out' },
      );
      expect(progress).to.deep.equal({
        change_id: 'policy-2',
        status: 'completed',
        seen: expected.total,
        total: expected.total,
        moved: expected.would_change,
        schedules: expected.schedules_regenerated,
      });
      expect(await people.sets!.anchor()).to.include({ status: 'finalized', enrollment_date: '2024-03-09' });
      expect(await people.moves!.anchor()).to.include({ status: 'provisional', enrollment_date: '2024-03-09' });
      expect(await people.left!.anchor()).to.include({ status: 'provisional', enrollment_date: DAY });

      const after = await dryRun(next);
      expect(after).to.deep.include({ would_change: 0, schedules_regenerated: 0 });
      expect(after.counts).to.include({ unchanged: 6, override_required: 1, validation_failed: 1 });
      expect(
        (await stage.admin.post(pathOf(of), next)).headers.get('x-change-id'),
        'the same policy again is no change',
      ).to.equal(null);
    });
  });

  it('names at most 20 of each kind', async () => {
    const many = await stage.study({ sources: [source('manual_entry')] });
    const ids = await stage.sql<{ id: string }>(
      `with made as (insert into participants (study_id, participant_code) select ?, 'N' || n from generate_series(1, 30) n returning id, study_id),
         anchors as (insert into anchor_dates (participant_id, study_id) select id, study_id from made),
         dates as (insert into manual_anchor_entries (participant_id, study_id, enrollment_date) select id, study_id, '2024-03-10' from made) select id from made`,
      [many.id],
    );
    const run = await stage.admin.expect<DryRunView>(200, 'POST', `${pathOf(many)}?dry_run=true`, {
      sources: [source('manual_entry')],
      prerequisites: { require_consent_signed: false },
    });
    expect(run).to.deep.include({ total: 30, would_change: 30, schedules_regenerated: 30 });
    expect(run.examples.set).to.have.length(20);
    expect(run.examples.set!.every((id) => ids.some((row) => row.id === id))).to.equal(true);
    // Nobody is to start workflows for them.
    await stage.sql(`update participants set status = 'withdrawn', withdrawn_at = now() where study_id = ?`, [many.id]);
  });

  describe('progress of a change', () => {
    it('is pending until its workflow starts', async () => {
      const of = await newStudy(stage.admin);
      const [row] = await stage.sql<{ id: number }>(
        `insert into outbox (topic, study_id, subject, payload, available_at) values ('study-changed', ?, ?, '{"kind": "policy", "change_id": "policy-9"}', now() + interval '1 hour') returning id`,
        [of.id, of.id],
      );
      try {
        expect((await stage.admin.get(`/api/studies/${of.id}/reanchorings/policy-9`)).body).to.deep.equal({
          change_id: 'policy-9',
          status: 'pending',
          seen: 0,
          total: 0,
          moved: 0,
          schedules: 0,
        });
      } finally {
        await stage.sql('delete from outbox where id = ?', [row!.id]);
      }
    });

    it('of a change that is not known, or of a study out of reach, is 404', async () => {
      const stranger = await (await stage.study()).as('researcher');
      expect((await stage.admin.get(`/api/studies/${study.id}/reanchorings/policy-77`)).status).to.equal(404);
      expect((await stranger.get(`/api/studies/${study.id}/reanchorings/policy-2`)).status).to.equal(404);
    });
  });
});
