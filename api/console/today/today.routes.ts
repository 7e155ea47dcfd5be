import { h } from 'preact';
import { nowIso } from '../../../db/client/clock.js';
import { DAY_GROUPS } from '../../../db/console/today.queries.js';
import { isDate } from '../../../workflows/domain/util/dates.js';
import { inStudy, staff } from '../../http/access.js';
import { Type, text } from '../../http/common.schemas.js';
import { attachment } from '../../http/conventions/file-names.js';
import { reply } from '../../http/reply.js';
import { idOf } from '../inbox/inbox.routes.js';
import { forSpreadsheets } from '../routing/csv-file.js';
import { consolePage } from '../routing/page.js';
import { seesStudy } from '../studies/studies.service.js';
import { TodayPage } from './today.page.js';
import { FILE_ROWS, loadToday, visitsFile } from './today.service.js';
import type { TodayFilter } from './today.service.js';

const Filter = {
  group: Type.Optional(text(20)),
  study: Type.Optional(text(36)),
  site: Type.Optional(text(36)),
  day: Type.Optional(text(10)),
};
interface Asked {
  group?: string;
  study?: string;
  site?: string;
  day?: string;
  skip?: number;
}
const filterOf = ({ group, study, site, day, skip = 0 }: Asked): TodayFilter => ({
  group: DAY_GROUPS.find((one) => one === group) ?? 'in_window',
  studyId: idOf(study),
  siteId: idOf(site),
  day: day && isDate(day) ? day : undefined,
  skip,
});

export const todayRoutes = [
  consolePage({
    path: '/console/today',
    summary: 'Show the visits that are due, over all studies',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({
      ...Filter,
      skip: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000 })),
      done: Type.Optional(text(20)),
      of: Type.Optional(text(80)),
    }),
    view: async ({ tx, actor, query, ui }) => {
      const today = await loadToday(tx, filterOf(query));
      const content = h(TodayPage, {
        today,
        done: query.done,
        of: idOf(query.of),
        mayChange: staff.participants.roles.includes(actor.role),
        hasStudy: today.facets.length > 0 || (await seesStudy(tx)),
      });
      return { title: ui.words.today.title, content };
    },
  }),
  consolePage({
    path: '/console/today/csv',
    summary: 'Download the visits that are due as CSV',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object(Filter),
    view: async ({ tx, query, ui }) => {
      const filter = filterOf(query);
      const { items } = await loadToday(tx, filter, FILE_ROWS);
      return reply(200, forSpreadsheets(visitsFile(ui.words, items)), {
        'Content-Type': 'text/csv; charset=utf-8',
        'Content-Disposition': attachment(['visits', filter.group], 'csv', nowIso()),
        'Cache-Control': 'no-store',
      });
    },
  }),
];
