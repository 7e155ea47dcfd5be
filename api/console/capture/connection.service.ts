import { findConfig } from '../../../db/capture/datacapture-configs.queries.js';
import type { DatacaptureConfigRow } from '../../../db/capture/datacapture-configs.queries.js';
import type { StudyRecord } from '../../../db/studies/studies.queries.js';
import type { Tx } from '../../../db/client/database.js';
import { configVersion } from '../../capture/datacapture.service.js';
import type { ConfigChangeRequest } from '../../capture/config-change.js';
import type { Dependencies } from '../../dependencies.js';
import { invalid } from '../../http/errors.js';
import { seal, unseal } from '../../secrets.js';
import { getStudyOrThrow } from '../../studies/studies.service.js';
import { editOf, orNull, typedValue } from '../studies/edit/edit.js';
import type { Edit, RefusedForm, Texts } from '../studies/edit/edit.js';

export interface ConnectionView {
  study: StudyRecord;
  config: DatacaptureConfigRow | undefined;
}

/** @throws 404 */
export async function loadConnection(tx: Tx, studyId: string): Promise<ConnectionView> {
  const study = await getStudyOrThrow(tx, studyId);
  return { study, config: await findConfig(tx, studyId) };
}

/** The default polling interval in minutes. */
const USUAL_POLL = 60;

const yes = (on: boolean | undefined): string => (on ? '1' : '');
const textsOf = (config?: DatacaptureConfigRow): Texts => ({
  api_url: config?.api_url ?? '',
  project_id: config?.project_id ?? '',
  poll_interval_minutes: String(config?.poll_interval_minutes ?? USUAL_POLL),
  webhook_enabled: yes(config?.webhook_enabled),
  webhook_auth: config?.webhook_auth ?? 'header',
  create_missing_sites: yes(config?.create_missing_sites),
});

export const connectionEdit = ({ config }: ConnectionView, sent?: RefusedForm): Edit =>
  editOf(config && configVersion(config), textsOf(config), sent);

/** Secret fields of the form. A page never shows them: typed values return sealed, for this user and study only. */
export const secretNames = ['api_token', 'webhook_secret'] as const;
export type SecretName = (typeof secretNames)[number];
export type Secrets = Partial<Record<SecretName, string>>;
interface Owner {
  studyId: string;
  userId: string;
}
const placeOf = ({ studyId, userId }: Owner, name: SecretName): string => `console/${studyId}/${userId}/${name}`;

/** The secrets of a form: typed, or kept from the previous page. @throws 422 if a kept one no longer opens */
export function secretsIn(services: Dependencies, owner: Owner, form: URLSearchParams): Secrets {
  const found: Secrets = {};
  for (const name of secretNames) {
    const typed = form.get(name)?.trim() ?? '';
    const kept = form.get(`kept_${name}`) ?? '';
    const value = typed === '' && kept !== '' ? unseal(services, kept, placeOf(owner, name)) : typed;
    if (value === undefined) throw invalid(name, 'REQUIRED', 'must be typed again');
    if (value !== '') found[name] = value;
  }
  return found;
}

/** Secrets sealed for the next page. */
export const sealSecrets = (services: Dependencies, owner: Owner, secrets: Secrets): Secrets =>
  Object.fromEntries(
    Object.entries(secrets).map(([name, value]) => [name, seal(services, value, placeOf(owner, name as SecretName))]),
  );

/** A form's changes: fields that differ from its initial values, and given secrets. */
export function connectionIn(
  form: URLSearchParams,
  secrets: Secrets,
  seen: Texts,
  isNew: boolean,
): ConfigChangeRequest {
  const typed = (name: string) => typedValue(form, name).trim();
  const minutes = typed('poll_interval_minutes').replace(',', '.');
  const fields = {
    api_url: typed('api_url'),
    project_id: orNull(typed('project_id'), typed('project_id')),
    // Text that is no number stays text, which the schema refuses.
    poll_interval_minutes: minutes !== '' && Number.isFinite(Number(minutes)) ? Number(minutes) : minutes,
    webhook_enabled: typed('webhook_enabled') !== '',
    webhook_auth: typed('webhook_auth'),
    create_missing_sites: typed('create_missing_sites') !== '',
  };
  const changed = Object.entries(fields).filter(([name]) => isNew || typed(name) !== seen[name]);
  return { ...Object.fromEntries(changed), ...secrets } as ConfigChangeRequest;
}
