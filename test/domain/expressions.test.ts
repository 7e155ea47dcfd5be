import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { evaluate } from '../../workflows/domain/anchor/decide.js';
import {
  checkExpression,
  expressionContext,
  expressionNames,
  fieldsOf,
  formItemsOf,
  runExpression,
} from '../../workflows/domain/expressions/expressions.js';
import type { ExpressionKind } from '../../workflows/domain/expressions/expressions.js';
import { completePolicy } from '../../workflows/domain/anchor/policy.js';
import type { Facts } from '../../workflows/domain/util/types.js';
import { emptyFacts } from '../property/model.js';
import { root } from '../support/environment.js';

const facts: Facts = {
  ...emptyFacts('Europe/Berlin'),
  consents: [{ id: 'c', consent_version_id: 'v1', status: 'signed', signed_at: '2024-02-29T23:30:00Z' }],
  participant: { status: 'enrolled', site_code: 'BER', arm: 'A', preferred_language: 'de', age_years: 71 },
  forms: [
    {
      id: 'f',
      form_oid: 'VISIT',
      status: 'complete',
      origin: 'service',
      created_at: '2024-03-02T00:00:00Z',
      items: { DAY: '2024-03-01', COUNT: 3 },
    },
  ],
};
const run = (expression: string) => {
  const outcome = runExpression(
    expression,
    expressionContext(facts, completePolicy({}), {
      date: '2024-03-04',
      datetime: null,
      partial: null,
      precision: 'date',
      timezone: null,
      source_type: 'manual_entry',
      source_ref: {},
    }),
  );
  return outcome.ok
    ? typeof outcome.value === 'bigint'
      ? Number(outcome.value)
      : outcome.value
    : outcome.reason.split(':')[0];
};

describe('expressions of a policy', () => {
  describe('see the facts', () => {
    const rows: [expression: string, value: unknown][] = [
      ['consent.date', '2024-03-01'],
      ['addDays(consent.date, 30)', '2024-03-31'],
      ['daysBetween(consent.date, candidate.date)', 3],
      ['dayOfWeek(candidate.date) == 1', true],
      ['latest(consent.date, forms.VISIT.DAY)', '2024-03-01'],
      ['forms["VISIT"]["COUNT"] > 2', true],
      ['participant.age_years >= 18 && participant.site_code == "BER"', true],
      ['has(randomization.date) ? randomization.date : consent.date', '2024-03-01'],
      ['has(forms.VISIT.DAY) && !has(forms.VISIT.OTHER)', true],
      ['has(forms.OTHER.DAY)', false],
      ['!has(forms.OTHER.DAY) || forms["OTHER"]["DAY"] > "2024"', true],
      ['[1].exists(n, has(forms.OTHER.DAY))', false],
      ['year(study.today)', 2025],
      ['candidate.date >= consent.date', true],
      ['visits.baseline.status', 'none'],
      ['dateOf(consent.signed_at, "UTC")', '2024-02-29'],
      ['anchor.status', 'unset'],
    ];
    for (const [expression, value] of rows)
      it(`${expression} = ${JSON.stringify(value)}`, () => expect(run(expression)).to.equal(value));
  });

  describe('that fail at run time are an outcome, never a throw', () => {
    for (const expression of [
      'randomization.date',
      'addDays(forms.VISIT.COUNT, 1)',
      'forms.OTHER.DAY',
      'date("2023-02-29")',
      'addDays(consent.date, 999999999)',
      '1 / 0 == 1',
      'dateOf(consent.signed_at, "Mars/Olympus")',
    ]) {
      it(expression, () => expect(run(expression)).to.equal('RULE_ERROR'));
    }

    it('as a source: no source, and the next one is tried', () => {
      const policy = completePolicy({
        sources: [
          { type: 'computed_rule', computed_rule: { expression: 'randomization.date' } },
          { type: 'consent_workflow' },
        ],
      });
      const { candidate, trace } = evaluate(policy, facts);
      expect(candidate?.source_type).to.equal('consent_workflow');
      expect(trace.sources.map((s) => s.outcome)).to.deep.equal(['error', 'chosen']);
      expect(trace.sources[0]!.reason).to.match(/^RULE_ERROR/);
    });

    it('as a rule: not passed; as a prerequisite: not met; one that gives no date: no source', () => {
      const rule = completePolicy({
        validation: {
          custom_rules: [
            {
              id: 'r',
              name: 'R',
              expression: 'randomization.date < candidate.date',
              error_message: 'no',
              severity: 'error',
            },
          ],
        },
      });
      expect(evaluate(rule, facts).errors.map((e) => e.code)).to.deep.equal(['RULE_ERROR']);
      expect(
        evaluate(completePolicy({ prerequisites: { custom_rule: 'randomization.arm == "A"' } }), facts).result,
      ).to.equal('proposed');
      expect(
        evaluate(
          completePolicy({ sources: [{ type: 'computed_rule', computed_rule: { expression: 'participant.arm' } }] }),
          facts,
        ).result,
      ).to.equal('none');
    });
  });

  describe('that are refused when saved, each naming what is wrong', () => {
    const deep = `${'('.repeat(60)}true${')'.repeat(60)}`;
    const rows: [expression: string, kind: ExpressionKind, says: RegExp][] = [
      ['consent.date >', 'rule', /./],
      ['', 'rule', /./],
      ['consent.name == "x"', 'rule', /name/i],
      ['person.name == "x"', 'rule', /person/i],
      ['participant.email == "x"', 'rule', /email/i],
      ['process.exit(1)', 'rule', /./],
      ['constructor.constructor("return 1")()', 'rule', /./],
      ['consent.date + 1 == "x"', 'rule', /./],
      ['addDays(consent.date, "3") == "x"', 'rule', /./],
      ['consent.date', 'rule', /true or false/],
      ['1 + 1', 'rule', /true or false/],
      ['true', 'date', /date/],
      ['participant.age_years', 'date', /date/],
      ['consent.date.matches("^(a+)+$")', 'rule', /matches/],
      ['cel.bind(x, "a", x + x) == "aa"', 'rule', /bind|cel/],
      ['[1,2].all(a, [1,2].all(b, [1,2].all(c, a == b)))', 'rule', /loop/],
      [Array.from({ length: 9 }, () => '[1].all(a, a == 1)').join(' && '), 'rule', /loop/],
      [`"${'x'.repeat(4001)}" == "x"`, 'rule', /4,000/],
      [Array.from({ length: 400 }, () => '1').join(' + ') + ' > 0', 'rule', /./],
      [deep, 'rule', /./],
      ['forms[participant.arm].DAY == "x"', 'rule', /forms/],
      ['forms.exists(f, true)', 'rule', /forms|./],
    ];
    for (const [expression, kind, says] of rows) {
      it(`${expression.slice(0, 60) || '(nothing)'} as a ${kind}`, () =>
        expect(checkExpression(expression, kind)?.message).to.match(says));
    }
    it('and those that are fine are taken', () => {
      for (const [expression, kind] of [
        ['consent.date', 'date'],
        ['forms.VISIT.DAY', 'date'],
        ['candidate.date > consent.date', 'rule'],
        ['has(eligibility.date) && [1, 2].exists(d, dayOfWeek(candidate.date) == d)', 'rule'],
      ] as const) {
        expect(checkExpression(expression, kind), expression).to.equal(null);
      }
    });
  });

  it('a snapshot can tell which form items an expression reads', () => {
    expect(formItemsOf('latest(forms.A.X, forms["B"]["Y"]) > "2024"')).to.deep.equal([
      { form_oid: 'A', item_oid: 'X' },
      { form_oid: 'B', item_oid: 'Y' },
    ]);
  });

  describe('a snapshot can tell which fields of a person an expression reads', () => {
    const rows: [expression: string, fields: string[] | null][] = [
      ['consent.date', []],
      ['"participant.arm" == consent.date', []],
      ['has(participant.arm) ? participant.age_years > 3 : false', ['arm', 'age_years']],
      ['participant["site_code"] == (participant).arm', ['site_code', 'arm']],
      ['[1].map(x, x > 0, participant.arm)[0] == "a"', ['arm']],
      ['{"a": participant.arm}.a == {participant.site_code: "b"}["c"]', ['arm', 'site_code']],
      ['forms["A"]["B"].exists(k, k == participant.arm)', ['arm']],
      ['size(participant.arm) > 1 || -participant.age_years < 3', ['arm', 'age_years']],
      ['participant["a" + "rm"] == "x"', null],
      ['dyn(participant).arm == "x"', null],
      ['[participant].exists(p, p.arm == "x")', null],
      ['["arm"].exists(k, participant[k] == "x")', null],
      ['optional.of(participant).value().arm == "x"', null],
      ['[{"arm": 1}].exists(participant, participant.arm == 1)', null],
    ];
    for (const [expression, fields] of rows)
      it(`${expression}: ${fields?.join() ?? 'any'}`, () =>
        expect(fieldsOf(expression, 'participant')).to.deep.equal(fields));
  });

  it('cannot run long: the worst that is taken ends in a moment', () => {
    const list = `[${Array.from({ length: 50 }, (_, i) => i).join(',')}]`;
    const worst = `${list}.all(a, ${list}.all(b, a + b >= 0))`;
    expect(checkExpression(worst, 'rule')).to.equal(null);
    const began = process.cpuUsage();
    run(worst);
    // Of this process alone, however much else the machine does.
    expect(process.cpuUsage(began).user).to.be.below(500_000);
  });
});

