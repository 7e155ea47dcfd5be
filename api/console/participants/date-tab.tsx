import { seenOf } from '../approvals/approvals.service.js';
import { VisitChanges, Warning } from '../approvals/impact.js';
import type { Impact } from '../../../workflows/domain/anchor/preview.js';
import { CalendarDate } from '../html/date.js';
import { dateText } from '../html/dates.js';
import { Field, Form, Notice } from '../html/form.js';
import { Typed } from '../html/problem.js';
import { Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { personPath, displayZoneOf } from './participant.page.js';
import type { DateView, ParticipantView } from './participant.service.js';
import { Job, ZonedInstant } from './parts.js';
import { WhyDate } from './why.js';

/** The result of a form of this tab, and its typed fields. */
export interface DateForm {
  action?: string;
  values?: Record<string, string>;
  /** Of the page of a form: a repeat sends the same message. */
  once: string;
  done?: string | undefined;
  refused?: string | undefined;
  dateError?: string | undefined;
  reasonError?: string | undefined;
  /** The preview of the override, before confirmation. */
  preview?: Impact & { preview_hash: string };
  stale?: boolean;
}

/** The enrollment date: actions, history, and reasons. */
export function DateTab({ person, view, form }: { person: ParticipantView; view: DateView; form: DateForm }) {
  const { words, language } = useUi();
  const { anchor } = words.participant;
  const { row } = person;
  const zone = displayZoneOf(person);
  return (
    <>
      {form.done && anchor.done[form.done] && <Notice kind="good">{anchor.done[form.done]}</Notice>}
      {form.refused && (
        <Notice kind="alert" title={anchor.refused}>
          {form.refused}
        </Notice>
      )}
      {form.refused && !isShown(person, form.action) && (
        <Typed
          typed={[
            [anchor.newDate, form.values?.date ?? ''],
            [anchor.reason, form.values?.reason ?? ''],
          ]}
        />
      )}
      {form.preview ? (
        <Preview person={person} form={form} preview={form.preview} />
      ) : (
        <>
          {row.pending_override && (
            <Notice title={`${anchor.pending}: ${dateText(language, row.pending_override.new_enrollment_date)}`}>
              <a href={`/console/approvals/${row.pending_override.id}`}>{anchor.openApproval}</a>
            </Notice>
          )}
          <Jobs person={person} form={form} />
          <OthersDo person={person} />
        </>
      )}
      <History person={person} view={view} />
      {view.why && <WhyDate why={view.why} zone={zone} />}
      {view.now && <WhyDate why={view.now} zone={zone} />}
    </>
  );
}

/** Whether the page still has the form: the date may have become final meanwhile. */
function isShown({ row, may }: ParticipantView, action: string | undefined): boolean {
  const isFinal = row.anchor.status === 'finalized';
  if (action === 'set') return may.set && !isFinal;
  if (action === 'cancel') return may.set && row.anchor.status === 'provisional';
  return may.override && isFinal && !row.pending_override;
}

/** Hidden fields of each form: its action, the displayed version of the anchor, and the page's id. */
function Sent({ person, form, action }: { person: ParticipantView; form: DateForm; action: string }) {
  return (
    <>
      <input type="hidden" name="action" value={action} />
      <input type="hidden" name="_version" value={String(person.row.anchor.version)} />
      <input type="hidden" name="_once" value={form.once} />
    </>
  );
}

/** Who records or replaces the date, for a reader who may not. */
function OthersDo({ person: { record, row, may, policy } }: { person: ParticipantView }) {
  const { policy: words } = useUi().words;
  const { can_set, can_override } = policy.permissions;
  const isFinal = row.anchor.status === 'finalized';
  if (record.status !== 'enrolled' || row.pending_override || (isFinal ? may.override : may.set)) return null;
  const named = (isFinal ? can_override : can_set).map((role) => words.roles[role]);
  return <p class="quiet">{isFinal ? words.canOverride(named) : words.canSet(named)}</p>;
}

function Jobs({ person, form }: { person: ParticipantView; form: DateForm }) {
  const { words } = useUi();
  const { anchor } = words.participant;
  const { row, may, policy } = person;
  const status = row.anchor.status;
  const at = `${personPath(person.record.id)}/date`;
  const isOf = (action: string) => form.action === action;
  const reason = (action: string, required: boolean) => (
    <Field
      name="reason"
      within={action}
      label={anchor.reason}
      hint={anchor.reasonHint}
      required={required}
      maxLength={2000}
      {...(isOf(action) && { value: form.values?.reason, error: form.reasonError })}
    />
  );
  const date = (action: string) => (
    <Field
      name="date"
      within={action}
      type="date"
      label={anchor.newDate}
      hint={anchor.dateHint}
      required
      {...(isOf(action) && { value: form.values?.date, error: form.dateError })}
    />
  );
  const free = !row.pending_override;
  return (
    <div class="jobs">
      {may.set && status !== 'finalized' && (
        <Job title={anchor.set} open={isOf('set') || status === 'unset'}>
          <p class="quiet">{anchor.setWhat}</p>
          <Form action={at}>
            <Sent person={person} form={form} action="set" />
            {date('set')}
            {reason('set', false)}
            <button class="primary">{anchor.setButton}</button>
          </Form>
        </Job>
      )}
      {may.set && status === 'provisional' && (
        <Job title={anchor.cancel} open={isOf('cancel')}>
          <p class="quiet">{anchor.cancelWhat}</p>
          <Form action={at}>
            <Sent person={person} form={form} action="cancel" />
            {reason('cancel', false)}
            <button class="danger">{anchor.cancelButton}</button>
          </Form>
        </Job>
      )}
      {may.override && free && status === 'finalized' && (
        <Job title={anchor.override} open={isOf('preview') || isOf('override')}>
          <p class="quiet">
            {anchor.overrideWhat} {policy.permissions.override_requires_approval && anchor.overrideWaits}
          </p>
          <Form action={at}>
            <Sent person={person} form={form} action="preview" />
            {form.action === 'override' ? date('override') : date('preview')}
            {reason(form.action === 'override' ? 'override' : 'preview', policy.permissions.override_requires_reason)}
            <label class="check">
              <input
                type="checkbox"
                name="regenerate"
                value="1"
                checked={form.values?.regenerate === '1' || !form.values}
              />{' '}
              {anchor.regenerate}
            </label>
            <button class="primary">{anchor.previewButton}</button>
          </Form>
        </Job>
      )}
      {may.override && free && status === 'finalized' && (
        <Job title={anchor.back} open={isOf('override_back')}>
          <p class="quiet">{anchor.backWhat}</p>
          <Form action={at}>
            <Sent person={person} form={form} action="override_back" />
            {reason('override_back', true)}
            <button class="danger">{anchor.backButton}</button>
          </Form>
        </Job>
      )}
      {may.evaluate && !person.waiting.closed && status !== 'finalized' && (
        <Job title={anchor.evaluate} open={person.waiting.waiting_for.includes('evaluation')}>
          <p class="quiet">{anchor.evaluateWhat}</p>
          <Form action={`${personPath(person.record.id)}/evaluate`}>
            <Sent person={person} form={form} action="evaluate" />
            <button>{anchor.evaluateButton}</button>
          </Form>
        </Job>
      )}
    </div>
  );
}

/** The preview of an override, and the button that confirms it. */
function Preview({
  person,
  form,
  preview,
}: {
  person: ParticipantView;
  form: DateForm;
  preview: NonNullable<DateForm['preview']>;
}) {
  const { words, language } = useUi();
  const { anchor } = words.participant;
  const { values = {} } = form;
  const waits = person.policy.permissions.override_requires_approval;
  const path = personPath(person.record.id);
  return (
    <section class="card preview" aria-labelledby="preview-title">
      <h2 id="preview-title">{anchor.previewTitle}</h2>
      {form.stale && <Notice kind="alert">{anchor.stale}</Notice>}
      <p class="dates">
        <span>
          <small>{words.approval.from}</small> <CalendarDate value={person.row.anchor.enrollment_date_value} />
        </span>
        <span>
          <small>{words.approval.to}</small> <strong>{dateText(language, values.date!)}</strong>
        </span>
      </p>
      {preview.warnings.length > 0 && (
        <Notice title={words.approval.warnings}>
          <ul class="plain">
            {preview.warnings.map((text) => (
              <li key={text}>
                <Warning text={text} />
              </li>
            ))}
          </ul>
        </Notice>
      )}
      {values.regenerate !== '1' && <p>{words.approval.noSchedule}</p>}
      {preview.visits.length === 0 ? <p>{words.approval.noVisits}</p> : <VisitChanges visits={preview.visits} />}
      <Form action={`${path}/date`}>
        <Sent person={person} form={form} action="override" />
        {Object.entries(values).map(([name, value]) => (
          <input type="hidden" key={name} name={name} value={value} />
        ))}
        <input type="hidden" name="preview_hash" value={preview.preview_hash} />
        <input type="hidden" name="shown" value={seenOf(preview.visits)} />
        <p class="buttons">
          <button class="primary">{waits ? anchor.confirmAsk : anchor.confirmApply}</button>
          <a class="button" href={`${path}?tab=date`}>
            {anchor.differently}
          </a>
        </p>
      </Form>
    </section>
  );
}

function History({ person, view }: { person: ParticipantView; view: DateView }) {
  const { words } = useUi();
  const { anchor } = words.participant;
  const { history, why } = view;
  const zone = displayZoneOf(person);
  return (
    <section>
      <h2>{anchor.history}</h2>
      {history.length === 0 ? (
        <p class="quiet">{anchor.noHistory}</p>
      ) : (
        <>
          <p class="quiet zone">{words.participant.zoneNamed(zone)}</p>
          <Table
            caption={anchor.historyCaption(history.length)}
            rows={history}
            rowKey={({ id }) => id}
            rowClass={({ id }) => (id === why?.entry?.id ? 'chosen' : undefined)}
            columns={[
              { title: anchor.at, cell: ({ created_at }) => <ZonedInstant value={created_at} zone={zone} /> },
              {
                title: anchor.event,
                head: true,
                cell: ({ event_type }) => <>{anchor.events[event_type] ?? event_type}</>,
              },
              {
                title: anchor.value,
                cell: ({ enrollment_date_value, change_delta_days }) => (
                  <>
                    <CalendarDate value={enrollment_date_value} />{' '}
                    {change_delta_days ? <span class="quiet">({words.approval.days(change_delta_days)})</span> : null}
                  </>
                ),
              },
              { title: anchor.by, cell: ({ actor, actor_type }) => <bdi>{actor ?? anchor.actors[actor_type]}</bdi> },
              {
                title: anchor.reason,
                cell: ({ reason, actor_type }) => (
                  <span dir="auto">{(actor_type === 'system' && anchor.ended[reason ?? '']) || (reason ?? '–')}</span>
                ),
              },
              {
                title: anchor.why,
                cell: ({ id, has_decision }) =>
                  has_decision ? (
                    <a href={`${personPath(person.record.id)}?tab=date&entry=${id}#why`}>{anchor.whyLink}</a>
                  ) : (
                    <>–</>
                  ),
              },
            ]}
          />
        </>
      )}
    </section>
  );
}
