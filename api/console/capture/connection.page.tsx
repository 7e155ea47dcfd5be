import type { ConnectionReport } from '../../../workflows/domain/capture/query.js';
import { Field, Form, Notice } from '../html/form.js';
import { DefinitionList } from '../html/table.js';
import { TranslatedText } from '../html/said.js';
import { useUi } from '../html/ui.js';
import type { Edit } from '../studies/edit/edit.js';
import { EditBox, EditChoice, EditField, EditForm, EditRefusal, wrongWith } from '../studies/edit/edit-form.js';
import { versionOf } from '../routing/form-version.js';
import { StudyHead } from '../studies/edit/study-tabs.js';
import { mayConfigure } from '../studies/studies.service.js';
import type { ConnectionView, SecretName, Secrets } from './connection.service.js';

export const connectionNotices = ['saved', 'works', 'fails', 'on', 'off'] as const;
export type ConnectionNotice = (typeof connectionNotices)[number];

/** The form of a study's capture-system connection. */
export function ConnectionPage({
  view,
  edit,
  kept = {},
  trial,
  said,
}: {
  view: ConnectionView;
  edit: Edit;
  /** Typed secrets, sealed. */
  kept?: Secrets;
  trial?: ConnectionReport | undefined;
  said?: ConnectionNotice | undefined;
}) {
  const { words } = useUi();
  const { connection: texts } = words;
  const { study, config } = view;
  const labels = {
    api_url: texts.address,
    api_token: texts.token,
    project_id: texts.project,
    poll_interval_minutes: texts.poll,
    webhook_enabled: texts.triggers,
    webhook_secret: texts.secret,
    webhook_auth: texts.signing,
    create_missing_sites: texts.sites,
  };
  return (
    <>
      <StudyHead study={study} tab="connection" />
      {said && <Notice kind={said === 'fails' ? 'alert' : 'good'}>{texts.said[said]}</Notice>}
      {said === 'fails' && config?.sync_error_message && (
        <p class="typed-text">
          <TranslatedText text={config.sync_error_message} />
        </p>
      )}
      {trial && (
        <Notice kind="good" title={texts.trialWorks}>
          {texts.trial(trial.project_title, trial.project_id, trial.record_count)}
        </Notice>
      )}
      {edit.fault?.code === 'CONNECTION_FAILED' ? (
        <Notice kind="alert" title={texts.trialFails}>
          <TranslatedText text={edit.fault.message} />
        </Notice>
      ) : (
        <EditRefusal edit={edit} labels={labels} />
      )}
      <Exchange view={view} />
      <h2>{texts.title}</h2>
      {!config && <p class="quiet">{texts.none}</p>}
      <section class="card">
        <EditForm action={`/console/capture/${study.id}/connection`} edit={edit}>
          <EditField
            edit={edit}
            name="api_url"
            label={labels.api_url}
            hint={texts.addressHint}
            required
            maxLength={2_000}
          />
          <Secret edit={edit} name="api_token" label={labels.api_token} kept={kept} isStored={config !== undefined} />
          <EditField edit={edit} name="project_id" label={labels.project_id} hint={texts.projectHint} maxLength={100} />
          <EditField
            edit={edit}
            name="poll_interval_minutes"
            label={labels.poll_interval_minutes}
            hint={texts.pollHint}
            required
            maxLength={10}
          />
          <EditBox edit={edit} name="webhook_enabled" label={labels.webhook_enabled} />
          <Secret
            edit={edit}
            name="webhook_secret"
            label={labels.webhook_secret}
            kept={kept}
            isStored={(config?.webhook_secret_encrypted ?? null) !== null}
          />
          <EditChoice
            edit={edit}
            name="webhook_auth"
            label={labels.webhook_auth}
            options={Object.entries(texts.signings)}
          />
          <EditBox edit={edit} name="create_missing_sites" label={labels.create_missing_sites} />
          <p class="buttons">
            <button class={trial ? undefined : 'primary'} name="do" value="try">
              {texts.tryIt}
            </button>
            <button class={trial ? 'primary' : undefined} name="do" value="save">
              {words.studies.save}
            </button>
          </p>
        </EditForm>
      </section>
    </>
  );
}

/** A secret field. The stored value is never shown; one just typed is kept without being shown. */
function Secret({
  edit,
  name,
  label,
  kept,
  isStored,
}: {
  edit: Edit;
  name: SecretName;
  label: string;
  kept: Secrets;
  isStored: boolean;
}) {
  const { words } = useUi();
  const { connection: texts } = words;
  const hint = kept[name] ? texts.keptSecret : isStored ? texts.storedSecret : texts.noSecret;
  return (
    <>
      {kept[name] && <input type="hidden" name={`kept_${name}`} value={kept[name]} />}
      <Field
        name={name}
        type="password"
        label={label}
        hint={hint}
        error={wrongWith(edit, name, words)}
        autocomplete="off"
        maxLength={500}
      />
    </>
  );
}

/** The directions of the exchange, and its main switch. */
function Exchange({ view: { study, config } }: { view: ConnectionView }) {
  const { words, user } = useUi();
  const { connection: texts } = words;
  const reads = [
    config?.webhook_enabled && texts.byTriggers,
    config && config.poll_interval_minutes > 0 && texts.byPolls(config.poll_interval_minutes),
  ].filter((one): one is string => typeof one === 'string');
  const tasks = Object.keys(config?.data_field_mapping ?? {}).length;
  const isOn = study.datacapture_enabled;
  return (
    <section>
      <DefinitionList
        of={[
          [
            words.studies.exchange,
            <span class={`tag ${isOn ? 'approved' : ''}`}>{isOn ? words.studies.on : words.studies.off}</span>,
          ],
          [texts.reading, reads.length > 0 ? reads.join(', ') : texts.notReading],
          [texts.writing, tasks > 0 ? texts.tasks(tasks) : texts.notWriting],
        ]}
      />
      {mayConfigure(user?.role) && (
        <Form action={`/console/capture/${study.id}/exchange`}>
          <input type="hidden" name="version" value={versionOf(study)} />
          <p class="quiet">{isOn ? texts.switchOffWhat : texts.switchOnWhat}</p>
          <button class={isOn ? 'danger' : undefined} name="on" value={isOn ? '' : '1'}>
            {isOn ? texts.switchOff : texts.switchOn}
          </button>
        </Form>
      )}
    </section>
  );
}
