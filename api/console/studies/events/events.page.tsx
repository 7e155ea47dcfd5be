import type { EventDefinitionRecord } from '../../../../db/scheduling/event-definitions.queries.js';
import type { Problem } from '../../../http/errors.js';
import type { ScheduleDryRun } from '../../../studies/policy-dry-run.service.js';
import { EmptyState } from '../../html/empty-state.js';
import { Form, Notice } from '../../html/form.js';
import { versionOf } from '../../routing/form-version.js';
import { AddButton, useChangeColumn } from '../../html/record-links.js';
import { Table } from '../../html/table.js';
import { useUi } from '../../html/ui.js';
import type { Edit } from '../edit/edit.js';
import { EditBox, EditChoice, EditField, EditForm, EditRefusal } from '../edit/edit-form.js';
import { StudyHead } from '../edit/study-tabs.js';
import { mayConfigure } from '../studies.service.js';
import { WouldMove } from '../windows.page.js';
import { TryButtons } from '../try-buttons.js';
import { plansByEvents } from './events.service.js';
import type { EventsView } from './events.service.js';

/** The events of a study's protocol, and whether the study schedules by them. */
export function EventsPage({ view, edit, said }: { view: EventsView; edit?: Edit; said?: 'saved' | undefined }) {
  const { words, user } = useUi();
  const { events: texts, studies } = words;
  const { study, events, batteries } = view;
  const at = `/console/studies/${study.id}/events`;
  const configures = mayConfigure(user?.role);
  const change = useChangeColumn<EventDefinitionRecord>(
    ({ id }) => `${at}/${id}`,
    ({ name }) => name,
  );
  const named = (id: number | null) => batteries.find((battery) => battery.id === id)?.name ?? studies.noBattery;
  return (
    <>
      <StudyHead study={study} tab="events" />
      {said && <Notice kind="good">{studies.saved}</Notice>}
      {edit && <EditRefusal edit={edit} labels={{}} />}
      <Mode view={view} />
      {events.length === 0 ? (
        <EmptyState title={texts.none}>{texts.noneWhat}</EmptyState>
      ) : (
        <Table<EventDefinitionRecord>
          caption={studies.eventsCaption(events.length)}
          rows={events}
          rowKey={({ id }) => id}
          columns={[
            {
              title: studies.windowName,
              head: true,
              cell: ({ name, is_baseline }) => (
                <>
                  <bdi>{name}</bdi> {is_baseline && <span class="tag">{studies.isBaseline}</span>}
                </>
              ),
            },
            { title: studies.code, cell: ({ event_oid }) => <bdi>{event_oid}</bdi> },
            {
              title: studies.day,
              cell: ({ target_day, repeating }) =>
                repeating ? `${target_day} (${studies.repeats(repeating.count, repeating.every_days)})` : target_day,
            },
            {
              title: studies.window,
              cell: ({ window_before, window_after }) => studies.windowDays(window_before, window_after),
            },
            { title: studies.battery, cell: ({ battery_id }) => <bdi>{named(battery_id)}</bdi> },
            ...(configures ? [change] : []),
          ]}
        />
      )}
      {configures && <AddButton href={`${at}/new`} label={texts.add} />}
    </>
  );
}

/** The scheduling mode, and the switch to the other. */
function Mode({ view: { study, earlier = 0 } }: { view: EventsView }) {
  const { words, user } = useUi();
  const { events: texts, studies } = words;
  const byEvents = plansByEvents(study);
  return (
    <>
      <p>{byEvents ? texts.counts : texts.countsNot}</p>
      {mayConfigure(user?.role) && (
        <details>
          <summary>{byEvents ? texts.toWindows : texts.toEvents}</summary>
          <Form action={`/console/studies/${study.id}/planning`}>
            <input type="hidden" name="version" value={versionOf(study)} />
            <p class="quiet">{texts.modeWhat}</p>
            {earlier > 0 && <Notice kind="alert">{studies.earlier(earlier)}</Notice>}
            <button name="mode" value={byEvents ? 'legacy' : 'edc'}>
              {byEvents ? texts.toWindows : texts.toEvents}
            </button>
          </Form>
        </details>
      )}
    </>
  );
}

