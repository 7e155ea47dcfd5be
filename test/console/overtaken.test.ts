import { expect } from 'chai';
import { Stage } from '../anchor/stage.js';
import type { AnchorStudy } from '../anchor/stage.js';
import { newStudy, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { Visitor, hiddenIn, tokenIn, waiting } from './stage.js';

const manual = { sources: [{ type: 'manual_entry' }], prerequisites: { require_consent_signed: false } };

describe('a form of the console that was refused once, and meanwhile overtaken by somebody else', function () {
  this.timeout(120_000);
  let stage: Stage;
  let study: AnchorStudy;
  let visitor: Visitor;
  before(async () => {
    stage = await Stage.open();
    study = await stage.study(manual, { days: [0] });
    const { email } = await user(stage.admin, 'researcher', { study_ids: [study.id] });
    visitor = await Visitor.of(stage.run.api, email);
  });
  after(() => stage?.close());

  /** What a page's form sends besides what is typed. */
  const drawn = (html: string, names: readonly string[]) =>
    Object.fromEntries([['_token', tokenIn(html)], ...names.map((name) => [name, hiddenIn(html, name)])]) as Record<
      string,
      string
    >;
  /** The value that a page's field has. */
  const shown = (html: string, name: string) => new RegExp(`name="${name}"[^>]*value="([^"]*)"`).exec(html)?.[1];

  it('overwrites nothing of the settings: it says what the other one changed, and keeps it', async () => {
    const path = `/console/studies/${study.id}/settings`;
    const first = (await visitor.get(path)).text;
    const typed = {
      study_name: shown(first, 'study_name')!,
      description: 'typed here',
      status: 'active',
      start_date: '',
      end_date: '',
      timezone: 'Europe/Vieena',
      consent_mode: 'econsent',
    };
    await stage.admin.expect(200, 'PATCH', `/api/studies/${study.id}`, { study_name: 'The other name' });
    const refused = await visitor.send('POST', path, { ...drawn(first, ['version', 'seen']), ...typed });
    expect(refused.status).to.equal(422);
    expect(refused.text).to.match(/name="timezone"[^>]*aria-invalid|aria-invalid[^>]*name="timezone"/);
    const mended = { ...typed, timezone: 'Europe/Vienna' };
    const stale = await visitor.send('POST', path, { ...drawn(refused.text, ['version', 'seen']), ...mended });
    expect(stale.status).to.equal(409);
    expect(stale.text).to.include('This is what the other one changed').and.to.include('>The other name</ins>');
    expect(shown(stale.text, 'study_name')).to.equal('The other name');
    expect(stale.text).to.include('typed here');
    const last = { ...mended, study_name: shown(stale.text, 'study_name')! };
    const saved = await visitor.send('POST', path, { ...drawn(stale.text, ['version', 'seen']), ...last });
    expect(saved.status).to.equal(303);
    expect(await stage.admin.expect(200, 'GET', `/api/studies/${study.id}`)).to.include({
      study_name: 'The other name',
      description: 'typed here',
      timezone: 'Europe/Vienna',
    });
  });

  it('overwrites nothing of a visit window', async () => {
    const { items } = await stage.admin.expect<{ items: Loose[] }>(
      200,
      'GET',
      `/api/schedules/windows?study_id=${study.id}`,
    );
    const [window] = items;
    const path = `/console/studies/${study.id}/windows/${window!.id}`;
    const first = (await visitor.get(path)).text;
    const names = ['code', 'name', 'target_day', 'window_before', 'window_after', 'datacapture_event', 'sort_order'];
    const typed = Object.fromEntries(names.map((name) => [name, shown(first, name) ?? '']));
    await stage.admin.expect(200, 'PATCH', `/api/schedules/windows/${window!.id}`, { window_after: 12 });
    const send = (html: string, more: Record<string, string>) =>
      visitor.send('POST', path, {
        ...drawn(html, ['version', 'seen']),
        ...typed,
        battery_id: '',
        ...more,
        do: 'save',
      });
    const refused = await send(first, { target_day: 'soon' });
    expect(refused.status).to.equal(422);
    const stale = await send(refused.text, { name: 'Renamed' });
    expect(stale.status).to.equal(409);
    expect(shown(stale.text, 'window_after')).to.equal('12');
    expect(shown(stale.text, 'name')).to.equal('Renamed');
    // A battery that is gone is named at its field.
    const gone = await send(stale.text, { name: 'Renamed', window_after: '12', battery_id: '99999999' });
    expect(gone.status).to.equal(400);
    expect(gone.text)
      .to.include('There is no such battery.')
      .and.to.match(/<select[^>]*aria-invalid[^>]*>/);
  });

  it('overwrites no policy, nor does one whose effect was shown first', async () => {
    const path = `/console/studies/${study.id}/policy`;
    const first = (await visitor.get(path)).text;
    const send = (html: string, policy: string, to: 'try' | 'save') =>
      visitor.send('POST', path, { ...drawn(html, ['policy_version']), policy, do: to });
    const mine = JSON.stringify({ ...manual, schedule_on_provisional: true });
    await stage.admin.expect(200, 'POST', `/api/studies/${study.id}/config/enrollment-policy`, {
      ...manual,
      override_approval_timeout_hours: 5,
    });
    const unread = await send(first, '{ "sources": [', 'save');
    expect(unread.status).to.equal(422);
    for (const to of ['save', 'try'] as const) {
      const stale = await send(unread.text, mine, to);
      expect(stale.status, to).to.equal(409);
      expect(stale.text).to.include('Somebody else has changed this');
    }
    const policy = await stage.admin.expect(200, 'GET', `/api/studies/${study.id}/config/enrollment-policy`);
    expect(policy).to.include({ override_approval_timeout_hours: 5, schedule_on_provisional: false });
    // Who has read it may save.
    const stale = await send(first, mine, 'save');
    expect((await send(stale.text, mine, 'try')).status).to.equal(200);
    expect((await send(stale.text, mine, 'save')).status).to.equal(303);
  });

  it('names the code of a battery’s copy that is taken, not the battery’s own, and keeps it', async () => {
    const ours = await newStudy(stage.admin);
    const { email } = await user(stage.admin, 'researcher', { study_ids: [String(ours.id)] });
    const by = await Visitor.of(stage.run.api, email);
    const [one] = await Promise.all(
      ['ONE', 'TWO'].map((code) =>
        stage.admin.expect(201, 'POST', '/api/batteries', { study_id: ours.id, code, name: code }),
      ),
    );
    const path = `/console/studies/${ours.id}/batteries/${one!.id}`;
    const { status, text } = await by.post(path, `${path}/duplicate`, { copy_code: 'TWO' });
    expect(status).to.equal(409);
    expect(text)
      .to.match(/<input[^>]*name="copy_code"[^>]*value="TWO"[^>]*aria-invalid/)
      .and.to.include('Another battery of the study has this code.')
      .and.not.to.match(/<input[^>]*name="code"[^>]*aria-invalid/);
  });

  it('takes a reason of as many letters as a field has, its line ends counted once as by browsers', async () => {
    const of = await waiting(stage);
    const approver = await Visitor.of(stage.run.api, of.approver.email);
    const path = `/console/approvals/${of.request}`;
    const { text } = await approver.get(path);
    const reason = `${'because\r\n'.repeat(249)}because`;
    const decided = await approver.send('POST', path, {
      ...drawn(text, ['preview_hash', 'shown']),
      _back: path,
      reason,
      decision: 'deny',
    });
    expect(decided.status).to.equal(303);
    const second = await waiting(stage);
    const other = await Visitor.of(stage.run.api, second.approver.email);
    const at = `/console/approvals/${second.request}`;
    const long = await other.post(at, at, {
      preview_hash: hiddenIn((await other.get(at)).text, 'preview_hash'),
      reason: 'x'.repeat(2_001),
      decision: 'deny',
    });
    expect([long.status, long.text.includes('At most 2000 characters.')]).to.deep.equal([422, true]);
  });

  it('leaves texts in the language they were typed for when somebody else adds another, and keeps that', async () => {
    const text = (body: string) => ({ visit_reminder: { subject: body, body } });
    const config = (more: object) => ({ config: { notifications: { languages: more } } });
    const ours = await newStudy(stage.admin, config({ en: text('English') }));
    const { email } = await user(stage.admin, 'researcher', { study_ids: [String(ours.id)] });
    const by = await Visitor.of(stage.run.api, email);
    const path = `/console/studies/${ours.id}/messages`;
    const typed = { channels: 'email', days_before: '1', portal_results: 'none', new_kind: 'visit_reminder' };
    /** The texts of a page's form, with what is typed in place of others. */
    const textsOn = (html: string, instead: Record<string, string>) =>
      Object.fromEntries(
        [
          ...html.matchAll(/<input[^>]*name="(template[^"]+)"[^>]*value="([^"]*)"/g),
          ...html.matchAll(/<textarea[^>]*name="(template[^"]+)"[^>]*>\n?([^<]*)</g),
        ].map(([, name, value]) => [name!, instead[value!] ?? value!]),
      );
    const first = (await by.get(path)).text;
    // German is before English in what is stored.
    await stage.admin.expect(200, 'PATCH', `/api/studies/${ours.id}`, config({ de: text('Deutsch') }));
    const stale = await by.send('POST', path, {
      ...drawn(first, ['version', 'seen']),
      ...typed,
      ...textsOn(first, { English: 'Better English' }),
    });
    expect(stale.status).to.equal(409);
    const saved = await by.send('POST', path, {
      ...drawn(stale.text, ['version', 'seen']),
      ...typed,
      ...textsOn(stale.text, {}),
    });
    expect(saved.status).to.equal(303);
    const stored = await stage.admin.expect(200, 'GET', `/api/studies/${ours.id}`);
    expect((stored.config as { notifications: Loose }).notifications.languages).to.deep.equal({
      de: text('Deutsch'),
      en: text('Better English'),
    });
    // A text that was removed meanwhile is kept as one to add.
    await stage.admin.expect(200, 'PATCH', `/api/studies/${ours.id}`, config({ de: { visit_reminder: null } }));
    const before = { ...drawn(stale.text, ['seen']), version: 'overtaken' };
    const gone = await by.send('POST', path, { ...before, ...typed, ...textsOn(stale.text, { Deutsch: 'Anders' }) });
    expect(gone.status).to.equal(409);
    expect(shown(gone.text, 'new_language')).to.equal('de');
    expect(shown(gone.text, 'new_subject')).to.equal('Anders');
  });

  it('restores no role or study of a user that somebody else has taken away', async () => {
    const [kept, taken, added] = await Promise.all([0, 1, 2].map(() => newStudy(stage.admin)));
    const ids = [kept!, taken!, added!].map(({ id }) => String(id)) as [string, string, string];
    const someone = await user(stage.admin, 'researcher', { study_ids: ids.slice(0, 2) });
    const { id } = await someone.expect(200, 'GET', '/api/auth/me');
    const by = await Visitor.of(stage.run.api, (await user(stage.admin, 'admin')).email);
    const path = `/console/users/${id}`;
    const send = async (html: string, role: string, studies: readonly string[]) => {
      const form = new URLSearchParams({ ...drawn(html, ['shown_version', 'seen']), _back: path, role });
      for (const study of studies) form.append('study_ids', study);
      const headers = { cookie: [...by.cookies].map(([name, value]) => `${name}=${value}`).join('; ') };
      const init = { method: 'POST', redirect: 'manual', headers, body: form } as const;
      const answer = await fetch(`${stage.run.api}${path}`, init);
      return { status: answer.status, text: await answer.text() };
    };
    const first = (await by.get(path)).text;
    await stage.admin.expect(200, 'PATCH', `/api/users/${id}`, { role: 'data_manager', study_ids: [ids[0]] });
    const refused = await send(first, 'emperor', ids);
    expect(refused.status).to.equal(422);
    const stale = await send(refused.text, 'researcher', ids);
    expect(stale.status).to.equal(409);
    const chosen = [...stale.text.matchAll(/<input[^>]*name="study_ids"[^>]*value="([^"]+)"[^>]*checked/g)];
    const role = /<option(?=[^>]*selected)[^>]*value="([^"]+)"/.exec(stale.text)?.[1];
    expect(role).to.equal('data_manager');
    expect(chosen.map(([, study]) => study)).to.have.members([ids[0], ids[2]]);
    expect((await send(stale.text, role!, [ids[0], ids[2]])).status).to.equal(303);
    const { study_ids, role: now } = await someone.expect<{ study_ids: string[]; role: string }>(
      200,
      'GET',
      '/api/auth/me',
    );
    expect([now, [...study_ids].sort()]).to.deep.equal(['data_manager', [ids[0], ids[2]].sort()]);
  });

  it('leaves rows of a mapping alone that somebody else has changed, and keeps those that were typed', async () => {
    const ours = await newStudy(stage.admin);
    const api = `/api/datacapture/config/${ours.id}`;
    await stage.admin.expect(201, 'PATCH', api, {
      api_url: 'http://127.0.0.1:9/api/',
      api_token: 'a'.repeat(32),
      enrollment_instrument: 'enroll',
      participant_field_mapping: { enrollment_date: 'enrolled', phone: 'phone' },
      data_field_mapping: { stroop: { datacapture_instrument: 'cognition', fields: { mean_rt: 'rt' } } },
    });
    const { email } = await user(stage.admin, 'researcher', { study_ids: [String(ours.id)] });
    const by = await Visitor.of(stage.run.api, email);
    const path = `/console/capture/${ours.id}/mapping/edit`;
    const names = /^(enrollment_instrument|(participant|form|metric|field)\.\w+)$/;
    /** The rows of a page's form. */
    const rowsOn = (html: string) => ({
      ...Object.fromEntries(
        [...html.matchAll(/<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"/g)]
          .filter(([, name]) => names.test(name!))
          .map(([, name, value]) => [name!, value!]),
      ),
      'task.0': 'stroop',
    });
    const save = (html: string, more: Record<string, string>) =>
      by.send('POST', path, {
        ...drawn(html, ['version', 'seen']),
        ...rowsOn(html),
        ...more,
        anyway: '1',
        do: 'save',
      });
    const first = (await by.get(path)).text;
    await stage.admin.expect(200, 'PATCH', api, {
      enrollment_instrument: 'enrolment',
      participant_field_mapping: { phone: null, email: 'mail' },
      data_field_mapping: { stroop: { fields: { accuracy: 'right' } } },
    });
    const stale = await save(first, { 'participant.enrollment_date': 'enrolled_on', 'field.0': 'rt_mean' });
    expect(stale.status).to.equal(409);
    const second = await save(stale.text, { 'task.1': 'stroop' });
    expect(second.status).to.equal(303);
    const [stored] = await stage.sql(
      `select enrollment_instrument, participant_field_mapping, data_field_mapping from datacapture_configs
        where study_id = ?`,
      [ours.id],
    );
    expect(stored).to.deep.equal({
      enrollment_instrument: 'enrolment',
      participant_field_mapping: { enrollment_date: 'enrolled_on', email: 'mail' },
      data_field_mapping: {
        stroop: { datacapture_instrument: 'cognition', fields: { mean_rt: 'rt_mean', accuracy: 'right' } },
      },
    });
  });

  it('takes back no move of a visit that somebody else has made', async () => {
    const person = await study.person();
    const now = Date.now();
    const day = (days: number) => new Date(now + days * 86_400_000).toISOString().slice(0, 10);
    const { id } = await stage.admin.expect(201, 'POST', '/api/schedules/visits', {
      participant_id: person.id,
      name: 'Extra',
      target_date: day(5),
      window_open: day(2),
      window_close: day(9),
    });
    const coordinator = await user(stage.admin, 'coordinator', { study_ids: [study.id] });
    const by = await Visitor.of(stage.run.api, coordinator.email);
    const path = `/console/visits/${id}`;
    const names = ['target_date', 'window_open', 'window_close'];
    const send = (html: string, more: Record<string, string>) => {
      const form = html.slice(html.indexOf(`${path}/move"`));
      const days = Object.fromEntries(names.map((name) => [name, shown(form, name)!]));
      return by.send('POST', `${path}/move`, { ...drawn(form, ['version', 'seen']), ...days, ...more });
    };
    const first = (await by.get(path)).text;
    await stage.admin.expect(200, 'PATCH', `/api/visits/${id}`, { window_close: day(12) });
    const unread = await send(first, { target_date: 'soon' });
    expect(unread.status).to.equal(400);
    const stale = await send(unread.text, { target_date: day(6) });
    expect(stale.status).to.equal(409);
    expect((await send(stale.text, {})).status).to.equal(303);
    expect(await stage.admin.expect(200, 'GET', `/api/visits/${id}`)).to.include({
      target_date: day(6),
      window_open: day(2),
      window_close: day(12),
    });
  });

  it('leaves a description alone whose line ends only the browser wrote otherwise', async () => {
    const ours = await newStudy(stage.admin, { description: 'first\nsecond' });
    const { email } = await user(stage.admin, 'researcher', { study_ids: [String(ours.id)] });
    const by = await Visitor.of(stage.run.api, email);
    const path = `/console/studies/${ours.id}/settings`;
    const html = (await by.get(path)).text;
    const saved = await by.send('POST', path, {
      ...drawn(html, ['version', 'seen']),
      study_name: shown(html, 'study_name')!,
      description: 'first\r\nsecond',
      status: 'active',
      start_date: '',
      end_date: '',
      timezone: shown(html, 'timezone')!,
      consent_mode: String(ours.consent_mode),
    });
    expect(saved.status).to.equal(303);
    const changes = await stage.sql(`select 1 from audit_log where action = 'study_changed' and study_id = ?`, [
      ours.id,
    ]);
    expect(changes).to.deep.equal([]);
  });
});
