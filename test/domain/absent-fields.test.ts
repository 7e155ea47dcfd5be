import { expect } from 'chai';
import { absentFields, neededField, unreadFields, withheldFields } from '../../workflows/domain/capture/reading.js';

const mapping = { enrollment_date: 'enrolled', email: 'mail', site_code: 'redcap_data_access_group', arm: 'arm___2' };
const dictionary = [
  { field_name: 'enrolled', identifier: false },
  { field_name: 'mail', identifier: true },
  { field_name: 'arm', identifier: false },
];
const unread = (row: Record<string, string>, fields = dictionary) =>
  unreadFields(absentFields([row], mapping), fields).map(({ field }) => field);

describe('a mapped field that an export of the capture system lacks', () => {
  it('is empty if the dictionary has it and it identifies nobody', () => {
    expect(unread({ record_id: '1', mail: '' })).to.deep.equal([]);
  });
  it('was renamed or deleted if the dictionary does not have it', () => {
    expect(unread({ record_id: '1', mail: '' }, [dictionary[1]!, dictionary[2]!])).to.deep.equal(['enrolled']);
    expect(neededField(absentFields([{ record_id: '1', mail: '' }], mapping))?.field).to.equal('enrolled');
  });
  it('may not be exported if it identifies people', () => {
    expect(unread({ record_id: '1', enrolled: '' })).to.deep.equal(['mail']);
  });
  it('is withheld if no date or free text is exported, where empty columns are', () => {
    const free = ['enrolled', 'mail'];
    expect(withheldFields([{ record_id: '1', asked: '' }], free)).to.deep.equal(free);
    expect(withheldFields([{ record_id: '1', asked: '', mail: '' }], free)).to.deep.equal([]);
  });
  it('is empty if the export leaves out empty columns', () => {
    expect(withheldFields([{ record_id: '1', asked: '1' }], ['enrolled', 'mail'])).to.deep.equal([]);
  });
  it('is not missing if it is a column of the system’s own, which is there for records that have a value', () => {
    expect(absentFields([{ enrolled: '', mail: '', arm___2: '0' }], mapping)).to.deep.equal([]);
  });
});
