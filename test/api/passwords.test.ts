import { expect } from 'chai';
import { isCommonPassword } from '../../api/http/security/password-rule.js';

describe('A password', () => {
  for (const password of [
    'admin1234567',
    'Test12345678!',
    'abc123456789',
    'hello1234567',
    'user12345678',
    'login1234567',
    'guest1234567',
    'root12345678',
    'qwe123456789',
    'passw0rd!passw0rd!',
    'Password123456',
    'P@ssw0rd1234',
    'changeme12345',
    'abcabcabcabc',
    '111111111111',
    'abcdefghijklm',
  ])
    it(`"${password}" would be guessed early`, () => expect(isCommonPassword(password)).to.equal(true));

  for (const password of [
    'correct blue staple 42',
    'Tr4verse-Quill-88',
    'user of quiet harbours 7',
    'tester-of-tides-1904',
    'quiet harbour quiet harbour ',
  ]) {
    it(`"${password}" would not`, () => expect(isCommonPassword(password)).to.equal(false));
  }

  it('that is the own address would be guessed early', () => {
    expect(isCommonPassword('someone.else2024', 'someone.else@example.org')).to.equal(true);
  });
});
