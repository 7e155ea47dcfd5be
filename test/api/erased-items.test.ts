import { expect } from 'chai';
import pg from 'pg';
import { Http, admin, newParticipant, newStudy, unique } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { placesOf } from '../support/places-of.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';

/** Items of forms that identify a person, wherever and however they are named. */
describe('Erasure of items of forms', () => {
  let root: Http;
  let study: Loose;
  let owner: pg.Client;
  before(async () => {
    root = await admin();
    study = await newStudy(root, { consent_mode: 'external' });
    owner = new pg.Client({ connectionString: (await service()).database_url });
    await owner.connect();
  });
  after(() => owner.end());

  async function person(): Promise<{ id: string; of: string }> {
    const { id } = await newParticipant(root, study.id);
    const of = `/api/studies/${study.id}/participants/${id}`;
    await root.expect(201, 'POST', `${of}/forms`, { form_oid: 'CONTACT', items: { nickname: unique('nick') } });
    return { id, of };
  }

  it('removes an item by its name in any case and alphabet, however its letters are composed', async () => {
    const { id, of } = await person();
    const word = unique('hidden');
    const names = ['Имя', 'ÖRTLICHKEIT', 'Ονομα', 'pre\u0301nom'];
    await root.expect(201, 'POST', `${of}/forms`, {
      form_oid: 'ALPHABETS',
      items: { ...Object.fromEntries(names.map((name) => [name, word])), имЯ: word, ВЕС: 61 },
    });
    await root.expect(200, 'POST', `/api/participants/${id}/erase`, {
      reason: 'x',
      form_items: ['nickname', 'Имя', 'örtlichkeit', 'ΟΝΟΜΑ', 'pr\u00e9nom'],
    });
    const { items } = await root.expect<{ items: Loose[] }>(200, 'GET', `${of}/forms`);
    expect(items.find(({ form_oid }) => form_oid === 'ALPHABETS')!.items).to.deep.equal({ ВЕС: 61 });
    expect(await placesOf(owner, word)).to.deep.equal([]);
  });

  it('removes items inside of others, by what they are called and by the names given', async () => {
    const { id, of } = await person();
    const word = unique('inside');
    const form = {
      form_oid: 'HOUSEHOLD',
      items: {
        people: [{ first_name: word, age: 8, pet: { call_sign: word, legs: [4] } }, { age: 9 }],
        contact: { email: word, best: { hours: 'evening' } },
        counts: [1, 2],
      },
    };
    await root.expect(201, 'POST', `${of}/forms`, form);
    await root.expect(200, 'POST', `/api/participants/${id}/erase`, {
      reason: 'x',
      form_items: ['nickname', 'Call_Sign'],
    });
    const kept = { people: [{ age: 8, pet: { legs: [4] } }, { age: 9 }], contact: { best: { hours: 'evening' } } };
    const { items } = await root.expect<{ items: Loose[] }>(200, 'GET', `${of}/forms`);
    expect(items.find(({ form_oid }) => form_oid === 'HOUSEHOLD')!.items).to.deep.equal({ ...kept, counts: [1, 2] });
    expect(await placesOf(owner, word)).to.deep.equal([]);
  });

  it('removes items that a computed date names as what its rule read, in history, decisions and events', async () => {
    const word = unique('read');
    const expression = `forms.CONTACT.nickname != '' ? date(forms.CONTACT.day) : date('2026-01-02')`;
    const { id: studyId } = await newStudy(root, {
      consent_mode: 'external',
      config: {
        enrollment_date_policy: {
          sources: [{ type: 'computed_rule', computed_rule: { expression } }, { type: 'manual_entry' }],
        },
      },
    });
    const { id } = await newParticipant(root, studyId);
    const of = `/api/studies/${studyId}/participants/${id}`;
    const items = { nickname: word, day: '2026-01-05', family: { first_name: word } };
    await root.expect(201, 'POST', `${of}/forms`, { form_oid: 'CONTACT', status: 'complete', items });
    await until(async () => (await root.get(`${of}/anchor-date`)).body.status === 'finalized', {
      what: 'the date to be computed',
    });
    await root.expect(200, 'POST', `${of}/anchor-date/override`, { new_enrollment_date: '2026-01-06', reason: 'x' });
    expect(await placesOf(owner, word)).to.include.members(['anchor_date_history', 'domain_events']);
    await root.expect(200, 'POST', `/api/participants/${id}/erase`, { reason: 'x', form_items: ['nickname'] });
    expect(await placesOf(owner, word)).to.deep.equal([]);
    const history = await root.expect<Loose[]>(200, 'GET', `${of}/anchor-date/history`);
    const computed = history.find(({ source_type }) => source_type === 'computed_rule')!;
    expect(computed.source_ref).to.deep.equal({
      expression,
      inputs: { forms: { CONTACT: { nickname: '[erased]', day: '2026-01-05' } } },
    });
    const decision = `${of}/anchor-date/decisions/${computed.id}/rederive`;
    expect((await root.expect(200, 'POST', decision)).differences).to.deep.equal(['snapshot']);
  });

  it('finds no value of an item in what is stored of a rule that fails: not even the audit log has one', async () => {
    const word = unique('typed');
    const failing = [
      'date(forms.CONTACT.nickname)',
      `{"a": "2026-01-01"}[forms.CONTACT.nickname]`,
      `duration(forms.CONTACT.nickname) > duration("1s") ? "2026-01-01" : "2026-01-02"`,
    ];
    const { id: studyId } = await newStudy(root, {
      consent_mode: 'external',
      config: {
        enrollment_date_policy: {
          sources: [
            ...failing.map((expression) => ({ type: 'computed_rule', computed_rule: { expression } })),
            { type: 'manual_entry' },
          ],
        },
      },
    });
    const { id } = await newParticipant(root, studyId);
    const of = `/api/studies/${studyId}/participants/${id}`;
    await root.expect(201, 'POST', `${of}/forms`, {
      form_oid: 'CONTACT',
      status: 'complete',
      items: { nickname: word },
    });
    const { evaluation } = await root.expect<Loose & { evaluation: { warnings: { code: string; message: string }[] } }>(
      200,
      'POST',
      `${of}/anchor-date`,
      { enrollment_date: '2026-01-05' },
    );
    expect(evaluation.warnings.map(({ code }) => code)).to.deep.equal(failing.map(() => 'RULE_ERROR'));
    expect(JSON.stringify(evaluation)).not.to.include(word);
    await root.expect(200, 'POST', `/api/participants/${id}/erase`, { reason: 'x', form_items: ['nickname'] });
    expect(await placesOf(owner, word)).to.deep.equal([]);
  });
});
