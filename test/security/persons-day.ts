import { expect } from 'chai';
import { DAY } from '../anchor/stage.js';
import type { AnchorStudy, Person, Stage } from '../anchor/stage.js';
import { enterPortalOf } from '../support/portal.js';
import { unique } from '../support/http.js';
import type { Http } from '../support/http.js';
import { until } from '../support/service.js';
import type { Marker } from './traces-of.js';

const POLICY = {
  sources: [{ type: 'manual_entry' }, { type: 'consent_workflow' }],
  prerequisites: { require_consent_signed: false },
  permissions: {
    can_override: ['admin', 'coordinator', 'researcher'],
    override_requires_approval: true,
    override_approver_roles: ['researcher'],
    participant_can_set: true,
  },
};
const word = (about: string): string => unique(`zq${about}`).replaceAll('-', '');
const LATER = '2024-03-17';

/** A day of a study on a service that trusts its proxy: everything that persons say and are has a word of its own. */
export class Day {
  readonly marks: Marker[] = [];
  /** From somewhere else, by a browser that is like no other. */
  readonly from = {
    headers: {
      'user-agent': this.marked('a browser', `Browser/${word('agent')}`),
      'x-forwarded-for': this.marked('an address', '203.0.113.177'),
    },
  };
  private constructor(
    private readonly stage: Stage,
    readonly study: AnchorStudy,
  ) {}

  static async of(stage: Stage): Promise<Day> {
    const day = new Day(stage, await stage.study(POLICY));
    await day.lives();
    await until(async () => (await stage.sql('select 1 from outbox')).length === 0, {
      what: 'messages to be delivered',
    });
    return day;
  }

  private marked(name: string, value: string): string {
    this.marks.push({ name, word: value });
    return value;
  }
  private reason(of: string): string {
    return this.marked(`the reason of ${of}`, `${word('reason')} of ${of}`);
  }

  async someone(): Promise<Person> {
    const code = this.marked('a code', word('code'));
    return this.study.person({
      participant_code: code,
      external_id: this.marked('an external id', word('external')),
      email: this.marked('an e-mail address', `${word('mail')}@example.org`),
      phone: '+4930111222333',
      date_of_birth: '1961-07-23',
    });
  }
  async asked(asker: Http): Promise<{ person: Person; request: string }> {
    const person = await this.someone();
    await person.post('', { enrollment_date: DAY, reason: this.reason('a date by hand') }, asker, this.from);
    const { body, status, text } = await person.post(
      '/override',
      { new_enrollment_date: LATER, reason: this.reason('an override') },
      asker,
      this.from,
    );
    expect(status, text).to.equal(202);
    return { person, request: body.override_request_id as string };
  }

  private async lives(): Promise<void> {
    const { stage, study, from } = this;
    const [asker, approver] = await Promise.all([study.as('coordinator'), study.as('researcher')]);
    const decide = (person: Person, request: string, how: string, by: Http) =>
      person.post(`/override-requests/${request}/${how}`, { reason: this.reason(`a decision: ${how}`) }, by, from);
    const approved = await this.asked(asker);
    expect((await decide(approved.person, approved.request, 'approve', asker)).status, 'refused').to.equal(403);
    expect((await decide(approved.person, approved.request, 'approve', approver)).status).to.equal(200);
    expect(
      (await approved.person.post('/override-back', { reason: this.reason('an override-back') }, asker, from)).status,
    ).to.be.oneOf([200, 403]);
    const denied = await this.asked(asker);
    expect((await decide(denied.person, denied.request, 'deny', approver)).status).to.equal(200);
    const cancelled = await this.someone();
    await cancelled.post('', { enrollment_date: '2999-01-01', reason: this.reason('a date ahead') }, asker, from);
    await cancelled.post('/cancel', { reason: this.reason('a cancel') }, asker, from);
    await cancelled.post('/evaluate', {}, asker, from);
    const own = await this.someone();
    const portal = await enterPortalOf(stage.run, stage.admin, own.id);
    expect((await portal.post(`${own.path}/anchor-date`, { enrollment_date: DAY }, from)).status).to.equal(200);
    await stage.admin.expect(200, 'POST', `/api/participants/${own.id}/withdraw`, {
      reason: this.reason('a withdrawal'),
    });
  }
}
