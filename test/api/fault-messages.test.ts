import { expect } from 'chai';
import { admin, newParticipant, newStudy, unique } from '../support/http.js';
import type { Http } from '../support/http.js';

describe('The message of a value that is too short or too long', () => {
  let http: Http;
  let study: string;
  let participant: string;
  before(async () => {
    http = await admin();
    study = (await newStudy(http)).id;
    participant = (await newParticipant(http, study)).id;
  });

  const cases: [what: string, path: () => string, body: () => object, code: string, message: string][] = [
    [
      'an empty code, as in the guide for integrators',
      () => `/api/studies/${study}/participants`,
      () => ({ participant_code: '' }),
      'MIN_LENGTH',
      'participant_code must not be empty',
    ],
    [
      'a code of 65 characters',
      () => `/api/studies/${study}/participants`,
      () => ({ participant_code: 'x'.repeat(65) }),
      'MAX_LENGTH',
      'participant_code must have at most 64 characters',
    ],
    [
      'a password of 11 characters',
      () => '/api/auth/register',
      () => ({ email: `${unique('e')}@example.org`, name: 'N', role: 'researcher', password: 'eleven-char' }),
      'MIN_LENGTH',
      'password must have at least 12 characters',
    ],
    [
      'an empty reason, which is blank as well',
      () => `/api/participants/${participant}/withdraw`,
      () => ({ reason: '' }),
      'MIN_LENGTH',
      'reason must not be empty',
    ],
    [
      'an empty token',
      () => '/api/auth/refresh',
      () => ({ refresh_token: '' }),
      'MIN_LENGTH',
      'refresh_token must not be empty',
    ],
    [
      'an empty list',
      () => `/api/studies/${study}/event-subscriptions`,
      () => ({ url: 'https://example.org/', events: [] }),
      'MIN_ITEMS',
      'events must not be empty',
    ],
  ];
  for (const [what, path, body, code, message] of cases) {
    it(`${what}: ${message}`, async () => {
      const answer = await http.post(path(), body());
      expect([answer.status, answer.body.detail]).to.deep.equal([422, message]);
      expect(answer.body.errors.map((fault) => [fault.code, fault.message])).to.deep.equal([[code, message]]);
    });
  }
});
