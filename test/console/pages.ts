import { navigation } from '../../api/console/navigation.js';
import { consoleRoutes } from '../../api/console/console.routes.js';

/** Whose pages are looked at, by the first part of their address. */
export interface Subjects {
  study: string;
  participant: string;
  user: string;
  approval?: string;
  battery?: string;
}

export interface ShownPage {
  name: string;
  path: string;
}

const subjectOf = (part: string, { study, participant, user, approval }: Subjects): string | undefined =>
  ({ participants: participant, users: user, approvals: approval, studies: study, capture: study, reports: study })[
    part
  ];

/** The parts of a study and of its capture system that are pages of their own. */
const PARTS =
  /^\/console\/(studies|capture)\/\{\w+\}\/(batteries|connection|events|mapping|mapping\/edit|members|messages|sites)$/;

/** Parts of a page, files, and the address of a search: they show nothing by themselves. */
const NO_PAGES = ['search', 'outcome', 'csv'];

/**
 * The pages of anyone who is logged in: what the menu leads to, and of each kind of record one. A page that is added to
 * the console is among them by itself.
 */
export function pagesToShow(subjects: Subjects): ShownPage[] {
  const pages = navigation.map(({ path }) => ({ name: path.split('/')[2]!, path }));
  const parts = pages.map(({ name }) => name);
  for (const { method, path } of consoleRoutes) {
    const [, first, second] = (method === 'GET' && /^\/console\/([a-z]+)\/([a-z-]+)$/.exec(path)) || [];
    if (first && parts.includes(first) && !NO_PAGES.includes(second!)) pages.push({ name: `${first}-${second}`, path });
    const [, area, inside] = (method === 'GET' && PARTS.exec(path)) || [];
    if (area && inside)
      pages.push({
        name: `${area === 'studies' ? 'study' : area}-${inside.replace('/', '-')}`,
        path: `/console/${area}/${subjects.study}/${inside}`,
      });
    if (path === '/console/studies/{study_id}/batteries/{battery_id}' && method === 'GET' && subjects.battery)
      pages.push({ name: 'battery-page', path: `/console/studies/${subjects.study}/batteries/${subjects.battery}` });
    const part = method === 'GET' ? /^\/console\/([a-z]+)\/\{\w+\}$/.exec(path)?.[1] : undefined;
    const subject = part && part !== 'assets' ? subjectOf(part, subjects) : undefined;
    if (part && subject)
      pages.push({ name: `${part.replace(/ies$/, 'y').replace(/s$/, '')}-page`, path: `/console/${part}/${subject}` });
  }
  return pages;
}
