import { expect } from 'chai';
import { completePolicy, defaultPolicy, sourcesInOrder } from '../../workflows/domain/anchor/policy.js';
import { policyFaults } from '../../workflows/domain/anchor/policy-check.js';
import type { PolicyInput } from '../../workflows/domain/anchor/policy-schema.js';
import { Stage } from '../anchor/stage.js';

const form = (form_oid: string, item_oid = 'DAY') =>
  ({ type: 'form_item', form_mapping: { form_oid, item_oid } }) as const;
const rule = (expression: string, id = 'r') =>
  ({ id, name: id, expression, error_message: 'no', severity: 'error' }) as const;
const computed = (expression: string) => ({ type: 'computed_rule', computed_rule: { expression } }) as const;

/** What fits the schema and is wrong nevertheless. */
const meant: [name: string, policy: PolicyInput, path: string, code: string][] = [
  ['a form_item without form_mapping', { sources: [{ type: 'form_item' }] }, 'sources.0.form_mapping', 'MISSING'],
  [
    'a form_mapping at another source',
    { sources: [{ ...form('A'), type: 'manual_entry' }] },
    'sources.0.form_mapping',
    'NOT_ALLOWED',
  ],
  [
    'a computed_rule without its rule',
    { sources: [{ type: 'manual_entry' }, { type: 'computed_rule' }] },
    'sources.1.computed_rule',
    'MISSING',
  ],
  [
    'a rule at another source',
    { sources: [{ type: 'manual_entry', computed_rule: { expression: 'consent.date' } }] },
    'sources.0.computed_rule',
    'NOT_ALLOWED',
  ],
  [
    'the same source twice',
    { sources: [{ type: 'manual_entry' }, { type: 'manual_entry' }] },
    'sources.1.type',
    'DUPLICATE',
  ],
  ['the same form item twice', { sources: [form('A'), form('A')] }, 'sources.1.type', 'DUPLICATE'],
  [
    'a custom anchor without sources',
    { anchor_type: 'custom', custom_anchor_definition: { name: 'Surgery' } },
    'sources',
    'MISSING',
  ],
  [
    'a custom anchor without a definition',
    { anchor_type: 'custom', sources: [{ type: 'manual_entry' }] },
    'custom_anchor_definition',
    'MISSING',
  ],
  [
    'a definition without a custom anchor',
    { custom_anchor_definition: { name: 'Surgery' } },
    'custom_anchor_definition',
    'NOT_ALLOWED',
  ],
  [
    'specific_version without the version',
    { multi_consent: { anchor_consent: 'specific_version' } },
    'multi_consent.specific_consent_version_id',
    'MISSING',
  ],
  [
    'a zone that does not exist',
    { time_precision: { timezone_policy: 'study_timezone', study_timezone: 'Mars/Olympus' } },
    'time_precision.study_timezone',
    'UNKNOWN_ZONE',
  ],
  [
    'two custom rules of one id',
    { validation: { custom_rules: [rule('true'), rule('true')] } },
    'validation.custom_rules.1.id',
    'DUPLICATE',
  ],
  [
    'a custom rule with a syntax error',
    { validation: { custom_rules: [rule('true'), rule('candidate.date >', 's')] } },
    'validation.custom_rules.1.expression',
    'INVALID_EXPRESSION',
  ],
  [
    'a custom rule with a type error',
    { validation: { custom_rules: [rule('candidate.date > 3')] } },
    'validation.custom_rules.0.expression',
    'INVALID_EXPRESSION',
  ],
  [
    'a custom rule that is no truth',
    { validation: { custom_rules: [rule('candidate.date')] } },
    'validation.custom_rules.0.expression',
    'INVALID_EXPRESSION',
  ],
  [
    'a prerequisite that names what is not there',
    { prerequisites: { custom_rule: 'person.name == "x"' } },
    'prerequisites.custom_rule',
    'INVALID_EXPRESSION',
  ],
  [
    'a computed rule with a regular expression',
    { sources: [computed('consent.date.matches("a+") ? "x" : "y"')] },
    'sources.0.computed_rule.expression',
    'INVALID_EXPRESSION',
  ],
  [
    'a computed rule that gives no date',
    { sources: [computed('1 + 1')] },
    'sources.0.computed_rule.expression',
    'INVALID_EXPRESSION',
  ],
];

/** What does not fit the schema. */
const formal: [name: string, policy: unknown, path: string][] = [
  ['an unknown anchor_type', { anchor_type: 'birthday' }, 'anchor_type'],
  ['an unknown source type', { sources: [{ type: 'oracle' }] }, 'sources.0.type'],
  ['an unknown role', { permissions: { can_set: ['wizard'] } }, 'permissions.can_set.0'],
  ['an unknown field', { permissions: { can_fly: true } }, 'permissions.can_fly'],
  ['a negative shift', { re_anchoring: { max_shift_days: -1 } }, 're_anchoring.max_shift_days'],
  [
    'an unknown handling',
    { re_anchoring: { completed_visit_handling: 'forget' } },
    're_anchoring.completed_visit_handling',
  ],
  [
    'an unknown partial handling',
    {
      sources: [{ type: 'form_item', form_mapping: { form_oid: 'A', item_oid: 'B', partial_date_handling: 'guess' } }],
    },
    'sources.0.form_mapping.partial_date_handling',
  ],
  [
    'an expression longer than 4,000 characters',
    { prerequisites: { custom_rule: 'x'.repeat(4001) } },
    'prerequisites.custom_rule',
  ],
  ['a timeout of nothing', { override_approval_timeout_hours: 0 }, 'override_approval_timeout_hours'],
  ['no object', [], ''],
];

