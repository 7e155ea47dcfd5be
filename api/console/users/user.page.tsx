import type { ComponentChildren } from 'preact';
import type { LoginSessionRow, RefusedLink, UserRow } from '../../../db/identity/users.queries.js';
import type { StudyWithSites } from '../../../db/studies/sites.queries.js';
import type { Role } from '../../http/access.js';
import { etagOf } from '../../http/conventions/etag.js';
import type { Problem } from '../../http/errors.js';
import { InstantText } from '../html/date.js';
import { Form, Notice, RefusalNotice } from '../html/form.js';
import { TranslatedText } from '../html/said.js';
import { DefinitionList, Table } from '../html/table.js';
import { useUi } from '../html/ui.js';
import { AccessFields } from './access-fields.js';
import type { Chosen } from './access-fields.js';
import { USERS, UserStatusTag } from './users.page.js';

/** Results that a user's page can show. */
export const userNotices = ['saved', 'invited', 'factorDone', 'ended'] as const;
export type UserNotice = (typeof userNotices)[number];

export interface UserShown {
  user: UserRow;
  logins: LoginSessionRow[];
  refused_link: RefusedLink | null;
  studies: readonly StudyWithSites[];
}

/** The form of a user's access: what is chosen, what its page showed first, and of which version. */
export interface UserChoice {
  chosen: Chosen;
  seen: Chosen;
  version: string;
}
export const choiceOf = (user: UserRow): UserChoice => {
  const { role, study_ids, site_ids } = user;
  return { chosen: user, seen: { role, study_ids, site_ids }, version: etagOf(user) ?? '' };
};

/** One user: access, and an admin's actions. */
export function UserPage({
  shown: { user, logins, refused_link: refused, studies },
  choice = choiceOf(user),
  said,
  fault,
}: {
  shown: UserShown;
  choice?: UserChoice;
  said?: UserNotice | undefined;
  fault?: Problem;
}) {
  const { words, user: self } = useUi();
  const { users } = words;
  const at = `${USERS}/${user.id}`;
  return (
    <>
      <p class="crumbs">
        <a href={USERS}>{users.back}</a>
      </p>
      <h1>
        <bdi>{user.name}</bdi> {self?.id === user.id && <span class="tag">{users.you}</span>}{' '}
        <UserStatusTag status={user.status} />
      </h1>
      {said && !(said === 'invited' && refused) && <Notice kind="good">{users[said]}</Notice>}
      {refused && (
        <Notice kind="alert" title={users.refused[refused.purpose]}>
          {users.reason} <TranslatedText text={refused.reason} /> (<InstantText value={refused.at} />
          ). {users.refusedWhat}
        </Notice>
      )}
      {fault?.code === 'STALE' ? <Notice kind="alert">{users.stale}</Notice> : fault && <RefusalNotice fault={fault} />}
      <DefinitionList
        of={[
          [users.email, user.email],
          [users.role, words.roles[user.role as Role]],
          [users.factor, user.mfa_enabled ? users.hasFactor : users.noFactor],
          [users.since, <InstantText value={user.created_at} />],
        ]}
      />
      <p>
        <a href={`/console/audit?user_id=${user.id}`}>{users.records}</a>
      </p>
      <section class="card">
        <h2>{users.access}</h2>
        <p class="quiet">{users.accessWhat}</p>
        <Form action={at}>
          <Version of={choice.version} />
          <input type="hidden" name="seen" value={JSON.stringify(choice.seen)} />
          <AccessFields chosen={choice.chosen} studies={studies} />
          <button class="primary">{users.save}</button>
        </Form>
      </section>
      <Logins at={at} logins={logins} />
      <h2>{users.account}</h2>
      <div class="acts">
        {user.mfa_enabled && (
          <Act what={users.factorWhat}>
            <Form action={`${at}/mfa-reset`}>
              <button>{users.factorReset}</button>
            </Form>
          </Act>
        )}
        {user.status === 'active' && (
          <Act what={users.inviteAgainWhat}>
            <Form action={`${at}/invite`}>
              <button>{users.inviteAgain}</button>
            </Form>
          </Act>
        )}
        <Act what={user.status === 'active' ? users.deactivateWhat : users.reactivateWhat}>
          <Form action={`${at}/status`}>
            <Version of={etagOf(user) ?? ''} />
            {user.status === 'active' ? (
              <button class="danger" name="status" value="inactive">
                {users.deactivate}
              </button>
            ) : (
              <button name="status" value="active">
                {users.reactivate}
              </button>
            )}
          </Form>
        </Act>
      </div>
    </>
  );
}

/** The displayed state of the user: a change of another state is refused. */
const Version = ({ of }: { of: string }) => <input type="hidden" name="shown_version" value={of} />;

function Act({ what, children }: { what: string; children: ComponentChildren }) {
  return (
    <div class="act">
      {children}
      <p class="quiet">{what}</p>
    </div>
  );
}

function Logins({ at, logins }: { at: string; logins: LoginSessionRow[] }) {
  const { words } = useUi();
  const { users } = words;
  return (
    <section>
      <h2>{users.logins}</h2>
      {logins.length === 0 ? (
        <p class="quiet">{users.noLogins}</p>
      ) : (
        <>
          <Table<LoginSessionRow>
            caption={users.loginsCaption(logins.length)}
            rows={logins}
            rowKey={({ id }) => id}
            columns={[
              { title: users.began, head: true, cell: ({ created_at }) => <InstantText value={created_at} bare /> },
              { title: users.used, cell: ({ last_used_at }) => <InstantText value={last_used_at} bare /> },
              { title: users.from, cell: ({ ip_address }) => <span class="address">{ip_address ?? '–'}</span> },
              { title: users.program, cell: ({ user_agent }) => <bdi>{user_agent?.slice(0, 120) ?? '–'}</bdi> },
            ]}
          />
          <Form action={`${at}/logout-all`} class="after">
            <button class="danger">{users.endLogins}</button>
          </Form>
        </>
      )}
    </section>
  );
}
