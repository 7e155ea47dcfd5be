import { expect } from 'chai';
import { Stage } from '../anchor/stage.js';
import { user } from '../support/http.js';
import { ConsoleBrowser, axe, openConsole, signIn } from './browser.js';
import { pagesToShow } from './pages.js';
import { Visitor, waiting } from './stage.js';
import type { Waiting } from './stage.js';

/** What somebody outside may write: a participant, a device, or the capture system. */
const SCRIPT = `<script>alert(1)</script>"><img src=x onerror='alert(1)'>`;

describe('every page of the console', function () {
  this.timeout(240_000);
  let browser: ConsoleBrowser;
  let stage: Stage;
  let of: Waiting;
  let admin: { email: string };
  let paths: string[];
  before(async () => {
    [browser, stage] = await Promise.all([ConsoleBrowser.start(), Stage.open()]);
    of = await waiting(stage);
    admin = await user(stage.admin, 'admin');
    const written = await writtenFromOutside(stage, of);
    const battery = await stage.admin.expect<{ id: number; modules: { id: string }[] }>(201, 'POST', '/api/batteries', {
      study_id: of.study.id,
      code: 'EVERY',
      name: 'Of every page',
      modules: [{ task: 'stroop' }],
    });
    const site = await stage.admin.expect(201, 'POST', `/api/studies/${of.study.id}/sites`, {
      site_code: 'EVERY',
      name: SCRIPT,
    });
    const [visit] = await of.person.visits();
    const [window] = await stage.sql<{ id: string }>('select id from visit_windows where study_id = ? limit 1', [
      of.study.id,
    ]);
    const empty = await stage.study({}, { days: [] });
    paths = pagesToShow({
      study: of.study.id,
      participant: of.person.id,
      user: of.asker.userId!,
      approval: of.request,
      battery: String(battery.id),
      more: {
        module_id: battery.modules[0]!.id,
        site_id: site.id,
        visit_id: visit!.id,
        window_id: window!.id,
        template_id: 'longitudinal-cognition',
        ...written,
      },
      empty: empty.id,
    }).map(({ path }) => path);
    expect(paths.length).to.be.greaterThan(50);
  });
  after(async () => {
    await browser?.close();
    await stage?.close();
  });

  it('shows what participants, devices and capture systems write as text; gives no id to two elements: a label would name the other one', async () => {
    const visitor = await Visitor.of(stage.run.api, admin.email);
    let shown = 0;
    const twice: string[] = [];
    for (const path of [...paths, `/console/inbox?study=${of.study.id}`, `/console/audit?study_id=${of.study.id}`]) {
      const { status, text } = await visitor.get(path);
      const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id!);
      twice.push(...ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `${path}: ${id}`));
      if (status === 303) continue;
      expect(status, path).to.equal(200);
      expect(text, path).not.to.include('<script>alert').and.not.to.include('<img src=x');
      if (text.includes('&lt;script>alert') || text.includes('&lt;script&gt;alert')) shown += 1;
    }
    expect(shown, 'pages that show some of it').to.be.greaterThan(5);
    expect(twice).to.deep.equal([]);
  });

  it('has no fault of accessibility, in both themes, wide and on a phone', async () => {
    const { page, faults } = await openConsole(browser, '/console/login');
    await signIn(page, admin.email);
    const found: string[] = [];
    for (const path of paths) {
      const answer = await page.goto(`${browser.base}${path}`);
      expect(answer?.status(), path).to.equal(200);
      // What is folded away has its faults too.
      await page.evaluate(`document.querySelectorAll('main details').forEach((one) => { one.open = true; })`);
      found.push(...(await axe(page)).map((one) => `${path}: ${one}`));
    }
    expect(found).to.deep.equal([]);
    expect(faults).to.deep.equal([]);
  });
});

/** Rows with a script in each text that comes from outside; answers the ids of those that have a page. */
async function writtenFromOutside(stage: Stage, { study, person }: Waiting): Promise<Record<string, string>> {
  const given = { study: study.id, person: person.id, script: SCRIPT };
  const one = async (statement: string, more: Record<string, string> = {}): Promise<string> =>
    (await stage.sql<{ id: string }>(statement, { ...given, ...more }))[0]!.id;
  await one(
    `insert into datacapture_configs (study_id, api_url, api_token_encrypted, project_id, enrollment_instrument, enrollment_event, sync_status, sync_error_message, known_events, poll_interval_minutes)
     values (:study, 'http://127.0.0.1:9/api/', '-', :script, :script, :script, 'error', :script, '{}', 0) returning id`,
  );
  await one(
    `insert into webhook_events (study_id, project_id, record, instrument, event_name, data_access_group, raw_body_hash, status, error, participant_id, processed_at)
     values (:study, :script, :script, :script, :script, :script, '\\x00', 'failed', :script, :person, now()) returning id`,
  );
  const sync_id = await one(
    `insert into datacapture_syncs (study_id, kind, status, listed, records_total, error_code, error, finished_at)
     values (:study, 'sync', 'failed', true, 1, 'rejected', :script, now()) returning id`,
  );
  await stage.sql(
    `insert into datacapture_sync_records (sync_id, study_id, record, position, outcome, participant_id, issues)
     select id, study_id, :script, 1, 'failed', :person, jsonb_build_array(jsonb_build_object('code', 'X', 'message', cast(:script as text)))
       from datacapture_syncs where study_id = :study`,
    given,
  );
  const session = await one(
    `insert into assessment_sessions (study_id, participant_id, visit_id, status, source, local_id, content_hash, device_id, language, timezone, completed_at, sync_status)
     select :study, :person, id, 'completed', 'offline', :script, repeat('a', 64), :script, 'en', 'UTC', now(), 'failed'
       from scheduled_visits where participant_id = :person limit 1 returning id`,
  );
  await stage.sql(
    `insert into result_pushes (session_id, study_id, participant_id, status, error_type, message)
     values (:session, :study, :person, 'failed', 'rejected', :script)`,
    { ...given, session },
  );
  return {
    sync_id,
    conflict_id: await one(
      `insert into sync_conflicts (study_id, participant_id, kind, conflict_type, resolution, local_id, session_id, message, local_content, server_content, content_hash, task)
       values (:study, :person, 'session', 'duplicate_session', 'server_wins', :script, :session, :script, jsonb_build_object('deviceId', cast(:script as text)),
         jsonb_build_object('deviceId', cast(:script as text)), repeat('a', 64), :script) returning id`,
      { session },
    ),
  };
}
