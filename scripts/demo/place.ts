import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Settings } from '../../settings.js';
import { participantAnchorId } from '../../workflows/contract.js';
import type { RunJson } from '../runtime/run-json.js';
import type { Api } from './api.js';
import { DemoFault } from './telling.js';

/** The running service, and the addresses for observing it. */
export interface Place {
  run: RunJson;
  admin: { email: string; password: string };
  /** The address of a workflow in the Temporal Web UI; without one, its id. */
  workflow: (id: string) => string;
}

/** Finds the service that runs on this data folder. @throws DemoFault when there is none */
export function findService(settings: Settings): Place {
  const file = join(resolve(settings.DATA_DIR), 'run.json');
  if (!existsSync(file))
    throw new DemoFault(
      `No service is running on ${resolve(settings.DATA_DIR)} (there is no run.json in it): start one with ` +
        '"npm start", or set DATA_DIR to its data folder.',
    );
  const run = JSON.parse(readFileSync(file, 'utf8')) as RunJson;
  const password = run.admin_password ?? settings.ADMIN_PASSWORD;
  if (!password) throw new DemoFault(`The password of ${run.admin_email} is not in ${file}: set ADMIN_PASSWORD to it.`);
  return {
    run,
    admin: { email: run.admin_email, password },
    workflow: (id) =>
      run.temporal_ui === null
        ? `workflow ${id}`
        : `${run.temporal_ui}/namespaces/${run.temporal_namespace}/workflows/${encodeURIComponent(id)}`,
  };
}

/** The shared data of the story: people, study, and addresses. */
export interface Stage {
  place: Place;
  admin: Api;
  coordinator: Api;
  approver: { id: string; email: string; password: string; api: Api };
  study: { id: string; code: string; zone: string };
}

/** The API's addresses of one participant. */
export const addressesOf = (stage: Stage, participantId: string) => {
  const participant = `/api/studies/${stage.study.id}/participants/${participantId}`;
  return {
    participant,
    anchor: `${participant}/anchor-date`,
    history: `${participant}/anchor-date/history`,
    schedule: `${participant}/schedule`,
    versions: `${participant}/schedule-versions`,
    consents: `${participant}/consents`,
    requests: `${participant}/anchor-date/override-requests`,
    workflowId: participantAnchorId(participantId),
  };
};
