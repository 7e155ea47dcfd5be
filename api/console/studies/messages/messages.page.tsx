import type { StudyRecord } from '../../../../db/studies/studies.queries.js';
import { Notice } from '../../html/form.js';
import { useUi } from '../../html/ui.js';
import type { Edit } from '../edit/edit.js';
import { EditBoxes, EditChoice, EditField, EditForm, EditRefusal } from '../edit/edit-form.js';
import { StudyHead } from '../edit/study-tabs.js';
import { channels, messageKinds, nameField, namesOf, templatesOf, textField, textOfField } from './messages.form.js';

/** When and how participants get messages, the texts, and the study's public information. */
export function MessagesPage({ study, edit, said }: { study: StudyRecord; edit: Edit; said?: 'saved' | undefined }) {
  const { words } = useUi();
  const { messages: texts, studies } = words;
  const templates = templatesOf(study);
  const names = namesOf(study);
  const called = channels.map((channel) => [channel, texts.channels[channel]] as const);
  const labels: Record<string, string> = {
    ...texts.fields,
    ...Object.fromEntries(
      names.map(({ language }) => [
        nameField(language),
        language === '' ? texts.publicName : `${texts.publicName} (${language})`,
      ]),
    ),
    ...Object.fromEntries(
      [...Object.keys(edit.values), ...edit.changed.map(({ name }) => name)].flatMap((name) => {
        const own = textOfField(name);
        return own ? [[name, `${texts.kinds[own.kind]} (${own.language}): ${texts[own.part]}`]] : [];
      }),
    ),
  };
  const field = (name: string) => ({ edit, name, label: labels[name]! });
  return (
    <>
      <StudyHead study={study} tab="messages" />
      {said && <Notice kind="good">{studies.saved}</Notice>}
      <EditRefusal edit={edit} labels={labels} />
      <section class="card">
        <EditForm action={`/console/studies/${study.id}/messages`} edit={edit}>
          <h2>{texts.reminders}</h2>
          <EditBoxes {...field('channels')} hint={texts.channelsHint} options={called} />
          <div class="columns two">
            <EditChoice {...field('fallback_1')} options={[['', texts.none], ...called]} />
            <EditChoice {...field('fallback_2')} options={[['', texts.none], ...called]} />
          </div>
          <EditField {...field('days_before')} hint={texts.daysHint} maxLength={200} />
          <div class="columns">
            <EditField {...field('send_at')} hint={texts.clockHint} maxLength={5} />
            <EditField {...field('quiet_from')} maxLength={5} />
            <EditField {...field('quiet_to')} maxLength={5} />
          </div>
          <EditField {...field('default_language')} hint={texts.languageHint} maxLength={35} />
          <h2>{texts.told}</h2>
          {names.map(({ language }) => (
            <EditField
              key={language}
              {...field(nameField(language))}
              hint={language === '' ? texts.nameHint : texts.nameOfLanguage}
              maxLength={300}
            />
          ))}
          <div class="columns two">
            <EditField {...field('name_language')} hint={texts.nameLanguageHint} maxLength={35} />
            <EditField {...field('name_text')} maxLength={300} />
          </div>
          <div class="columns">
            <EditField {...field('contact_name')} maxLength={200} />
            <EditField {...field('contact_email')} maxLength={320} />
            <EditField {...field('contact_phone')} maxLength={50} />
          </div>
          <EditChoice {...field('portal_results')} options={Object.entries(texts.results)} />
          <h2>{texts.own}</h2>
          <p class="quiet">{texts.ownWhat}</p>
          {templates.map(({ language, kind }) => (
            <fieldset class="template" key={`${language} ${kind}`}>
              <legend>
                {texts.kinds[kind]}, <bdi>{language}</bdi>
              </legend>
              <EditField
                edit={edit}
                name={textField(language, kind, 'subject')}
                label={texts.subject}
                maxLength={300}
              />
              <EditField
                edit={edit}
                name={textField(language, kind, 'body')}
                label={texts.body}
                multiline
                maxLength={20_000}
              />
            </fieldset>
          ))}
          <fieldset class="template">
            <legend>{texts.addOwn}</legend>
            <div class="columns two">
              <EditChoice
                {...field('new_kind')}
                options={messageKinds.map((kind) => [kind, texts.kinds[kind]] as const)}
              />
              <EditField {...field('new_language')} maxLength={35} />
            </div>
            <EditField edit={edit} name="new_subject" label={texts.subject} maxLength={300} />
            <EditField edit={edit} name="new_body" label={texts.body} multiline maxLength={20_000} />
          </fieldset>
          <button class="primary">{studies.save}</button>
        </EditForm>
      </section>
    </>
  );
}
