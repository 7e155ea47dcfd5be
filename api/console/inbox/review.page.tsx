import type { VisitRecord } from '../../../db/scheduling/visits.queries.js';
import { CalendarDate, InstantText } from '../html/date.js';
import { dateText } from '../html/dates.js';
import { Field, Form, Notice } from '../html/form.js';
import { versionOf } from '../routing/form-version.js';
import { Typed } from '../html/problem.js';
import { DefinitionList } from '../html/table.js';
import { useUi } from '../html/ui.js';

export interface ReviewView {
  visit: VisitRecord;
  /** Its target under the present plan; null: it is no longer planned. */
  planned: string | null;
}
/** The typed fields of a refused review. */
export interface ReviewAnswer {
  keep?: string;
  resolution?: string;
  said?: 'stale' | 'already';
  refused?: string;
}

/** A completed visit whose schedule moved, and the choice of its reporting date. */
export function ReviewPage({ view: { visit, planned }, answer = {} }: { view: ReviewView; answer?: ReviewAnswer }) {
  const { words } = useUi();
  const { inbox } = words;
  const { reviewing } = inbox;
  return (
    <article>
      <p class="crumbs">
        <a href="/console/inbox">{inbox.back}</a>
      </p>
      <h1>{reviewing.title}</h1>
      {answer.said === 'stale' && visit.needs_review && (
        <Notice kind="alert" title={reviewing.stale}>
          {reviewing.staleWhat}
        </Notice>
      )}
      {answer.refused && <Notice kind="alert">{answer.refused}</Notice>}
      {(!visit.needs_review || answer.said === 'already') && <Notice>{inbox.done.already}</Notice>}
      <p>{reviewing.why}</p>
      <DefinitionList
        of={[
          [
            inbox.participant,
            <a href={`/console/participants/${visit.participant_id}`}>
              <bdi>{visit.participant_code}</bdi>
            </a>,
          ],
          [inbox.site, visit.site_code ? <bdi>{visit.site_code}</bdi> : '–'],
          [inbox.item, <bdi>{visit.name}</bdi>],
          [reviewing.done, <InstantText value={visit.completed_at} />],
          [reviewing.target, <CalendarDate value={visit.target_date} />],
          [reviewing.reported, <CalendarDate value={visit.reporting_target_date ?? visit.target_date} />],
          [reviewing.now, planned ? <CalendarDate value={planned} /> : reviewing.notPlanned],
        ]}
      />
      {visit.needs_review ? (
        <Review visit={visit} planned={planned} answer={answer} />
      ) : (
        <Typed typed={[[reviewing.resolution, answer.resolution ?? '']]} />
      )}
    </article>
  );
}

function Review({ visit, planned, answer }: ReviewView & { answer: ReviewAnswer }) {
  const { words, language } = useUi();
  const { reviewing } = words.inbox;
  const reported = visit.reporting_target_date ?? visit.target_date;
  return (
    <section class="card decide">
      <Form action={`/console/inbox/reviews/${visit.id}`}>
        <input type="hidden" name="version" value={versionOf(visit)} />
        <fieldset class="options">
          <legend>{reviewing.keep}</legend>
          <label class="check">
            <input type="radio" name="keep" value="yes" required checked={answer.keep !== 'no'} />{' '}
            {reviewing.keepOld(dateText(language, reported))}
          </label>
          {planned && (
            <label class="check">
              <input type="radio" name="keep" value="no" required checked={answer.keep === 'no'} />{' '}
              {reviewing.takeNew(dateText(language, planned))}
            </label>
          )}
        </fieldset>
        <Field
          name="resolution"
          multiline
          maxLength={2000}
          label={reviewing.resolution}
          hint={reviewing.resolutionHint}
          value={answer.resolution}
        />
        <p class="buttons">
          <button class="primary">{reviewing.submit}</button>
        </p>
      </Form>
    </section>
  );
}
