import type { ModuleRow } from '../../../../db/assessment/batteries.queries.js';
import { Form, Notice } from '../../html/form.js';
import { useUi } from '../../html/ui.js';
import type { Edit } from '../edit/edit.js';
import { EditBox, EditChoice, EditField, EditForm, EditRefusal } from '../edit/edit-form.js';
import { StudyHead } from '../edit/study-tabs.js';
import { plainSettings } from './batteries.service.js';
import type { BatteryView } from './batteries.service.js';

/** A task of a battery: its plain settings as fields, the rest as JSON. */
export function ModulePage({
  view: { study, battery },
  module,
  edit,
}: {
  view: Pick<BatteryView, 'study' | 'battery'>;
  module: ModuleRow;
  edit: Edit;
}) {
  const { words } = useUi();
  const { batteries: texts, studies } = words;
  const battery_at = `/console/studies/${study.id}/batteries/${battery.id}`;
  const at = `${battery_at}/modules/${module.id}`;
  const plain = plainSettings(module.task);
  const labels = {
    name: studies.name,
    estimated_minutes: texts.minutes,
    required: texts.required,
    settings: texts.otherSettings,
    ...Object.fromEntries(plain.map(({ name }) => [`settings.${name}`, texts.settingNames[name] ?? name])),
  };
  return (
    <>
      <StudyHead study={study} tab="batteries">
        <bdi>{module.name}</bdi>
      </StudyHead>
      <p class="crumbs">
        <a href={battery_at}>{texts.backToBattery(battery.name)}</a>
      </p>
      <EditRefusal edit={edit} labels={labels} />
      {battery.status === 'published' && <Notice>{texts.nextDraft(battery.version + 1)}</Notice>}
      <section class="card">
        <EditForm action={at} edit={edit} class="policy-editor">
          <p class="quiet">
            {texts.kind}: {module.task}
          </p>
          <EditField edit={edit} name="name" label={labels.name} required maxLength={300} />
          <EditField edit={edit} name="estimated_minutes" label={labels.estimated_minutes} required maxLength={8} />
          <EditBox edit={edit} name="required" label={labels.required} />
          <h2>{texts.settings}</h2>
          <div class="columns">
            {plain.map(({ name, options, fallback }) =>
              options ? (
                <EditChoice
                  key={name}
                  edit={edit}
                  name={`settings.${name}`}
                  label={texts.settingNames[name] ?? name}
                  hint={texts.fallback(fallback)}
                  options={options.map((option) => [option, option] as const)}
                />
              ) : (
                <EditField
                  key={name}
                  edit={edit}
                  name={`settings.${name}`}
                  label={texts.settingNames[name] ?? name}
                  hint={fallback === '' ? texts.noFallback : texts.fallback(fallback)}
                  maxLength={12}
                />
              ),
            )}
          </div>
          <EditField edit={edit} name="settings" label={labels.settings} hint={texts.otherWhat} multiline />
          <button class="primary">{studies.save}</button>
        </EditForm>
      </section>
      <h2>{texts.removeTask}</h2>
      <Form action={`${at}/remove`}>
        <input type="hidden" name="version" value={edit.version} />
        <button class="danger">{texts.removeTask}</button>
      </Form>
    </>
  );
}
