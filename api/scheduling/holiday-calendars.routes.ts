import { listCalendars } from '../../db/scheduling/holiday-calendars.queries.js';
import { inStudy, staff } from '../http/access.js';
import { created, noContent, route } from '../http/route.js';
import { Type, listOf, paging, sorting } from '../http/common.schemas.js';
import { ChangedHolidayCalendar, HolidayCalendar, HolidayCalendarChange, NewHolidayCalendar } from './edc.schemas.js';
import { withEarlierOverrides } from '../studies/earlier-overrides.service.js';
import { changeCalendar, createCalendar, getCalendarOrThrow, removeCalendar } from './holiday-calendars.service.js';

const tag = 'Holiday calendars';
const regenerates =
  'In scheduling mode `edc` schedules follow in the background: only where a target moves a new schedule version ' +
  'is made.';

export const holidayCalendarRoutes = [
  route({
    method: 'GET',
    path: '/api/studies/{study_id}/holiday-calendars',
    operationId: 'listHolidayCalendars',
    tag,
    summary: 'List holiday calendars',
    description: 'The calendars of the study: its own and those of sites.',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({ ...paging, sort: sorting('name', 'created_at') }),
    responses: { 200: listOf(HolidayCalendar) },
    handle: ({ tx, params, query }) =>
      listCalendars(tx, params.study_id, {
        skip: query.skip ?? 0,
        limit: query.limit ?? 50,
        sort: query.sort ?? 'name',
      }),
  }),
  route({
    method: 'POST',
    path: '/api/studies/{study_id}/holiday-calendars',
    operationId: 'createHolidayCalendar',
    tag,
    summary: 'Add a holiday calendar',
    access: staff.configure,
    transaction: 'change',
    description:
      'A calendar with `site_id` serves that site’s participants, the default one all others. A new default ' +
      'takes the mark from the former; a study’s first calendar is its default unless it says otherwise. ' +
      `${regenerates}`,
    body: NewHolidayCalendar,
    responses: { 201: ChangedHolidayCalendar },
    handle: async ({ tx, audit, actor, context, params, body }) => {
      const calendar = await createCalendar({ tx, audit, actor, context }, params.study_id, body);
      return created(await withEarlierOverrides(tx, calendar.study_id, calendar));
    },
  }),
  route({
    method: 'GET',
    path: '/api/holiday-calendars/{calendar_id}',
    operationId: 'getHolidayCalendar',
    tag,
    summary: 'Get a holiday calendar',
    description: 'A calendar with its weekend days and holidays. 404 if it does not exist.',
    access: inStudy(),
    transaction: 'read',
    responses: { 200: HolidayCalendar },
    handle: ({ tx, params }) => getCalendarOrThrow(tx, params.calendar_id),
  }),
  route({
    method: 'PATCH',
    path: '/api/holiday-calendars/{calendar_id}',
    operationId: 'updateHolidayCalendar',
    tag,
    summary: 'Change a holiday calendar',
    access: staff.configure,
    transaction: 'change',
    description: `\`weekend_days\` and \`holidays\` are replaced as a whole. ${regenerates}`,
    body: HolidayCalendarChange,
    responses: { 200: ChangedHolidayCalendar },
    handle: ({ tx, audit, actor, context, params, body, assertIfMatch }) =>
      changeCalendar({ tx, audit, actor, context }, params.calendar_id, body, assertIfMatch),
  }),
  route({
    method: 'DELETE',
    path: '/api/holiday-calendars/{calendar_id}',
    operationId: 'deleteHolidayCalendar',
    tag,
    summary: 'Delete a holiday calendar',
    description: `Targets no longer keep clear of its days. ${regenerates}`,
    access: staff.configure,
    transaction: 'change',
    responses: { 204: undefined },
    handle: async ({ tx, audit, actor, context, params, assertIfMatch }) => {
      await removeCalendar({ tx, audit, actor, context }, params.calendar_id, assertIfMatch);
      return noContent();
    },
  }),
];
