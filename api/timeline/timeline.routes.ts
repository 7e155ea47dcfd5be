import { nowMs } from '../../db/client/clock.js';
import { timelineKinds } from '../../db/timeline/timeline.queries.js';
import { PICTURE_POLICY } from '../../activities/html/picture-theme.js';
import { inStudy, portal, outsideStudy } from '../http/access.js';
import { rangeEndExclusive, rangeStart } from '../http/conventions/time-range.js';
import { reply, route, response } from '../http/route.js';
import {
  Instant,
  Json,
  Type,
  before,
  listOf,
  nullable,
  oneOf,
  paging,
  since,
  record,
  named,
} from '../http/common.schemas.js';
import { timeline, wholeTimeline } from './timeline.service.js';
import { PAGE_POLICY, timelinePage, timelineSvg } from './page.js';
import { timelineWordsOf } from './page-words.js';
import { portalKinds, portalTimeline } from './portal.js';

const Item = record('TimelineItem', {
  at: Instant,
  kind: oneOf(...timelineKinds),
  title: Type.String(),
  data: Json,
  links: Type.Object({
    api: Type.String(),
    temporal: nullable(Type.String({ description: 'in the Temporal Web UI, if a workflow did it' })),
  }),
});
const OwnItem = named(
  'PortalTimelineItem',
  Type.Object(
    { at: Instant, kind: oneOf(...portalKinds), title: Type.String(), data: Json },
    { additionalProperties: false },
  ),
);

const narrowing = { from: Type.Optional(since), to: Type.Optional(before) };
const period = ({ from, to }: { from?: string; to?: string }) => ({
  from: from && rangeStart(from),
  to: to && rangeEndExclusive(to),
});
const kinds = <const K extends readonly string[]>(...names: K) =>
  Type.Optional(Type.Array(oneOf(...names), { description: 'of these kinds, with commas between' }));

const SVG = 'image/svg+xml',
  HTML = 'text/html';

const FORMATS = new Map([
  ['application/json', 'json'],
  [HTML, 'html'],
  [SVG, 'svg'],
] as const);
type Format = 'json' | 'svg' | 'html';

/** The requested format: the query's, else the one that Accept weighs most; JSON if it names none of them. */
const formatOf = (format: Format | undefined, prefers: (mediaTypes: readonly string[]) => string | false): Format =>
  format ?? new Map<string | false, Format>(FORMATS).get(prefers([...FORMATS.keys()])) ?? 'json';

export const timelineRoutes = [
  route({
    method: 'GET',
    path: '/api/studies/{study_id}/participants/{participant_id}/timeline',
    operationId: 'getTimeline',
    tag: 'Timeline',
    summary: 'Get a participant’s timeline',
    access: inStudy(),
    transaction: 'read',
    description:
      'Anchor dates, schedule versions, visits, sessions, consents, eligibility, randomization, forms, ' +
      'reminders, triggers, pushes and approvals in one list; entries of the same instant are in the order of ' +
      'cause and effect. `data.planned` marks future entries: a visit is at its target date until it is ' +
      `over. \`format=svg\` (or \`Accept: ${SVG}\`) gives all of it as a picture, \`format=html\` (\`${HTML}\`) ` +
      'as a page.',
    query: Type.Object({
      ...paging,
      ...narrowing,
      kind: kinds(...timelineKinds),
      format: Type.Optional(oneOf('json', 'svg', 'html')),
    }),
    responses: { 200: response(listOf(Item), { mediaTypes: [SVG, HTML] }) },
    handle: async ({ tx, services, params, query, headers, prefers }) => {
      const filter = { kinds: query.kind, ...period(query) };
      const format = formatOf(query.format, prefers);
      const vary = { Vary: 'Accept' };
      if (format === 'json') {
        const { items, total } = await timeline(tx, services, params.participant_id, {
          ...filter,
          skip: query.skip ?? 0,
          limit: query.limit ?? 50,
        });
        return reply(200, { items, total }, vary);
      }
      const words = timelineWordsOf(headers['accept-language']);
      const varies = { Vary: 'Accept, Accept-Language' };
      const { subject, items, total } = await wholeTimeline(tx, services, params.participant_id, filter);
      if (format === 'svg')
        return reply(200, timelineSvg(subject, items, words), {
          ...varies,
          'Content-Type': `${SVG}; charset=utf-8`,
          'Content-Security-Policy': PICTURE_POLICY,
        });
      return reply(200, timelinePage(subject, items, total, new Date(nowMs()), words), {
        ...varies,
        'Content-Type': `${HTML}; charset=utf-8`,
        'Content-Security-Policy': PAGE_POLICY,
      });
    },
  }),
  route({
    method: 'GET',
    path: '/api/portal/timeline',
    operationId: 'getOwnTimeline',
    tag: 'Portal',
    summary: 'Get the own timeline',
    access: outsideStudy(portal),
    transaction: 'read',
    description:
      'What happened and what is planned, in one list, in the participant’s language, or its caregiver’s, ' +
      'where there is one for it (de, en, es).',
    query: Type.Object({ ...paging, ...narrowing, kind: kinds(...portalKinds) }),
    responses: { 200: listOf(OwnItem) },
    handle: ({ tx, actor, query }) =>
      portalTimeline(tx, actor, {
        kinds: query.kind,
        ...period(query),
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
      }),
  }),
];
