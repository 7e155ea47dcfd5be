import { navigation } from '../../api/console/navigation.js';
import { consoleRoutes } from '../../api/console/console.routes.js';

/** One record of each kind, by its parameter in the routes; pages of a kind without one are left out. */
export interface Subjects {
  study: string;
  participant: string;
  user: string;
  approval?: string;
  battery?: string;
  /** Others, by the name of their parameter. */
  more?: Record<string, string>;
  /** A study in which there is nothing yet: its pages say what to do first. */
  empty?: string;
}

export interface ShownPage {
  name: string;
  path: string;
}

/** Parts of a page, files, addresses that lead on, and pages without a login. */
const NO_PAGE =
  /\/(?:outcome|csv|counts|stay|progress|list|search|file|import-template|plots\/\{plot\})$|^\/console\/?$|\{file\}|\{one\}|^\/console\/(?:login|forgot|reset|accept|enroll)$/;
const TABS = ['schedule', 'date', 'facts', 'sessions', 'messages', 'audit'];
/** Pages of a study that have an empty state. */
const EMPTY = ['', 'batteries', 'events', 'import', 'members', 'sites'];

/** The name of a page's picture: study-members, study-window-page, participants. */
function nameOf(path: string): string {
  const parts = path.split('/').slice(2);
  const names = parts.flatMap((part, at) => {
    if (part.startsWith('{')) return at === parts.length - 1 ? ['page'] : [];
    return [parts[at + 1]?.startsWith('{') ? part.replace(/ies$/, 'y').replace(/s$/, '') : part];
  });
  return names.join('-').replace(/^study-battery-page$/, 'battery-page');
}

/**
 * The pages of anyone who is logged in: what the menu leads to, and of each kind of record one. A page that is added to
 * the console is among them by itself.
 */
export function pagesToShow({ study, participant, user, approval, battery, more = {}, empty }: Subjects): ShownPage[] {
  const known: Record<string, string | undefined> = {
    study_id: study,
    participant_id: participant,
    user_id: user,
    request_id: approval,
    battery_id: battery,
    ...more,
  };
  const pages = new Map(navigation.map(({ path }) => [path, path.split('/')[2]!]));
  for (const { method, path } of consoleRoutes) {
    if (method !== 'GET' || NO_PAGE.test(path)) continue;
    const here = path.replace('/users/{id}', '/users/{user_id}').replace('{id}', '{study_id}');
    const at = here.replaceAll(/\{(\w+)\}/g, (named, name: string) => known[name] ?? named);
    if (!at.includes('{') && !pages.has(at)) pages.set(at, nameOf(here));
  }
  for (const tab of TABS) pages.set(`/console/participants/${participant}?tab=${tab}`, `participant-${tab}`);
  if (empty) {
    for (const part of EMPTY)
      pages.set(`/console/studies/${empty}${part && `/${part}`}`, `study${part && `-${part}`}-empty`);
    pages.set(`/console/capture/${empty}`, 'capture-empty');
    pages.set(`/console/reports/${empty}`, 'report-empty');
    pages.set(`/console/participants?study=${empty}`, 'participants-empty');
  }
  return [...pages].map(([path, name]) => ({ name, path }));
}
