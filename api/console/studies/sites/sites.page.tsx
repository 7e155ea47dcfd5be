import type { Site } from '../../../../db/models/records.js';
import { EmptyState } from '../../html/empty-state.js';
import { Notice } from '../../html/form.js';
import { AddButton, useChangeColumn } from '../../html/record-links.js';
import { Table } from '../../html/table.js';
import { useUi } from '../../html/ui.js';
import type { Edit } from '../edit/edit.js';
import { EditChoice, EditField, EditForm, EditRefusal } from '../edit/edit-form.js';
import { StudyHead } from '../edit/study-tabs.js';
import { mayConfigure } from '../studies.service.js';

export const siteNotices = ['saved', 'replanned'] as const;
export type SiteNotice = (typeof siteNotices)[number];
interface Study {
  id: string;
  study_code: string;
}

/** The sites of a study. */
export function SitesPage({
  study,
  sites,
  said,
  earlier = 0,
}: {
  study: Study;
  sites: { items: Site[]; total: number };
  said?: SiteNotice | undefined;
  /** Participants whose visits all move with what was saved, since an override had left them on the former date. */
  earlier?: number | undefined;
}) {
  const { words, user } = useUi();
  const { sites: texts } = words;
  const at = `/console/studies/${study.id}/sites`;
  const configures = mayConfigure(user?.role);
  const change = useChangeColumn<Site>(
    ({ id }) => `${at}/${id}`,
    ({ site_code }) => site_code,
  );
  return (
    <>
      <StudyHead study={study} tab="sites" />
      {said && <Notice kind="good">{said === 'saved' ? words.studies.saved : texts.replanned}</Notice>}
      {earlier > 0 && <Notice kind="alert">{words.studies.earlier(earlier)}</Notice>}
      {sites.total === 0 ? (
        <EmptyState title={texts.none}>{texts.noneWhat}</EmptyState>
      ) : (
        <Table<Site>
          caption={texts.caption(sites.total)}
          rows={sites.items}
          rowKey={({ id }) => id}
          columns={[
            { title: words.studies.code, head: true, cell: ({ site_code }) => <bdi>{site_code}</bdi> },
            { title: words.studies.name, cell: ({ name }) => <bdi>{name ?? '–'}</bdi> },
            { title: words.studies.timezone, cell: ({ timezone }) => timezone ?? texts.ofStudy },
            { title: words.studies.status, cell: ({ status }) => texts.statuses[status] },
            ...(configures ? [change] : []),
          ]}
        />
      )}
      {configures && <AddButton href={`${at}/new`} label={texts.add} />}
    </>
  );
}

/** A site to add or to change. */
export function SitePage({ study, site, edit }: { study: Study; site?: Site; edit: Edit }) {
  const { words } = useUi();
  const { sites: texts, studies } = words;
  const at = `/console/studies/${study.id}/sites`;
  const labels = { site_code: studies.code, name: studies.name, timezone: studies.timezone, status: studies.status };
  return (
    <>
      <StudyHead study={study} tab="sites">
        {site ? <bdi>{site.site_code}</bdi> : texts.add}
      </StudyHead>
      <p class="crumbs">
        <a href={at}>{texts.back}</a>
      </p>
      <EditRefusal edit={edit} labels={labels} />
      <section class="card">
        <EditForm action={`${at}/${site?.id ?? 'new'}`} edit={edit}>
          <EditField
            edit={edit}
            name="site_code"
            label={labels.site_code}
            hint={texts.codeHint}
            required
            maxLength={64}
          />
          <EditField edit={edit} name="name" label={labels.name} maxLength={300} />
          <EditField edit={edit} name="timezone" label={labels.timezone} hint={texts.timezoneHint} maxLength={50} />
          <EditChoice edit={edit} name="status" label={labels.status} options={Object.entries(texts.statuses)} />
          {site && <p class="quiet">{texts.note}</p>}
          <button class="primary">{studies.save}</button>
        </EditForm>
      </section>
    </>
  );
}
