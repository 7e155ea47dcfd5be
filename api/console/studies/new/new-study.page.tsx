import type { StudyRecord } from '../../../../db/studies/studies.queries.js';
import type { Problem } from '../../../http/errors.js';
import { Form } from '../../html/form.js';
import { versionOf } from '../../routing/form-version.js';
import { useUi } from '../../html/ui.js';
import type { Edit } from '../edit/edit.js';
import { EditBox, EditChoice, EditField, EditForm, EditRefusal } from '../edit/edit-form.js';

/** An empty new study: batteries, visits and policy are added later. */
export function NewStudyPage({ edit }: { edit: Edit }) {
  const { words } = useUi();
  const { newStudy: texts, studies } = words;
  const labels = {
    study_code: studies.newCode,
    study_name: studies.newName,
    description: studies.description,
    start_date: studies.start,
    end_date: studies.end,
    timezone: studies.timezone,
    consent_mode: studies.consentMode,
    datacapture_enabled: studies.exchange,
  };
  return (
    <>
      <p class="crumbs">
        <a href="/console/studies">{studies.toStudies}</a>
      </p>
      <h1>{texts.title}</h1>
      <p class="quiet">
        {texts.what} <a href="/console/studies/new">{texts.rather}</a>
      </p>
      <EditRefusal edit={edit} labels={labels} />
      <section class="card">
        <EditForm action="/console/studies/create" edit={edit}>
          <EditField
            edit={edit}
            name="study_code"
            label={labels.study_code}
            hint={studies.newCodeHint}
            required
            maxLength={64}
          />
          <EditField edit={edit} name="study_name" label={labels.study_name} required maxLength={300} />
          <EditField edit={edit} name="description" label={labels.description} multiline maxLength={10_000} />
          <EditField edit={edit} name="start_date" type="date" label={labels.start_date} />
          <EditField edit={edit} name="end_date" type="date" label={labels.end_date} />
          <EditField
            edit={edit}
            name="timezone"
            label={labels.timezone}
            hint={studies.timezoneHint}
            required
            maxLength={50}
          />
          <EditChoice
            edit={edit}
            name="consent_mode"
            label={labels.consent_mode}
            options={Object.entries(studies.consentModes)}
          />
          <EditBox edit={edit} name="datacapture_enabled" label={labels.datacapture_enabled} />
          <button class="primary">{studies.newStudy}</button>
        </EditForm>
      </section>
    </>
  );
}

/** Deletes a study without participants. @param mayDelete false: it has some, and the page only says so */
export function DeleteStudyPage({
  study,
  mayDelete,
  fault,
}: {
  study: StudyRecord;
  mayDelete: boolean;
  fault?: Problem;
}) {
  const { words } = useUi();
  const { newStudy: texts, studies } = words;
  const edit = { values: {}, seen: {}, version: versionOf(study), changed: [], fault };
  return (
    <>
      <p class="crumbs">
        <a href={`/console/studies/${study.id}`}>{studies.toStudy}</a>
      </p>
      <h1>
        {texts.remove}: <bdi>{study.study_code}</bdi>
      </h1>
      <EditRefusal edit={edit} labels={{}} />
      <p>{texts.removeWhat}</p>
      <p>
        <a href={`/console/studies/${study.id}/settings`}>{texts.archive}</a>
      </p>
      {mayDelete && (
        <Form action={`/console/studies/${study.id}/delete`}>
          <input type="hidden" name="version" value={edit.version} />
          <button class="danger">{studies.remove}</button>
        </Form>
      )}
    </>
  );
}
