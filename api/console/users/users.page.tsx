import type { UserRow, UserWithLink } from '../../../db/identity/users.queries.js';
import type { StudyWithSites } from '../../../db/studies/sites.queries.js';
import { allRoles } from '../../http/access.js';
import type { Role } from '../../http/access.js';
import type { Problem } from '../../http/errors.js';
import { EmptyState } from '../html/empty-state.js';
import { Field, Form, RefusalNotice, SelectField, errorOf } from '../html/form.js';
import { Pager, withQuery } from '../html/pager.js';
import { Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { AccessFields } from './access-fields.js';
import type { Chosen } from './access-fields.js';

export const USERS = '/console/users';
export const PAGE_SIZE = 25;

/** All users, or those matching a search. The search text is never in a URL. */
export function UsersPage({
  items,
  total,
  skip = 0,
  asked = {},
  searched,
}: {
  items: UserWithLink[];
  total: number;
  skip?: number;
  asked?: { role?: string | undefined; status?: string | undefined };
  searched?: string;
}) {
  const { words } = useUi();
  const { users } = words;
  return (
    <>
      <div class="page-head">
        <h1>{users.title}</h1>
        <a class="button" href={`${USERS}/invite`}>
          {users.invite}
        </a>
      </div>
      <Find asked={asked} searched={searched} />
      {searched !== undefined && (
        <p>
          <bdi>{users.found(searched)}</bdi> <a href={USERS}>{users.all}</a>
        </p>
      )}
      {total === 0 ? (
        <EmptyState title={users.none}>{users.noneWhat}</EmptyState>
      ) : (
        <Table<UserWithLink>
          caption={users.caption(total)}
          rows={items}
          rowKey={({ id }) => id}
          columns={[
            {
              title: users.name,
              head: true,
              cell: ({ id, name, email }) => (
                <>
                  <a href={`${USERS}/${id}`}>
                    <bdi>{name}</bdi>
                  </a>
                  <p class="quiet plain">
                    <bdi>{email}</bdi>
                  </p>
                </>
              ),
            },
            { title: users.role, cell: ({ role }) => words.roles[role as Role] },
            {
              title: users.studies,
              numeric: true,
              cell: ({ role, study_ids }) => (role === 'admin' ? users.everyStudy : study_ids.length),
            },
            { title: users.factor, cell: ({ mfa_enabled }) => (mfa_enabled ? users.hasFactor : users.noFactor) },
            {
              title: users.status,
              cell: ({ status, refused_link }) => (
                <>
                  <UserStatusTag status={status} />
                  {refused_link && (
                    <>
                      {' '}
                      <span class="tag failed">{users.notArrived}</span>
                    </>
                  )}
                </>
              ),
            },
          ]}
        />
      )}
      {searched === undefined ? (
        <Pager
          skip={skip}
          limit={PAGE_SIZE}
          total={total}
          href={(skip) => withQuery(USERS, { ...asked, skip: skip })}
        />
      ) : (
        <SearchPager searched={searched} skip={skip} total={total} />
      )}
    </>
  );
}

export function UserStatusTag({ status }: { status: UserRow['status'] }) {
  const { words } = useUi();
  return <span class={`tag ${status === 'active' ? 'approved' : 'expired'}`}>{words.users.statuses[status]}</span>;
}

function Find({
  asked,
  searched,
}: {
  asked: { role?: string | undefined; status?: string | undefined };
  searched: string | undefined;
}) {
  const { words } = useUi();
  const { users, roles } = words;
  return (
    <div class="finds">
      <Form action={`${USERS}/search`} class="filter">
        <Field name="search" type="search" label={users.search} value={searched} required maxLength={200} />
        <p class="buttons">
          <button class="primary">{users.searchDo}</button>
        </p>
      </Form>
      <form method="get" action={USERS} class="filter" aria-label={users.filter}>
        <SelectField
          name="role"
          label={users.role}
          value={asked.role}
          options={[['', users.any], ...allRoles.map((role) => [role, roles[role]] as const)]}
        />
        <SelectField
          name="status"
          label={users.status}
          value={asked.status}
          options={[['', users.any], ...Object.entries(users.statuses)]}
        />
        <p class="buttons">
          <button>{users.show}</button>
        </p>
      </form>
    </div>
  );
}

/** Pages of a search: the form carries its text from page to page. */
function SearchPager({ searched, skip, total }: { searched: string; skip: number; total: number }) {
  const { words } = useUi();
  if (total <= PAGE_SIZE) return null;
  return (
    <Form action={`${USERS}/search`} class="buttons">
      <input type="hidden" name="search" value={searched} />
      {skip > 0 && (
        <button name="skip" value={Math.max(0, skip - PAGE_SIZE)}>
          {words.pager.less}
        </button>
      )}
      {skip + PAGE_SIZE < total && (
        <button name="skip" value={skip + PAGE_SIZE}>
          {words.pager.more}
        </button>
      )}
    </Form>
  );
}

/** The invitation form. */
export function InvitePage({
  studies,
  chosen,
  typed = {},
  fault,
}: {
  studies: readonly StudyWithSites[];
  chosen: Chosen;
  typed?: { email?: string; name?: string };
  fault?: Problem;
}) {
  const { words } = useUi();
  const { users } = words;
  const [emailError, nameError] = [errorOf(fault, 'email', words), errorOf(fault, 'name', words)];
  return (
    <>
      <p class="crumbs">
        <a href={USERS}>{users.back}</a>
      </p>
      <h1>{users.invite}</h1>
      <p class="quiet">{users.inviteWhat}</p>
      {fault && !emailError && !nameError && <RefusalNotice fault={fault} />}
      <section class="card">
        <Form action={`${USERS}/invite`}>
          <Field
            name="email"
            type="email"
            label={users.email}
            value={typed.email}
            error={emailError}
            required
            maxLength={320}
            autocomplete="off"
          />
          <Field
            name="name"
            label={users.name}
            value={typed.name}
            error={nameError}
            required
            maxLength={200}
            autocomplete="off"
          />
          <AccessFields chosen={chosen} studies={studies} />
          <button class="primary">{users.send}</button>
        </Form>
      </section>
    </>
  );
}