describe('docs/expressions.md', () => {
  const page = readFileSync(join(root, 'docs', 'expressions.md'), 'utf8');
  const examples = page.slice(page.indexOf('## Examples'));
  const rows = [...examples.matchAll(/^\| `(.*)` \| `(.*)` \|$/gm)].map(
    ([, expression, gives]) => [expression!.replaceAll('\\|', '|'), gives!] as const,
  );
  it('has examples', () => expect(rows.length).to.be.above(12));
  for (const [expression, gives] of rows)
    it(expression, () => {
      expect(checkExpression(expression, /^(true|false)$/.test(gives) ? 'rule' : 'date')?.message ?? '').to.match(
        /^$|gives int/,
      );
      expect(String(run(expression))).to.equal(gives);
    });

  it('names each variable and each function that there is', () => {
    const named = new Set([...page.matchAll(/`([a-z]+)[(.]/gi)].map(([, name]) => name!));
    const fields = [...page.matchAll(/^\| `([a-z_.]+)` \|/gm)].map(([, name]) => name!);
    const context = expressionContext(
      { ...facts, study: { ...facts.study, start_date: '2024-01-01' } },
      completePolicy({}),
      null,
    );
    for (const [variable, value] of Object.entries(context)) {
      expect(named, variable).to.include(variable);
      if (variable === 'forms' || variable === 'visits') continue;
      for (const field of Object.keys(value as object)) expect(fields).to.include(`${variable}.${field}`);
    }
    const { functions } = expressionNames();
    const own = functions.map(({ name }) => name).filter((name) => /^(date|add|days?|year|month|ear|lat)/.test(name));
    expect(own).to.include.members(['addDays', 'dateOf', 'latest']);
    for (const name of own) expect(named, name).to.include(name);
  });
});
