import type { ComponentChildren } from 'preact';
import type { Role } from '../../../http/access.js';
import type { Words } from '../../words/words.js';
import { useUi } from '../../html/ui.js';

export type StudyTab = keyof Words['edit']['tabs'];
const configurers: readonly Role[] = ['admin', 'researcher'];
const connectors: readonly Role[] = ['admin', 'researcher', 'data_manager'];
/** The parts of a study, each with its address and roles; not set: all. */
const tabs: readonly { tab: StudyTab; at: (studyId: string) => string; roles?: readonly Role[] }[] = [
  { tab: 'study', at: (id) => `/console/studies/${id}` },
  { tab: 'events', at: (id) => `/console/studies/${id}/events` },
  { tab: 'batteries', at: (id) => `/console/studies/${id}/batteries` },
  { tab: 'sites', at: (id) => `/console/studies/${id}/sites` },
  { tab: 'messages', at: (id) => `/console/studies/${id}/messages`, roles: configurers },
  { tab: 'members', at: (id) => `/console/studies/${id}/members`, roles: ['admin'] },
  { tab: 'capture', at: (id) => `/console/capture/${id}` },
  { tab: 'connection', at: (id) => `/console/capture/${id}/connection`, roles: connectors },
  { tab: 'mapping', at: (id) => `/console/capture/${id}/mapping`, roles: connectors },
];

/** The tabs of a study's pages. */
export function StudyTabs({ studyId, tab }: { studyId: string; tab: StudyTab }) {
  const { words, user } = useUi();
  const seen = tabs.filter(({ roles }) => !roles || (user !== undefined && roles.includes(user.role)));
  return (
    <nav class="subpages" aria-label={words.edit.parts}>
      {seen.map((one) => (
        <a key={one.tab} href={one.at(studyId)} {...(one.tab === tab && { 'aria-current': 'page' as const })}>
          {words.edit.tabs[one.tab]}
        </a>
      ))}
    </nav>
  );
}

/** The head of a page of a study. */
export function StudyHead({
  study,
  tab,
  children,
}: {
  study: { id: string; study_code: string };
  tab: StudyTab;
  children?: ComponentChildren;
}) {
  const { words } = useUi();
  return (
    <>
      <p class="crumbs">
        <a href="/console/studies">{words.studies.toStudies}</a>
      </p>
      <h1>
        <bdi>{study.study_code}</bdi>: {children ?? words.edit.tabs[tab]}
      </h1>
      <StudyTabs studyId={study.id} tab={tab} />
    </>
  );
}
