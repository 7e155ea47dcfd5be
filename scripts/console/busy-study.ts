import { withApproval } from '../../test/console/stage.js';
import type { Subjects } from '../../test/console/pages.js';
import { Stage } from '../../test/anchor/stage.js';
import type { Person } from '../../test/anchor/stage.js';
import { Http, goodPassword, login } from '../../test/support/http.js';
import type { RunJson } from '../../test/support/service.js';
import { workInProgress } from './work-in-progress.js';

const DAY_MS = 86_400_000;
const day = (fromToday: number): string => new Date(Date.now() + fromToday * DAY_MS).toISOString().slice(0, 10);

/** An admin approves as well: the pictures are taken as an admin, and show what an approver sees. */
const withAdmins = {
  ...withApproval,
  permissions: { ...withApproval.permissions, override_approver_roles: ['admin', 'researcher'] },
};
/** The visits of the study: days and names. */
const WINDOWS: [number, string, string, number][] = [
  [0, 'BL', 'Baseline', 3],
  [30, 'M1', 'Month 1', 7],
  [90, 'M3', 'Month 3', 10],
  [180, 'M6', 'Month 6', 14],
  [365, 'M12', 'Month 12', 21],
];
const SITES: [string, string, string][] = [
  ['BER', 'Charité Berlin', 'Europe/Berlin'],
  ['BOS', 'Boston General', 'America/New_York'],
];
const STAFF: [string, string, string][] = [
  ['Dr. Miriam Okafor', 'miriam.okafor@example.org', 'researcher'],
  ['Jonas Weber', 'jonas.weber@example.org', 'coordinator'],
  ['Prof. Ana Lindqvist', 'ana.lindqvist@example.org', 'investigator'],
  ['Sam Patel', 'sam.patel@example.org', 'data_manager'],
];
/** The days of enrollment, from today: some long ago, some of this week. */
const ENROLLED = [-400, -370, -215, -183, -150, -95, -90, -61, -33, -30, -29, -14, -5, -1, 0];

/** Creates the study's other parts: batteries, message texts, a connection with its mapping. */
async function furnish(admin: Http, study_id: string): Promise<{ battery_id: string; module_id: string }> {
  const main = await admin.expect(201, 'POST', '/api/batteries', {
    study_id,
    code: 'COG-A',
    name: 'Attention and memory',
    status: 'published',
    modules: [{ task: 'reaction_time' }, { task: 'n_back' }, { task: 'digit_span' }],
  });
  const changed = await admin.expect<{ modules: { id: string }[] }>(200, 'PATCH', `/api/batteries/${main.id}`, {
    modules: [{ task: 'reaction_time', settings: { trials: 60 } }, { task: 'n_back' }, { task: 'stroop' }],
  });
  await admin.expect(201, 'POST', '/api/batteries', { study_id, code: 'COG-S', name: 'Short follow-up', modules: [] });
  for (const [event_oid, name, target_day] of [
    ['SE_BL', 'Baseline', 0],
    ['SE_CALL', 'Phone call', 14],
  ] as const)
    await admin.expect(201, 'POST', `/api/studies/${study_id}/event-definitions`, { event_oid, name, target_day });
  const reminder = { subject: 'Your visit {visit_name}', body: 'We look forward to seeing you.' };
  await admin.expect(200, 'PATCH', `/api/studies/${study_id}`, {
    config: {
      notifications: { days_before: [7, 1], send_at: '10:00', languages: { en: { visit_reminder: reminder } } },
      contact: { name: 'Study office', email: 'office@example.org' },
    },
  });
  await admin.expect(201, 'PATCH', `/api/datacapture/config/${study_id}`, {
    api_url: 'http://127.0.0.1:9/api/',
    api_token: 'EXAMPLE',
    project_id: '1742',
    enrollment_instrument: 'enrollment',
    enrollment_event: 'baseline_arm_1',
    participant_field_mapping: { participant_code: 'subject_code', enrollment_date: 'consent_date', site_code: 'site' },
    event_battery_mapping: {
      baseline_arm_1: { battery_id: main.id, target_day: 0 },
      month_6_arm_1: { battery_id: main.id, target_day: 180, window_before: 14, window_after: 14 },
    },
    data_field_mapping: {
      n_back: { datacapture_instrument: 'cognition', fields: { d_prime: 'nback_dprime', mean_rt: 'nback_rt' } },
    },
  });
  return { battery_id: String(main.id), module_id: String(changed.modules[0]!.id) };
}

/** A study in progress: sites, staff, participants with past and future visits, an open request. */
export async function busyStudy(run: RunJson): Promise<Subjects> {
  const stage = await Stage.open(run);
  const { admin } = stage;
  try {
    const study = await stage.study(withAdmins, {
      days: [],
      fields: { study_code: 'MEMORY-24', study_name: 'Memory and ageing, two years' },
    });
    const sites: string[] = [];
    for (const [site_code, name, timezone] of SITES)
      sites.push((await admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, { site_code, name, timezone })).id);
    for (const [target, code, name, around] of WINDOWS)
      await study.window(target, { code, name, window_before: around, window_after: around });
    const { battery_id, module_id } = await furnish(admin, study.id);
    const staff: Http[] = [];
    for (const [name, email, role] of STAFF) {
      await admin.expect(201, 'POST', '/api/auth/register', {
        name,
        email,
        role,
        password: goodPassword,
        study_ids: [study.id],
      });
      staff.push((await login(run.api, email, goodPassword)).http);
    }
    const coordinator = staff[1]!;
    const people: Person[] = [];
    for (const [at, enrolled] of ENROLLED.entries()) {
      const person = await study.person({
        participant_code: `MEM-${String(at + 1).padStart(4, '0')}`,
        site_id: sites[at % sites.length],
      });
      people.push(person);
      // The newest has no date yet.
      if (at < ENROLLED.length - 1) await person.set(day(enrolled), coordinator);
      for (const visit of await person.visits())
        if (visit.window_open <= day(0) && (at + Number(visit.target_date.slice(-2))) % 4 !== 0)
          await person.complete(visit.id);
    }
    const [first, second] = [people[5]!, people[8]!];
    const asked = await first.override(day(-92), coordinator, { reason: 'The signed form says three days later.' });
    await second.override(day(-35), coordinator, { reason: 'Typing error in the month.' });
    await admin.expect(201, 'POST', '/api/audit/checkpoints', {});
    await admin.expect(202, 'POST', '/api/audit-verifications', {});
    const admin_id = admin.userId!;
    const done = (await people[1]!.visits()).find(({ status }) => status === 'completed')!;
    const waits = await workInProgress({
      stage,
      study_id: study.id,
      user_id: admin_id,
      participant_ids: people.map(({ id }) => id),
      visit: { participant_id: people[1]!.id, id: done.id },
    });
    const empty = await stage.study({}, { days: [], fields: { study_code: 'PILOT', study_name: 'Pilot study' } });
    return {
      study: study.id,
      participant: first.id,
      user: coordinator.userId!,
      approval: asked.body.override_request_id,
      battery: battery_id,
      more: { module_id, ...waits },
      empty: empty.id,
    };
  } finally {
    await stage.close();
  }
}
