import { expect } from 'chai';
import { namedItems, policyItems } from '../../workflows/domain/capture/participant.js';

describe('the items that a policy reads of a form', () => {
  const policy = {
    sources: [
      { type: 'form_item', form_mapping: { form_oid: 'enroll', item_oid: 'baseline' } },
      { type: 'form_item', form_mapping: { form_oid: 'other', item_oid: 'elsewhere' } },
      { type: 'computed_rule', computed_rule: { expression: 'date(forms.enroll.screened) + days(7)' } },
    ],
    prerequisites: { custom_rule: "forms['enroll'].dob != ''" },
  };

  it('are told from the other words of its expressions', () => {
    expect(namedItems(policy, 'enroll').sort()).to.deep.equal(['baseline', 'dob', 'screened']);
    expect(policyItems(policy, 'enroll')).to.include.members(['days', 'forms', 'baseline', 'dob', 'screened']);
  });

  it('are found in any notation', () => {
    const rule = 'has( forms["enroll"]["a"] ) && forms . enroll . b == forms.other.c';
    expect(namedItems({ prerequisites: { custom_rule: rule } }, 'enroll')).to.deep.equal(['a', 'b']);
  });
});
