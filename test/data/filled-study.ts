import { unique } from '../support/http.js';
import type { Http, Loose } from '../support/http.js';
import { until } from '../support/until.js';
import { AnchorStudy, Person, Stage } from '../anchor/stage.js';
import { Site, day, trials } from '../assessment/stage.js';

export interface FilledStudy {
  site: Site;
  study: Loose;
  windows: Loose[];
  battery: Loose;
  sites: Loose[];
  people: Loose[];
  /** The anchor date of the first of them. */
  enrolled: string;
  sessionId: string;
}

/** Asks again while a busy worker does not answer in time (503). */
const answered = (ask: () => Promise<{ status: number; text: string }>) =>
  until(
    async () => {
      const answer = await ask();
      if (answer.status === 503) return false;
      // What an unanswered attempt has done already is said as a conflict with itself.
      if (answer.status !== 200 && !answer.text.includes('NO_CHANGE')) throw new Error(answer.text);
      return true;
    },
    { timeout: 90_000, what: 'the worker to answer' },
  );

/** Nothing of the study is on its way any more: what is read twice is the same. */
async function settled(study: string, people: Loose[]): Promise<void> {
  const stage = await Stage.open();
  try {
    const own = new AnchorStudy(stage, study);
    await own.settled();
    for (const { id } of people) await new Person(own, id).settled();
  } finally {
    await stage.close();
  }
}

/**
 * A study with something of everything: sites, a published battery, windows, three people, anchors with a history, a
 * completed visit, trials.
 */
export async function filledStudy(http: Http): Promise<FilledStudy> {
  const site = await Site.open(
    { consent_mode: 'econsent', start_date: '2020-01-01', timezone: 'Europe/Berlin', config: { note: 'mine' } },
    http,
  );
  const { study } = site;
  const at = `/api/studies/${study.id}`;
  const sites = [
    await http.expect(201, 'POST', `${at}/sites`, { site_code: 'BER', timezone: 'Europe/Berlin' }),
    await http.expect(201, 'POST', `${at}/sites`, { site_code: 'NYC', timezone: 'America/New_York' }),
  ];
  const battery = await site.battery([{ task: 'stroop' }, { task: 'n_back', settings: {} }]);
  await http.expect(200, 'PATCH', `/api/batteries/${battery.id as unknown as number}`, { status: 'published' });
  const windows = [];
  for (const [code, target_day] of [
    ['W0', 0],
    ['W4', 28],
    ['W8', 56],
  ] as const) {
    windows.push(
      await http.expect(201, 'POST', '/api/schedules/windows', {
        study_id: study.id,
        code,
        name: `Visit ${code}`,
        target_day,
        battery_id: battery.id,
        is_baseline: target_day === 0,
      }),
    );
  }
  const people = [
    await site.newParticipant({
      participant_code: '=1+1',
      external_id: 'E-1',
      site_code: 'BER',
      email: 'one@example.org',
      phone: '+49 30 1',
      date_of_birth: '1960-02-29',
    }),
    await site.newParticipant({ participant_code: '-3.5', site_code: 'NYC', preferred_language: 'es' }),
    await site.newParticipant({ participant_code: 'Zoë, "the third"' }),
  ];
  const of = (i: number) => `${at}/participants/${people[i]!.id}`;
  await answered(() => http.post(`${of(0)}/anchor-date`, { enrollment_date: day(-3), reason: '@first' }));
  await http.expect(201, 'POST', `${of(0)}/consents`, {
    status: 'signed',
    signed_at: `${day(-5)}T10:00:00.250Z`,
    consent_version_id: 'v1',
  });
  await until(async () => (await http.get(`${of(0)}/anchor-date`)).body.status === 'finalized', {
    timeout: 60_000,
    what: 'the anchor to be finalized',
  });
  const [visit] = (
    await http.expect<{ items: Loose[] }>(
      200,
      'GET',
      `/api/schedules/visits?participant_id=${people[0]!.id}&sort=target_date`,
    )
  ).items;
  const sessionId = await site.session({ participant_id: people[0]!.id, visit_id: visit!.id });
  await site.submit(sessionId, {
    task_summaries: { stroop: { mean_rt: 512.25, accuracy: 0.875 } },
    raw_trials: trials('stroop', 1_200, { data: { note: 'a, "b"\n' } }),
  });
  await site.end(sessionId);
  const enrolled = day(-2);
  await answered(() =>
    http.post(`${of(0)}/anchor-date/override`, {
      new_enrollment_date: enrolled,
      reason: 'counted from the second day',
    }),
  );
  await http.expect(201, 'POST', `${of(1)}/forms`, {
    form_oid: 'F',
    status: 'complete',
    items: { DATE: day(-1), text: unique('ü') },
  });
  await http.expect(201, 'POST', `${of(1)}/randomization`, { arm: 'B', randomized_at: `${day(-1)}T10:00:00Z` });
  await http.expect(200, 'PUT', `${of(1)}/eligibility`, {
    status: 'pending',
    inclusion_criteria: { I1: { met: true, value: 3, notes: null } },
  });
  const caregiver = await http.expect(201, 'POST', `${at}/caregivers`, {
    name: 'Ünal, "Ada"',
    email: 'ada@example.org',
    preferred_language: 'tr',
  });
  for (const i of [0, 1])
    await http.expect(200, 'PUT', `${at}/caregivers/${caregiver.id}/participants/${people[i]!.id}`, {
      relationship: 'mother',
    });
  await http.expect(200, 'POST', `/api/participants/${people[2]!.id}/withdraw`, { reason: 'moved away' });
  await settled(study.id, people.slice(0, 2));
  return { site, study, windows, battery, sites, people, enrolled, sessionId };
}
