import { expect } from 'chai';
import { faultsOf } from './checker.js';
import type { Observed } from './checker.js';
import type { Ledger } from './ledger.js';

const studies = { hand: 'S1', approved: 'S2', capture: 'S3' };
const summaries = { stroop: { mean_rt: 300 } };

/** A participant by hand with an override and a reminded visit, and a captured one whose results were pushed. */
const ledger: Ledger = {
  studies,
  participants: [{ study: 'S1', id: 'a', code: 'H-1' }],
  anchors: [{ participant: 'a', date: '2024-03-12', overridden: true, requested: false }],
  consents: [{ participant: 'a', id: 'c' }],
  visits: [{ participant: 'a', id: 'v', email: 'a@example.org' }],
  sessions: [{ participant: 'b', id: 's', visit: 'w', trials: 7, summaries, offline: false }],
  triggers: [{ record: 'R-1', date: '2024-03-01' }],
  pushes: [{ session: 's', record: 'R-1', values: { mean_rt: '300' } }],
};
const whole = (): Observed => ({
  participants: [
    { id: 'a', study: 'S1', code: 'H-1', external_id: null, enrollment_date: '2024-03-12' },
    { id: 'b', study: 'S3', code: 'R-1', external_id: 'R-1', enrollment_date: '2024-03-01' },
  ],
  anchors: [
    { participant: 'a', date: '2024-03-12', status: 'finalized', version: 4 },
    { participant: 'b', date: '2024-03-01', status: 'finalized', version: 2 },
  ],
  histories: [
    { participant: 'a', types: ['PROPOSED', 'FINALIZED', 'OVERRIDE_GRANTED'] },
    { participant: 'b', types: ['SET'] },
  ],
  events: [
    {
      participant: 'a',
      types: [
        'ENROLLMENT_DATE_PROPOSED',
        'ENROLLMENT_DATE_FINALIZED',
        'ENROLLMENT_DATE_OVERRIDE_GRANTED',
        'ENROLLMENT_DATE_CHANGED',
      ],
    },
    { participant: 'b', types: ['ENROLLMENT_DATE_SET'] },
  ],
  consents: [{ id: 'c', participant: 'a' }],
  visits: [
    { id: 'v', participant: 'a', status: 'scheduled', session_id: null, by_hand: true },
    { id: 'w', participant: 'b', status: 'completed', session_id: 's', by_hand: false },
  ],
  sessions: [
    { id: 's', participant: 'b', visit_id: 'w', status: 'completed', sync_status: 'synced', summaries, trials: 7 },
  ],
  triggers: [
    { record: 'R-1', status: 'processed', outcome: 'created' },
    { record: 'R-1', status: 'duplicate', outcome: null },
  ],
  written: [{ record: 'R-1', fields: ['mean_rt'] }],
  standing: { 'R-1': { mean_rt: '300' } },
  reminders: [{ visit: 'v', status: 'sent' }],
  mails: [{ to: 'a@example.org', id: 'm' }],
  broken: [],
  chains: [{ chain: 'all', valid: true, problem: null }],
  unconverged: [],
});

