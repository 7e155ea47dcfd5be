import type { AuditNames } from '../../../db/audit/audit-names.queries.js';
import type { AuditFilter, ListedAuditRecord } from '../../../db/audit/audit.queries.js';
import { InstantText } from '../html/date.js';
import { dateText } from '../html/dates.js';
import { EmptyState } from '../html/empty-state.js';
import { NarrowedOnPaper } from '../html/filter.js';
import { Field, SelectField } from '../html/form.js';
import { Pager, withQuery } from '../html/pager.js';
import { Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { auditCodes } from '../words/service/audit-codes.js';
import { AUDIT, AuditHead, ChainName } from './tabs.js';

export const RECORDS = 25;
/** The longest details shown of a record. */
const MAX_CHARS = 2_000;

/** The filter in the page's address: ids and codes only. */
export type RecordsAsked = Omit<AuditFilter, 'skip' | 'limit'>;

/** The audit log, newest first. */
export function RecordsPage({
  items,
  total,
  skip,
  asked,
  names,
}: {
  items: ListedAuditRecord[];
  total: number;
  skip: number;
  asked: RecordsAsked;
  names: AuditNames;
}) {
  const { words, language } = useUi();
  const { audit, auditCodes: codes } = words;
  const day = (at: string | undefined) => at && dateText(language, at.slice(0, 10));
  const chosen: [string, string | undefined][] = [
    [audit.study, names.studies.find(({ id }) => id === asked.study_id)?.study_code ?? asked.study_id],
    [audit.person, names.users.find(({ id }) => id === asked.user_id)?.name ?? asked.user_id],
    [audit.action, asked.action && codes.action(asked.action)],
    [
      audit.record,
      [asked.resource_type && codes.record(asked.resource_type), asked.resource_id].filter(Boolean).join(' '),
    ],
    [audit.request, asked.request_id],
    [audit.from, day(asked.from)],
    [audit.to, day(asked.to)],
  ];
  const only = (more: RecordsAsked): string => withQuery(AUDIT, { ...asked, ...more });
  return (
    <>
      <AuditHead tab="records" />
      <p class="quiet">{words.audit.what}</p>
      <NarrowedOnPaper to={chosen} />
      <Filter asked={asked} names={names} />
      {total === 0 ? (
        <EmptyState title={words.audit.empty}>{words.audit.emptyWhat}</EmptyState>
      ) : (
        <Table<ListedAuditRecord>
          caption={words.audit.caption(total)}
          rows={items}
          rowKey={({ id }) => id}
          columns={[
            {
              title: words.audit.action,
              head: true,
              cell: ({ action }) => (
                <a href={only({ action })} title={action}>
                  {words.auditCodes.action(action)}
                </a>
              ),
            },
            { title: words.audit.when, cell: ({ created_at }) => <InstantText value={created_at} bare /> },
            {
              title: words.audit.person,
              cell: ({ user_id }) =>
                user_id === null ? (
                  words.audit.service
                ) : (
                  <a href={only({ user_id })}>
                    <bdi>{names.users.find(({ id }) => id === user_id)?.name ?? user_id}</bdi>
                  </a>
                ),
            },
            {
              title: words.audit.study,
              cell: ({ study_id }) => <ChainName id={study_id} studies={names.studies} />,
            },
            {
              title: words.audit.details,
              cell: (record) => <Details record={record} href={only} />,
            },
          ]}
        />
      )}
      <Pager skip={skip} limit={RECORDS} total={total} href={(skip) => withQuery(AUDIT, { ...asked, skip: skip })} />
    </>
  );
}

function Filter({ asked, names }: { asked: RecordsAsked; names: AuditNames }) {
  const { words, language } = useUi();
  const { audit } = words;
  const isNarrow = Object.values(asked).some((value) => value !== undefined);
  return (
    <form method="get" action={AUDIT} class="filter" role="search" aria-label={audit.filter}>
      <SelectField
        name="study_id"
        label={audit.study}
        value={asked.study_id}
        options={[['', audit.allStudies], ...names.studies.map((one) => [one.id, one.study_code] as const)]}
      />
      <SelectField
        name="user_id"
        label={audit.person}
        value={asked.user_id}
        options={[['', audit.everybody], ...names.users.map((one) => [one.id, one.name] as const)]}
      />
      <Field name="action" label={audit.action} value={asked.action} maxLength={100} list="actions" />
      <datalist id="actions">
        {Object.entries(auditCodes[language].actions).map(([code, called]) => (
          <option key={code} value={code}>
            {called}
          </option>
        ))}
      </datalist>
      <Field name="resource_id" label={audit.record} value={asked.resource_id} maxLength={200} />
      <Field name="from" type="date" label={audit.from} value={asked.from?.slice(0, 10)} />
      <Field name="to" type="date" label={audit.to} value={asked.to?.slice(0, 10)} />
      {(['resource_type', 'request_id'] as const).map(
        (name) => asked[name] && <input key={name} type="hidden" name={name} value={asked[name]} />,
      )}
      <p class="buttons">
        <button class="primary">{audit.show}</button>
        {isNarrow && (
          <a class="button" href={AUDIT}>
            {audit.reset}
          </a>
        )}
      </p>
    </form>
  );
}

function Details({ record, href }: { record: ListedAuditRecord; href: (more: RecordsAsked) => string }) {
  const { words } = useUi();
  const { action, resource_type, resource_id, audit_metadata, request_id, hash, id } = record;
  const entries = Object.entries(audit_metadata);
  return (
    <details>
      <summary>{words.auditCodes.record(resource_type)}</summary>
      <dl class="small-facts">
        <div>
          <dt>{words.audit.code}</dt>
          <dd>
            <code>{`${action} ${resource_type}`}</code>
          </dd>
        </div>
        {resource_id && (
          <div>
            <dt>{words.audit.about}</dt>
            <dd>
              <a href={href({ resource_type, resource_id })}>
                <code>{resource_id}</code>
              </a>
            </dd>
          </div>
        )}
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd dir="auto">
              <Value of={value} />
            </dd>
          </div>
        ))}
        {request_id && (
          <div>
            <dt>{words.audit.request}</dt>
            <dd>
              <a href={href({ request_id })}>
                <code>{request_id}</code>
              </a>
            </dd>
          </div>
        )}
        <div>
          <dt>{words.audit.hash}</dt>
          <dd>
            <code>{`${id} ${hash.slice(0, 16)}…`}</code>
          </dd>
        </div>
      </dl>
    </details>
  );
}

function Value({ of }: { of: unknown }) {
  const { words } = useUi();
  const text = typeof of === 'string' ? of : JSON.stringify(of);
  if (text.length <= MAX_CHARS) return <>{text}</>;
  return (
    <>
      {`${text.slice(0, MAX_CHARS)}…`} <span class="quiet">{words.audit.cut}</span>
    </>
  );
}
