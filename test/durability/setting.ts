import { createHmac, randomUUID } from 'node:crypto';
import { startSimulator } from '../capture-simulator/server.js';
import type { Simulator } from '../capture-simulator/server.js';
import { clockIn, daytimeZone } from '../notifications/stage.js';
import type { Cluster } from '../support/cluster.js';
import { Http, login, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { Link } from '../support/link.js';

const PROJECT = 4711;
export const EVENT = 'baseline_arm_1';

const DICTIONARY = [
  'field_name,form_name,field_type,field_label,select_choices_or_calculations,text_validation_type_or_show_slider_number',
  'subject_id,enroll,text,Subject,,',
  'enrolled,enroll,text,Enrolled,,date_ymd',
  'mean_rt,cognition,text,Mean,,',
  'trials,cognition,text,Trials,,',
].join('\n');

/** Settings under which what waits comes back within seconds. */
export const SETTINGS = {
  REQUEST_TIMEOUT_SECONDS: '5',
  ACCESS_TOKEN_MINUTES: '1000',
  REMINDER_INTERVAL_SECONDS: '2',
  DATACAPTURE_BREAKER_COOLDOWN_SECONDS: '1',
  PUSH_RETRY_INITIAL_SECONDS: '0.2',
  DATACAPTURE_PUSHES_PER_MINUTE: '6000',
  EVENT_RETRY_INITIAL_SECONDS: '0.5',
  AUDIT_CHECKPOINT_SECONDS: '5',
};

const policy = (approval: boolean) => ({
  sources: [{ type: 'manual_entry', priority: 1, is_active: true }],
  schedule_on_provisional: true,
  permissions: {
    can_override: ['admin', 'researcher'],
    override_requires_approval: approval,
    override_approver_roles: approval ? ['admin'] : [],
  },
});

/** The studies that participants are enrolled in, and a capture system behind a link of its own. */
export class Setting {
  private constructor(
    readonly cluster: Cluster,
    readonly admin: Http,
    readonly researcher: Http,
    readonly studies: { hand: string; approved: string; capture: string },
    readonly simulator: Simulator,
    private readonly secret: string,
    readonly zone: string,
  ) {}

  static async make(cluster: Cluster): Promise<Setting> {
    const { http: admin } = await login(cluster.run.api, cluster.run.admin_email, cluster.run.admin_password ?? '');
    const zone = daytimeZone();
    const study = async (code: string, fields: Record<string, unknown>, days: number[]): Promise<string> => {
      const { id } = await admin.expect<Loose>(201, 'POST', '/api/studies', {
        study_code: code,
        study_name: code,
        timezone: zone,
        ...fields,
      });
      for (const day of days)
        await admin.expect(201, 'POST', '/api/schedules/windows', {
          study_id: id,
          code: `D${day}`,
          name: `Day ${day}`,
          target_day: day,
          window_before: 3,
          window_after: 3,
        });
      return id;
    };
    const notifications = { channels: ['email'], days_before: [1], send_at: clockIn(zone, -5) };
    const hand = await study('HAND', { config: { enrollment_date_policy: policy(false), notifications } }, [0, 30, 60]);
    const approved = await study('APPROVED', { config: { enrollment_date_policy: policy(true) } }, [0, 30]);
    const capture = await study(
      'CAPTURE',
      {
        datacapture_enabled: true,
        integration_mode: 'datacapture',
        consent_mode: 'external',
        timezone: 'UTC',
        start_date: '2020-01-01',
      },
      [],
    );
    const researcher = await user(admin, 'researcher', { study_ids: [approved] });

    const simulator = await startSimulator({ projects: [] }),
      token = randomUUID().replaceAll('-', '').toUpperCase(),
      secret = `s-${randomUUID()}`;
    simulator.control.addProject({
      project: {
        project_id: PROJECT,
        title: 'A study of memory',
        arms: [{ arm_num: 1, name: 'Arm 1' }],
        events: [
          { event_name: 'Baseline', day_offset: 0, offset_min: 0, offset_max: 7, forms: ['enroll', 'cognition'] },
        ],
        instruments: [
          { name: 'enroll', label: 'Enrollment' },
          { name: 'cognition', label: 'Cognition' },
        ],
        users: [{ username: 'api', token }],
      },
      dictionary: DICTIONARY,
      data: '',
    });
    const link = await Link.open(() => [simulator.port]);
    cluster.links.set('capture', link);
    const battery = await admin.expect<{ id: number }>(201, 'POST', '/api/batteries', {
      study_id: capture,
      code: 'BASELINE',
      name: 'Baseline',
      modules: [{ task: 'stroop' }],
    });
    await admin.expect(201, 'PATCH', `/api/datacapture/config/${capture}`, {
      api_url: `http://127.0.0.1:${link.port}/api/`,
      api_token: token,
      webhook_secret: secret,
      webhook_enabled: true,
      poll_interval_minutes: 0,
      enrollment_instrument: 'enroll',
      enrollment_event: EVENT,
      participant_field_mapping: { enrollment_date: 'enrolled' },
      event_battery_mapping: { [EVENT]: { battery_id: battery.id, target_day: 0 } },
      data_field_mapping: {
        stroop: { datacapture_instrument: 'cognition', fields: { mean_rt: 'mean_rt', total_trials: 'trials' } },
      },
    });
    await admin.expect(200, 'POST', `/api/datacapture/config/${capture}/test-connection`);
    return new Setting(cluster, admin, researcher, { hand, approved, capture }, simulator, secret, zone);
  }

  /** Saves the enrollment form; its trigger is the caller's to send. */
  async saved(record: string, enrolled: string): Promise<{ body: string; headers: Record<string, string> }> {
    await this.simulator.control.saveForm(PROJECT, {
      record,
      instrument: 'enroll',
      event: EVENT,
      values: { enrolled },
      trigger: false,
    });
    const body = new URLSearchParams({
      project_id: String(PROJECT),
      instrument: 'enroll',
      record,
      redcap_event_name: EVENT,
      enroll_complete: '2',
    }).toString();
    return {
      body,
      headers: { 'X-Datacapture-Signature': `sha256=${createHmac('sha256', this.secret).update(body).digest('hex')}` },
    };
  }

  /** Changes that came over the API, by record, and what stands there now. */
  written(): { record: string; fields: string[] }[] {
    return this.simulator.control.writes(PROJECT).filter(({ via, changed }) => via === 'api' && changed);
  }
  standing(record: string): Record<string, string> {
    return this.simulator.control.record(PROJECT, record)?.rows.find(({ event }) => event === EVENT)?.values ?? {};
  }

  async close(): Promise<void> {
    await this.simulator.stop();
  }
}
