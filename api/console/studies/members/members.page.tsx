import { MEMBERS_PAGE } from '../../../../db/console/study-members.queries.js';
import type { StudyMember } from '../../../../db/console/study-members.queries.js';
import type { UserRow } from '../../../../db/identity/users.queries.js';
import { allRoles } from '../../../http/access.js';
import type { Role } from '../../../http/access.js';
import { EmptyState } from '../../html/empty-state.js';
import { Form, Notice } from '../../html/form.js';
import { Pager, withQuery } from '../../html/pager.js';
import { useChangeColumn } from '../../html/record-links.js';
import { DefinitionList, Table } from '../../html/table.js';
import { useUi } from '../../html/ui.js';
import type { Edit } from '../edit/edit.js';
import { EditBoxes, EditChoice, EditField, EditForm, EditRefusal } from '../edit/edit-form.js';
import { StudyHead } from '../edit/study-tabs.js';
import type { MembersView } from './members.service.js';

export const memberNotices = ['added', 'changed', 'removed'] as const;
export type MemberNotice = (typeof memberNotices)[number];

const siteOptions = ({ sites }: MembersView) =>
  sites.map(({ id, site_code, name }) => [id, name ? `${site_code} (${name})` : site_code] as const);

/** The members of a study, with a form to add one. */
export function MembersPage({
  view,
  edit,
  said,
  skip = 0,
}: {
  view: MembersView;
  edit: Edit;
  said?: MemberNotice | undefined;
  skip?: number;
}) {
  const { words } = useUi();
  const { members: texts } = words;
  const { study, members, total, candidates } = view;
  const at = `/console/studies/${study.id}/members`;
  const change = useChangeColumn<StudyMember>(
    ({ id }) => `${at}/${id}`,
    ({ name }) => name,
  );
  return (
    <>
      <StudyHead study={study} tab="members" />
      {said && <Notice kind="good">{texts[said]}</Notice>}
      <p class="quiet">{texts.what}</p>
      {total === 0 ? (
        <EmptyState title={texts.none}>{texts.noneWhat}</EmptyState>
      ) : (
        <Table<StudyMember>
          caption={words.studies.membersCaption(total)}
          rows={members}
          rowKey={({ id }) => id}
          columns={[
            {
              title: words.studies.name,
              head: true,
              cell: ({ name, email }) => (
                <div>
                  <bdi>{name}</bdi>
                  <p class="quiet plain">
                    <bdi>{email}</bdi>
                  </p>
                </div>
              ),
            },
            { title: words.studies.role, cell: ({ role }) => words.roles[role as Role] },
            {
              title: words.studies.sites,
              cell: ({ sites }) => <bdi>{sites.join(', ') || words.studies.allSites}</bdi>,
            },
            { title: words.studies.account, cell: ({ status }) => words.studies.accounts[status] ?? status },
            change,
          ]}
        />
      )}
      <Pager skip={skip} limit={MEMBERS_PAGE} total={total} href={(from) => withQuery(at, { skip: from })} />
      <h2>{texts.add}</h2>
      <section class="card">
        <EditRefusal edit={edit} labels={{ email: texts.user, site_ids: words.studies.sites }} />
        <EditForm action={at} edit={edit}>
          <EditField
            edit={edit}
            name="email"
            type="email"
            label={texts.user}
            hint={texts.userWhat}
            maxLength={320}
            list="candidates"
          />
          <datalist id="candidates">
            {candidates.map(({ id, name, email, role }) => (
              <option key={id} value={email}>
                {`${name}, ${words.roles[role as Role]}`}
              </option>
            ))}
          </datalist>
          {view.sites.length > 0 && (
            <EditBoxes
              edit={edit}
              name="site_ids"
              label={words.studies.sites}
              hint={texts.sitesWhat}
              options={siteOptions(view)}
            />
          )}
          <button class="primary">{texts.addDo}</button>
        </EditForm>
        <p>
          <a href="/console/users/invite">{texts.invite}</a>
        </p>
      </section>
    </>
  );
}

/** One member: role, sites in this study, and the removal. */
export function MemberPage({ view, user, edit }: { view: MembersView; user: UserRow; edit: Edit }) {
  const { words } = useUi();
  const { members: texts } = words;
  const at = `/console/studies/${view.study.id}/members`;
  const others = user.study_ids.length - 1;
  return (
    <>
      <StudyHead study={view.study} tab="members">
        <bdi>{user.name}</bdi>
      </StudyHead>
      <p class="crumbs">
        <a href={at}>{texts.back}</a>
      </p>
      <EditRefusal edit={edit} labels={{ role: words.studies.role, site_ids: words.studies.sites }} />
      <DefinitionList
        of={[
          [words.users.email, <bdi>{user.email}</bdi>],
          [words.studies.account, words.studies.accounts[user.status] ?? user.status],
          [texts.otherStudies, others],
        ]}
      />
      <section class="card">
        <EditForm action={`${at}/${user.id}`} edit={edit}>
          <EditChoice
            edit={edit}
            name="role"
            label={words.studies.role}
            hint={texts.roleWhat}
            options={allRoles.map((role) => [role, words.roles[role]] as const)}
          />
          {view.sites.length > 0 && (
            <EditBoxes
              edit={edit}
              name="site_ids"
              label={words.studies.sites}
              hint={texts.sitesWhat}
              options={siteOptions(view)}
            />
          )}
          <button class="primary">{words.studies.save}</button>
        </EditForm>
      </section>
      <h2>{texts.end}</h2>
      <p class="quiet">{texts.endWhat}</p>
      <Form action={`${at}/${user.id}/end`}>
        <input type="hidden" name="version" value={edit.version} />
        <button class="danger">{texts.endDo}</button>
      </Form>
      <p class="after-table">
        <a href={`/console/users/${user.id}`}>{texts.toUser}</a>
      </p>
    </>
  );
}
