import { expect } from 'chai';
import { Stage } from './stage.js';

describe('A participant with long forms', function () {
  this.timeout(120_000);
  it('is decided, whatever of them the policy reads, and its workflow takes further messages', async () => {
    const stage = await Stage.open();
    const study = await stage.study({
      sources: [{ type: 'manual_entry' }],
      prerequisites: { require_consent_signed: false, custom_rule: 'has(forms.DIARY.pages)' },
    });
    const person = await study.person();
    const pages = Array.from({ length: 150 }, (_, page) => `${page} `.repeat(10_000).slice(0, 19_000));
    await person.form('DIARY', { pages });
    const set = await person.set('2024-03-10');
    expect(set.status, set.text.slice(0, 300)).to.equal(200);
    expect(set.body).to.include({ status: 'finalized', enrollment_date: '2024-03-10' });
    await person.form('DIARY', { pages: pages.slice(60) });
    const evaluated = await person.post('/evaluate');
    expect(evaluated.body).to.include({ result: 'unchanged' });
    const [entry] = await person.history();
    const decision = await stage.admin.expect<{ facts: { forms: { items: { pages: string[] } }[] } }>(
      200,
      'GET',
      `${person.path}/anchor-date/decisions/${entry!.id}`,
    );
    expect(decision.facts.forms[0]!.items.pages, 'the record has all of it').to.have.length(150);
    await stage.close();
  });
});
