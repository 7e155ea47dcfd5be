import type { ShownVerification } from '../../audit/audit-verifications.service.js';
import { InstantText } from '../html/date.js';
import { EmptyState } from '../html/empty-state.js';
import { Form, Notice, SelectField } from '../html/form.js';
import { DefinitionList, Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { AUDIT, AuditHead, ChainName } from './tabs.js';

interface Studies {
  studies: readonly { id: string; study_code: string }[];
}

const isOver = ({ status }: ShownVerification): boolean => status === 'completed' || status === 'failed';
const addressOf = ({ verification_id }: ShownVerification): string => `${AUDIT}/verifications/${verification_id}`;

/** Starts a verification, and shows the last ones, also running ones. */
export function VerificationsPage({ items, studies }: { items: ShownVerification[] } & Studies) {
  const { words } = useUi();
  const { audit } = words;
  return (
    <>
      <AuditHead tab="verifications" />
      <section class="card">
        <h2>{audit.verify}</h2>
        <p>{audit.verifyWhat}</p>
        <Form action={`${AUDIT}/verifications`}>
          <SelectField
            name="study_id"
            label={audit.verifyScope}
            options={[['', audit.verifyAll], ...studies.map((one) => [one.id, one.study_code] as const)]}
          />
          <button class="primary">{audit.start}</button>
        </Form>
      </section>
      <h2>{audit.history}</h2>
      {items.length === 0 ? (
        <EmptyState title={audit.noHistory}>{audit.noHistoryWhat}</EmptyState>
      ) : (
        <Table<ShownVerification>
          caption={audit.historyCaption(items.length)}
          rows={items}
          rowKey={({ verification_id }) => verification_id}
          columns={[
            {
              title: audit.requestedAt,
              head: true,
              cell: (one) => (
                <a href={addressOf(one)}>
                  <InstantText value={one.created_at} />
                </a>
              ),
            },
            {
              title: audit.scope,
              cell: ({ study_id }) =>
                study_id === null ? audit.verifyAll : <ChainName id={study_id} studies={studies} />,
            },
            { title: audit.status, cell: (one) => <Status of={one} /> },
            {
              title: audit.result,
              cell: (one) =>
                one.result ? one.result.valid === true ? audit.valid : audit.broken : <Counted of={one} />,
            },
          ]}
        />
      )}
    </>
  );
}

function Status({ of: { status, result } }: { of: ShownVerification }) {
  const { words } = useUi();
  const tone =
    status === 'failed' || result?.valid === false ? 'denied' : status === 'completed' ? 'approved' : 'pending';
  return <span class={`tag ${tone}`}>{words.audit.statuses[status]}</span>;
}

function Counted({ of: { progress, status } }: { of: ShownVerification }) {
  const { words } = useUi();
  if (status === 'pending' || progress.chains_total === 0) return <>{words.audit.waiting}</>;
  return (
    <>
      {words.audit.progress(progress.rows_verified, progress.rows_total)},{' '}
      {words.audit.chains(progress.chains_verified, progress.chains_total)}
    </>
  );
}

/** One verification: any visitor sees its progress while it runs. */
export function VerificationPage({ verification, studies }: { verification: ShownVerification } & Studies) {
  const { words } = useUi();
  const { audit } = words;
  return (
    <>
      <p class="crumbs">
        <a href={`${AUDIT}/verifications`}>{audit.back}</a>
      </p>
      <h1>{audit.verify}</h1>
      <DefinitionList
        of={[
          [
            audit.scope,
            verification.study_id === null ? (
              audit.verifyAll
            ) : (
              <ChainName id={verification.study_id} studies={studies} />
            ),
          ],
          [audit.requestedAt, <InstantText value={verification.created_at} />],
        ]}
      />
      <VerificationProgress verification={verification} />
    </>
  );
}

/** The part of the page that reloads until the verification ends. */
export function VerificationProgress({ verification }: { verification: ShownVerification }) {
  const { words } = useUi();
  const { audit } = words;
  const { progress, status, result } = verification;
  const at = addressOf(verification);
  if (isOver(verification))
    return (
      <div id="verification" aria-live="polite">
        {status === 'failed' || !result ? (
          <Notice kind="alert" title={audit.failed}>
            {audit.failedWhat}
          </Notice>
        ) : result.valid === true ? (
          <Notice kind="good" title={audit.valid}>
            {audit.validWhat(Number(result.rows), Number(result.checkpoints))}
          </Notice>
        ) : (
          <Notice kind="alert" title={audit.broken}>
            {audit.brokenWhat(String(result.first_bad_id))} <span lang="en">{String(result.fault ?? '')}</span>
          </Notice>
        )}
        <DefinitionList
          of={[
            [audit.startedAt, <InstantText value={verification.started_at} />],
            [audit.completedAt, <InstantText value={verification.completed_at} />],
          ]}
        />
      </div>
    );
  return (
    <div
      id="verification"
      class="work"
      aria-live="polite"
      hx-get={`${at}/progress`}
      hx-trigger="every 1s"
      hx-swap="outerHTML"
    >
      <p>
        <Status of={verification} /> <Counted of={verification} />
      </p>
      <progress
        aria-label={audit.verify}
        {...(progress.rows_total > 0 && { value: progress.rows_verified, max: progress.rows_total })}
      />
      <p>
        <a href={at}>{audit.refresh}</a>
      </p>
    </div>
  );
}