/** An event to add or to change, with a preview of the moves. */
export function EventPage({
  view,
  event,
  edit,
  trial,
}: {
  view: EventsView;
  /** Not set: a new one. */
  event?: EventDefinitionRecord | undefined;
  edit: Edit;
  /** `tried`: a preview was requested, but the study does not schedule by events. */
  trial?: ScheduleDryRun | 'tried' | undefined;
}) {
  const { words } = useUi();
  const { events: texts, studies } = words;
  const { study, batteries } = view;
  const at = `/console/studies/${study.id}/events`;
  const action = `${at}/${event?.id ?? 'new'}`;
  const labels = {
    event_oid: studies.code,
    name: studies.windowName,
    target_day: studies.day,
    window_before: studies.before,
    window_after: studies.after,
    battery_id: studies.battery,
    is_baseline: studies.isBaseline,
    repeat_count: texts.times,
    repeat_days: texts.everyDays,
    datacapture_event: studies.event,
    sort_order: texts.order,
  };
  const number = { required: true, inputMode: 'numeric' as const, maxLength: 8 };
  return (
    <>
      <StudyHead study={study} tab="events">
        {event ? <bdi>{event.name}</bdi> : texts.add}
      </StudyHead>
      <p class="crumbs">
        <a href={at}>{texts.back}</a>
      </p>
      <EditRefusal edit={edit} labels={labels} />
      {trial === 'tried' ? <Notice>{texts.countsNot}</Notice> : trial && <WouldMove trial={trial} />}
      <section class="card">
        <EditForm action={action} edit={edit}>
          <EditField
            edit={edit}
            name="event_oid"
            label={labels.event_oid}
            hint={texts.oidHint}
            required
            maxLength={200}
          />
          <EditField edit={edit} name="name" label={labels.name} required maxLength={300} />
          <div class="columns">
            <EditField
              edit={edit}
              name="target_day"
              label={labels.target_day}
              hint={studies.dayHint}
              required
              maxLength={8}
            />
            <EditField edit={edit} name="window_before" label={labels.window_before} {...number} />
            <EditField edit={edit} name="window_after" label={labels.window_after} {...number} />
          </div>
          <EditChoice
            edit={edit}
            name="battery_id"
            label={labels.battery_id}
            options={[
              ['', studies.noBattery],
              ...batteries
                .filter(({ status, id }) => status !== 'retired' || id === event?.battery_id)
                .map(({ id, name }) => [String(id), name] as const),
            ]}
          />
          <div class="columns two">
            <EditField
              edit={edit}
              name="repeat_count"
              label={labels.repeat_count}
              hint={texts.timesHint}
              maxLength={3}
            />
            <EditField edit={edit} name="repeat_days" label={labels.repeat_days} hint={texts.everyHint} maxLength={4} />
          </div>
          <EditField edit={edit} name="datacapture_event" label={labels.datacapture_event} maxLength={200} />
          <EditField
            edit={edit}
            name="sort_order"
            label={labels.sort_order}
            hint={texts.orderHint}
            required
            maxLength={8}
          />
          <EditBox edit={edit} name="is_baseline" label={studies.baseline} />
          <TryButtons isTried={trial !== undefined} deleteHref={event && `${action}/delete`} />
        </EditForm>
      </section>
    </>
  );
}

/** A preview of deleting an event, and the button that does it. */
export function DeleteEventPage({
  view,
  event,
  trial,
  fault,
}: {
  view: EventsView;
  event: EventDefinitionRecord;
  /** `later`: it is shown when it is asked for; undefined: the study does not schedule by events. */
  trial: ScheduleDryRun | 'later' | undefined;
  fault?: Problem;
}) {
  const { words } = useUi();
  const { events: texts, studies } = words;
  const at = `/console/studies/${view.study.id}/events`;
  const edit = { values: {}, seen: {}, version: versionOf(event), changed: [], fault };
  return (
    <>
      <StudyHead study={view.study} tab="events">
        {texts.remove}: <bdi>{event.name}</bdi>
      </StudyHead>
      <p class="crumbs">
        <a href={at}>{texts.back}</a>
      </p>
      <EditRefusal edit={edit} labels={{}} />
      <p>{texts.removeWhat}</p>
      {trial === undefined && <Notice>{texts.countsNot}</Notice>}
      {trial && trial !== 'later' && <WouldMove trial={trial} />}
      <Form action={`${at}/${event.id}/delete`}>
        <input type="hidden" name="version" value={edit.version} />
        {trial === 'later' && (
          <button name="do" value="try">
            {studies.tryWindow}
          </button>
        )}
        <button class="danger" name="do" value="save">
          {studies.remove}
        </button>
      </Form>
    </>
  );
}
