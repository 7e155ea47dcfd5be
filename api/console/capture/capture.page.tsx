import type { FailureRecord } from '../../../db/capture/pushes.queries.js';
import { EmptyState } from '../html/empty-state.js';
import { InstantText } from '../html/date.js';
import { Form, Notice } from '../html/form.js';
import { TranslatedText } from '../html/said.js';
import { DefinitionList, Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { StudyTabs } from '../studies/edit/study-tabs.js';
import { PAGE_SIZE, configurerRoles } from './capture.service.js';
import type { CaptureView } from './capture.service.js';
import { SyncProgress } from './sync.page.js';

/** The result of a submitted form. */
export interface CaptureFormResult {
  tested?: boolean;
  retried?: number;
  testFailed?: string;
  refused?: string;
}

/** The state of a study's capture system, with possible actions. */
export function CapturePage({ view, said = {} }: { view: CaptureView; said?: CaptureFormResult }) {
  const { words, user } = useUi();
  const { capture } = words;
  const { study, config } = view;
  const configures = user?.role === 'admin' || configurerRoles.some((role) => role === user?.role);
  return (
    <>
      <p class="crumbs">
        <a href={`/console/studies/${study.id}`}>{capture.toStudy}</a>
      </p>
      <h1>
        <bdi>{capture.of(study.study_code)}</bdi>
      </h1>
      <StudyTabs studyId={study.id} tab="capture" />
      {said.testFailed !== undefined && (
        <Notice kind="alert" title={capture.testFailed}>
          <TranslatedText text={said.testFailed} /> {capture.testWhat}
        </Notice>
      )}
      {said.refused !== undefined && <Notice kind="alert">{said.refused}</Notice>}
      {said.tested && <Notice kind="good">{capture.tested}</Notice>}
      {said.retried !== undefined && <Notice kind="good">{capture.retried(said.retried)}</Notice>}
      {!config ? (
        <EmptyState title={capture.none}>
          {configures ? <a href={`/console/capture/${study.id}/connection`}>{capture.connect}</a> : capture.noneWhat}
        </EmptyState>
      ) : (
        <>
          {!study.datacapture_enabled && <Notice>{capture.disabled}</Notice>}
          <Status view={view} configures={configures} />
          <Sync view={view} configures={configures} />
          <Pushes view={view} />
        </>
      )}
    </>
  );
}

function Status({ view: { study, config, breaker }, configures }: { view: CaptureView; configures: boolean }) {
  const { capture } = useUi().words;
  if (!config) return null;
  const { sync_status: state } = config;
  const lastError = config.sync_error_message ?? breaker.last_error;
  return (
    <section>
      <DefinitionList
        of={[
          [
            capture.state,
            <span class={`tag ${{ active: 'approved', error: 'denied', pending: 'pending' }[state]}`}>
              {capture.states[state]}
            </span>,
          ],
          [capture.address, <bdi>{config.api_url}</bdi>],
          [capture.project, config.project_id ? <bdi>{config.project_id}</bdi> : capture.noProject],
          [capture.lastSync, config.last_sync_at ? <InstantText value={config.last_sync_at} /> : capture.never],
          [
            capture.lastTrigger,
            config.last_webhook_received ? <InstantText value={config.last_webhook_received} /> : capture.never,
          ],
          [capture.lastError, lastError === null ? capture.noError : <TranslatedText text={lastError} />],
          [capture.breaker, <Breaker of={breaker} />],
        ]}
      />
      {configures && (
        <div class="buttons">
          <Form action={`/console/capture/${study.id}/test`}>
            <button>{capture.test}</button>
          </Form>
          <a class="button" href={`/console/capture/${study.id}/mapping?check=1`}>
            {capture.mapping}
          </a>
        </div>
      )}
    </section>
  );
}

function Breaker({ of: { state, consecutive_failures, next_attempt_at } }: { of: CaptureView['breaker'] }) {
  const { capture } = useUi().words;
  return (
    <>
      {capture.breakers[state]}
      {consecutive_failures > 0 && <span class="quiet"> ({capture.breakerFailures(consecutive_failures)})</span>}
      {state !== 'closed' && next_attempt_at && (
        <>
          {', '}
          {capture.breakerNext} <InstantText value={next_attempt_at} />
        </>
      )}
    </>
  );
}

function Sync({ view: { study, sync }, configures }: { view: CaptureView; configures: boolean }) {
  const { capture } = useUi().words;
  return (
    <section id="sync">
      <h2>{capture.sync}</h2>
      <p class="quiet">{capture.syncWhat}</p>
      <SyncProgress studyId={study.id} sync={sync} />
      {configures && sync?.status !== 'running' && (
        <Form action={`/console/capture/${study.id}/sync`}>
          <button class="primary">{capture.syncStart}</button>
        </Form>
      )}
    </section>
  );
}

function Pushes({ view: { study, pushes, failures, skip } }: { view: CaptureView }) {
  const { capture } = useUi().words;
  const here = `/console/capture/${study.id}`;
  const states = (['synced', 'pending', 'failed'] as const).map((state) => ({ state, count: pushes[state] }));
  return (
    <section>
      <h2>{capture.pushes}</h2>
      <dl class="figures" aria-label={capture.pushesCaption}>
        {states.map(({ state, count }) => (
          <div key={state} class={count > 0 ? state : undefined}>
            <dt>{capture.pushStates[state]}</dt>
            <dd>{capture.visits(count)}</dd>
          </div>
        ))}
      </dl>
      <h2>{capture.failures}</h2>
      {failures.total === 0 ? (
        <p>{capture.noFailures}</p>
      ) : (
        <>
          <p class="quiet">{capture.failuresWhat}</p>
          <Form action={`${here}/retry`}>
            <p>
              <button class="primary">{capture.retryAll}</button>
            </p>
          </Form>
          <Failures view={{ study, failures }} />
          {failures.total > PAGE_SIZE && (
            <p class="pages">
              {skip > 0 && <a href={`${here}?skip=${Math.max(0, skip - PAGE_SIZE)}`}>{capture.less}</a>}
              {skip + PAGE_SIZE < failures.total && <a href={`${here}?skip=${skip + PAGE_SIZE}`}>{capture.more}</a>}
            </p>
          )}
        </>
      )}
    </section>
  );
}

function Failures({ view: { study, failures } }: { view: Pick<CaptureView, 'study' | 'failures'> }) {
  const { capture } = useUi().words;
  return (
    <Table<FailureRecord>
      caption={capture.failuresCaption(failures.total)}
      rows={failures.items}
      rowKey={({ session_id }) => session_id}
      columns={[
        {
          title: capture.participant,
          head: true,
          cell: ({ participant_id, participant_code }) => (
            <a href={`/console/participants/${participant_id}`}>
              <bdi>{participant_code}</bdi>
            </a>
          ),
        },
        { title: capture.event, cell: ({ datacapture_event }) => <bdi>{datacapture_event ?? '–'}</bdi> },
        {
          title: capture.reason,
          cell: ({ error_type, message, attempts }) => (
            <div>
              {error_type && capture.reasons[error_type]} <span class="quiet">({capture.attempts(attempts)})</span>
              {message && (
                <p class="typed-text quiet" dir="auto">
                  <TranslatedText text={message} />
                </p>
              )}
            </div>
          ),
        },
        { title: capture.failedAt, cell: ({ failed_at }) => <InstantText value={failed_at} /> },
        {
          title: capture.again,
          cell: ({ final, next_attempt_at }) => (final ? capture.final : <InstantText value={next_attempt_at} />),
        },
        {
          title: capture.action,
          cell: ({ session_id, participant_code }) => (
            <Form action={`/console/capture/${study.id}/retry`}>
              <input type="hidden" name="session_id" value={session_id} />
              <button class="small" aria-label={capture.retryOf(participant_code)}>
                {capture.retry}
              </button>
            </Form>
          ),
        },
      ]}
    />
  );
}