/** What is planted, and the words in which it must be found. */
const PLANTED: [what: string, plant: (seen: Observed) => void, found: RegExp][] = [
  [
    'a lost participant',
    (o) => {
      o.participants.shift();
    },
    /participant S1\/H-1 was acknowledged and is lost/,
  ],
  [
    'a participant twice',
    (o) => {
      o.participants.push({ ...o.participants[0]!, id: 'z' });
    },
    /participant S1\/H-1 is there 2 times/,
  ],
  [
    'a record that became two participants',
    (o) => {
      o.participants.push({ ...o.participants[1]!, id: 'z' });
    },
    /record R-1 is there 2 times/,
  ],
  [
    'a lost override',
    (o) => {
      o.anchors[0]!.date = '2024-03-10';
    },
    /anchor of a was acknowledged as 2024-03-12 and is 2024-03-10/,
  ],
  [
    'a date that is no longer final',
    (o) => {
      o.anchors[0]!.status = 'provisional';
    },
    /and is 2024-03-12 \(provisional\)/,
  ],
  [
    'an override twice',
    (o) => {
      o.histories[0]!.types.push('OVERRIDE_GRANTED');
    },
    /history of a is .*GRANTED, OVERRIDE_GRANTED, not/,
  ],
  [
    'an event twice',
    (o) => {
      o.events[1]!.types.push('ENROLLMENT_DATE_SET');
    },
    /events of b are ENROLLMENT_DATE_SET, ENROLLMENT_DATE_SET/,
  ],
  [
    'a lost event',
    (o) => {
      o.events[0]!.types.pop();
    },
    /events of a are/,
  ],
  [
    'a lost consent',
    (o) => {
      o.consents = [];
    },
    /consent a\/c was acknowledged and is lost/,
  ],
  [
    'a consent twice',
    (o) => {
      o.consents.push({ id: 'd', participant: 'a' });
    },
    /consent a\/d is there and nobody made it/,
  ],
  [
    'a lost session',
    (o) => {
      o.sessions = [];
    },
    /session s was acknowledged and is lost/,
  ],
  [
    'a session that a repeated start made',
    (o) => {
      o.sessions.push({ ...o.sessions[0]!, id: 't' });
    },
    /session t is there and nobody made it/,
  ],
  [
    'lost trials',
    (o) => {
      o.sessions[0]!.trials = 6;
    },
    /session s has 6 trials of 7/,
  ],
  [
    'trials twice',
    (o) => {
      o.sessions[0]!.trials = 14;
    },
    /session s has 14 trials of 7/,
  ],
  [
    'another summary',
    (o) => {
      o.sessions[0]!.summaries = { stroop: { mean_rt: 1 } };
    },
    /session s has other summaries/,
  ],
  [
    'a visit that forgot its session',
    (o) => {
      o.visits[1]!.status = 'open';
    },
    /visit w of session s is open/,
  ],
  [
    'a lost trigger',
    (o) => {
      o.triggers = [];
    },
    /trigger of R-1 was acknowledged and is recorded as nothing/,
  ],
  [
    'a trigger that was worked off twice',
    (o) => {
      o.triggers[1] = { ...o.triggers[0]! };
    },
    /recorded as processed, processed/,
  ],
  [
    'a trigger sent again that was no duplicate',
    (o) => {
      o.triggers[1] = { record: 'R-1', status: 'processed', outcome: 'unchanged' };
    },
    /recorded as processed, processed/,
  ],
  [
    'a trigger that failed',
    (o) => {
      o.triggers[0]!.status = 'failed';
    },
    /recorded as failed, duplicate/,
  ],
  [
    'a lost push',
    (o) => {
      o.written = [];
    },
    /push of record R-1 was acknowledged and is lost/,
  ],
  [
    'a push twice',
    (o) => {
      o.written.push(o.written[0]!);
    },
    /push of record R-1 is there 2 times/,
  ],
  [
    'a wrong value in the capture system',
    (o) => {
      o.standing['R-1']!.mean_rt = '301';
    },
    /record R-1 has mean_rt 301, not 300/,
  ],
  [
    'a push that does not end',
    (o) => {
      o.sessions[0]!.sync_status = 'pending';
    },
    /session s is not synced but pending/,
  ],
  [
    'a lost visit',
    (o) => {
      o.visits.shift();
    },
    /visit by hand v was acknowledged and is lost/,
  ],
  [
    'a reminder that was not sent',
    (o) => {
      o.reminders[0]!.status = 'pending';
    },
    /reminder of visit v is pending/,
  ],
  [
    'a reminder planned twice',
    (o) => {
      o.reminders.push({ visit: 'v', status: 'sent' });
    },
    /reminder of visit v is sent, sent/,
  ],
  [
    'a mail twice',
    (o) => {
      o.mails.push({ to: 'a@example.org', id: 'n' });
    },
    /visit v was reminded of by 2 mails/,
  ],
  [
    'a broken rule of the data',
    (o) => {
      o.broken.push('version numbers with a gap');
    },
    /version numbers with a gap/,
  ],
  [
    'a chain that does not verify',
    (o) => {
      o.chains[0] = { chain: 'all', valid: false, problem: 'seq 3' };
    },
    /chain all does not verify: seq 3/,
  ],
  [
    'a workflow that did not converge',
    (o) => {
      o.unconverged.push('participant a has no workflow');
    },
    /participant a has no workflow/,
  ],
];

describe('The checker of the durability runs', () => {
  it('finds nothing where everything is as it was acknowledged', () => {
    expect(faultsOf(ledger, whole())).to.deep.equal([]);
  });
  for (const [what, plant, found] of PLANTED) {
    it(`finds ${what}`, () => {
      const seen = whole();
      plant(seen);
      expect(faultsOf(ledger, seen).join('\n')).to.match(found);
    });
  }
});
