import { createHmac, randomInt, randomUUID } from 'node:crypto';
import type { Simulator } from '../capture-simulator/server.js';
import type { HttpRequest } from './load.js';
import type { Stage } from './stage.js';

export const EVENT = 'baseline_arm_1';
export const recordId = (i: number) => `B-${String(i).padStart(5, '0')}`;

/** Signed beforehand: the load generator has its hands free. */
export function trigger(projectId: string, record: string, secret: string): HttpRequest {
  const body = new URLSearchParams({
    project_id: projectId,
    instrument: 'enroll',
    record,
    redcap_event_name: EVENT,
    enroll_complete: '2',
  }).toString();
  return {
    method: 'POST',
    path: '/api/webhooks/datacapture/det',
    body,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-datacapture-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    },
  };
}

export interface ConnectedStudy {
  id: string;
  projectId: string;
  token: string;
}

/** A study with a capture system that knows every record. */
export async function connectedStudy(
  stage: Stage,
  simulator: Simulator,
  secret: string,
  records: number,
): Promise<ConnectedStudy> {
  const projectId = randomInt(100_000, 2_000_000_000);
  const token = randomUUID().replaceAll('-', '').toUpperCase();
  simulator.control.addProject({
    project: {
      project_id: projectId,
      title: 'Bench',
      arms: [{ arm_num: 1, name: 'Arm 1' }],
      events: [{ event_name: 'Baseline', day_offset: 0, offset_min: 0, offset_max: 7, forms: ['enroll'] }],
      instruments: [{ name: 'enroll', label: 'Enrollment' }],
      users: [{ username: 'api', token }],
    },
    dictionary:
      'field_name,form_name,field_type,field_label,text_validation_type_or_show_slider_number\nsubject_id,enroll,text,Subject,\nenrolled,enroll,text,Enrolled,date_ymd',
    data: [
      'subject_id,redcap_event_name,enrolled,enroll_complete',
      ...Array.from({ length: records }, (_, i) => `${recordId(i)},${EVENT},2026-01-05,2`),
    ].join('\n'),
  });
  const study = await stage.call<{ id: string }>('POST', '/api/studies', {
    study_code: `BENCH-${randomUUID().slice(0, 8)}`,
    study_name: 'Bench',
    datacapture_enabled: true,
    integration_mode: 'datacapture',
    consent_mode: 'external',
    start_date: '2020-01-01',
  });
  const battery = await stage.call<{ id: number }>('POST', '/api/batteries', {
    study_id: study.id,
    code: 'BASELINE',
    name: 'Baseline',
    modules: [{ task: 'stroop' }],
  });
  await stage.call('PATCH', `/api/datacapture/config/${study.id}`, {
    api_url: simulator.apiUrl,
    api_token: token,
    webhook_secret: secret,
    webhook_enabled: true,
    enrollment_instrument: 'enroll',
    enrollment_event: EVENT,
    participant_field_mapping: { enrollment_date: 'enrolled' },
    event_battery_mapping: { [EVENT]: { battery_id: battery.id, target_day: 0 } },
  });
  await stage.call('POST', `/api/datacapture/config/${study.id}/test-connection`);
  return { id: study.id, projectId: String(projectId), token };
}