describe('the anchor policy', () => {
  it('the default is the contract’s', () => {
    expect(completePolicy({})).to.deep.equal(defaultPolicy);
    expect(policyFaults(defaultPolicy)).to.deep.equal([]);
    expect(defaultPolicy.permissions).to.deep.equal({
      can_set: ['admin', 'coordinator'],
      can_override: ['admin'],
      participant_can_set: false,
      override_requires_reason: true,
      override_requires_approval: false,
    });
    expect(defaultPolicy.re_anchoring).to.deep.equal({
      allow_after_scheduling: true,
      allow_after_data_entered: true,
      allow_after_signature: false,
      allow_after_lock: false,
      max_shift_days: 0,
      completed_visit_handling: 'flag_for_review',
    });
  });

  const order = (sources: NonNullable<PolicyInput['sources']>) =>
    sourcesInOrder(completePolicy({ sources })).map(({ type, priority }) => [type, priority]);
  it('sources of one priority stand in the order of the list', () => {
    expect(
      order([
        { type: 'manual_entry', priority: 1 },
        { type: 'consent_workflow', priority: 1 },
      ]),
    ).to.deep.equal([
      ['manual_entry', 1],
      ['consent_workflow', 1],
    ]);
  });
  it('a source without a priority has its place in the list, before those after it that have the same', () => {
    expect(order([{ type: 'manual_entry' }, { type: 'consent_workflow' }])).to.deep.equal([
      ['manual_entry', 1],
      ['consent_workflow', 2],
    ]);
    expect(order([{ type: 'manual_entry', priority: 2 }, { type: 'consent_workflow' }])).to.deep.equal([
      ['manual_entry', 2],
      ['consent_workflow', 2],
    ]);
    expect(
      order([{ type: 'manual_entry' }, { type: 'consent_workflow', priority: 1 }, { type: 'randomization' }]),
    ).to.deep.equal([
      ['manual_entry', 1],
      ['consent_workflow', 1],
      ['randomization', 3],
    ]);
  });

  for (const [type, first] of [
    ['enrollment', 'consent_workflow'],
    ['consent', 'consent_workflow'],
    ['eligibility', 'eligibility_workflow'],
    ['randomization', 'randomization'],
    ['baseline_visit', 'computed_rule'],
  ] as const) {
    it(`anchor_type ${type} with no sources implies ${first}`, () =>
      expect(sourcesInOrder(completePolicy({ anchor_type: type, sources: [] }))[0]!.type).to.equal(first));
  }

  describe('faults beyond the schema, each with its path', () => {
    for (const [name, policy, path, code] of meant) {
      it(`${name}: ${code} at ${path}`, () =>
        expect(policyFaults(completePolicy(policy)).map((f) => [f.path, f.code])).to.deep.include([path, code]));
    }
    it('two form items, two rules, a zone that is there: no fault', () => {
      expect(
        policyFaults(
          completePolicy({
            sources: [form('A'), form('B'), computed('consent.date'), computed('eligibility.date')],
            time_precision: { study_timezone: 'Asia/Tokyo' },
          }),
        ),
      ).to.deep.equal([]);
    });
  });

  describe('over HTTP', function () {
    let stage: Stage;
    let path: string;
    before(async () => {
      stage = await Stage.open();
      path = `/api/studies/${(await stage.study({}, { days: [] })).id}/config/enrollment-policy`;
    });
    after(() => stage.close());

    it('every wrong policy is a 422 that names the path, and the one in force stays', async () => {
      for (const [name, policy, at] of [...formal, ...meant]) {
        const { status, body } = await stage.admin.post(path, policy);
        expect(status, name).to.equal(422);
        const paths = body.errors.map((e) => e.path);
        if (at !== '') expect(paths, name).to.include(at);
      }
      expect(await stage.admin.expect(200, 'GET', path)).to.deep.equal(defaultPolicy);
    });

    it('null for what may be left out says the same, alone and within a study', async () => {
      const nothing = {
        anchor_type: null,
        sources: [{ type: 'manual_entry', priority: null, is_active: null, form_mapping: null, computed_rule: null }],
        prerequisites: { custom_rule: null },
        permissions: { override_approver_roles: null },
        multi_consent: { specific_consent_version_id: null },
        time_precision: { study_timezone: null },
        validation: { max_days_from_consent: null, custom_rules: null },
        re_anchoring: null,
        custom_anchor_definition: null,
      };
      const left = completePolicy({ sources: [{ type: 'manual_entry' }] });
      expect(await stage.admin.expect(200, 'POST', path, nothing)).to.deep.equal(left);
      const study = await stage.study(nothing, { days: [] });
      expect(await stage.admin.expect(200, 'GET', `/api/studies/${study.id}/config/enrollment-policy`)).to.deep.equal(
        left,
      );
      expect(
        (await stage.admin.post(path, { sources: [{ type: null }] })).body.errors.map((e) => e.path),
      ).to.deep.equal(['sources.0.type']);
      await stage.admin.expect(200, 'POST', path, {});
    });

    it('all faults are told at once', async () => {
      const { body } = await stage.admin.post(path, {
        sources: [{ type: 'form_item' }, { type: 'computed_rule' }],
        time_precision: { study_timezone: 'Mars/Olympus' },
      });
      expect(body.errors.map((e) => e.path)).to.have.members([
        'sources.0.form_mapping',
        'sources.1.computed_rule',
        'time_precision.study_timezone',
      ]);
    });
  });
});
