import { randomUUID } from 'node:crypto';
import { h } from 'preact';
import type { ComponentChildren } from 'preact';
import type { Tx } from '../../../db/client/database.js';
import { subjectStatement } from '../../../db/timeline/timeline.queries.js';
import type { TimelineSubject } from '../../../db/timeline/timeline.queries.js';
import { participantAnchorId } from '../../../workflows/contract.js';
import { timeline } from '../../timeline/timeline.service.js';
import { workflowAddress } from '../../timeline/links.js';
import type { Dependencies } from '../../dependencies.js';
import type { Actor } from '../../http/access.js';
import { inStudy } from '../../http/access.js';
import { Type, oneOf } from '../../http/common.schemas.js';
import { problem } from '../../http/errors.js';
import { consolePage } from '../routing/page.js';
import type { View } from '../routing/render.js';
import { DateTab } from './date-tab.js';
import { FactsTab } from './facts-tab.js';
import { ParticipantPage, personPath, tabs, displayZoneOf } from './participant.page.js';
import type { Tab } from './participant.page.js';
import { loadDate, participantViewOf, personStatements } from './participant.service.js';
import type { ParticipantView } from './participant.service.js';
import {
  TAB_PAGE,
  loadAudit,
  loadFacts,
  loadMessages,
  loadSchedule,
  loadSessions,
} from './participant-tabs.service.js';
import { ScheduleTab } from './schedule-tab.js';
import { AuditTab, MessagesTab, SessionsTab, TimelineTab } from './tabs.js';

const number = Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 }));
const Asked = Type.Object({
  tab: Type.Optional(oneOf(...tabs)),
  skip: number,
  entry: Type.Optional(Type.String({ maxLength: 36 })),
  from: number,
  to: number,
  done: Type.Optional(Type.String({ maxLength: 20 })),
});
type Query = Type.Static<typeof Asked>;

interface TabRequest {
  tx: Tx;
  /** The participant of the timeline. */
  subject: TimelineSubject;
  actor: Actor;
  person: ParticipantView;
  query: Query;
  services: Dependencies;
}

/** Each tab is read separately: a page needs only one. */
const contents: Record<Tab, (request: TabRequest) => Promise<ComponentChildren>> = {
  timeline: async ({ tx, services, subject, ...of }) => {
    const asked = { skip: of.query.skip ?? 0, limit: TAB_PAGE, newestFirst: true };
    const { items, total } = await timeline(tx, services, of.person.record.id, asked, subject);
    return h(TimelineTab, { items, total, daysIn: subject.zone, ...placeOf(of) });
  },
  schedule: async ({ tx, person, query }) =>
    h(ScheduleTab, {
      view: await loadSchedule(tx, person.record.id, query),
      id: person.record.id,
      zone: displayZoneOf(person),
    }),
  date: async ({ tx, person, query }) =>
    h(DateTab, {
      person,
      view: await loadDate(tx, person, query.entry),
      form: { once: randomUUID(), done: query.done },
    }),
  facts: async ({ tx, actor, person, query, services }) =>
    h(FactsTab, {
      person,
      view: await loadFacts(tx, actor, person.record, services.settings),
      form: { done: query.done },
    }),
  sessions: async ({ tx, ...of }) =>
    h(SessionsTab, { view: await loadSessions(tx, of.person.record.id, of.query.skip ?? 0), ...placeOf(of) }),
  messages: async ({ tx, actor, services, ...of }) =>
    h(MessagesTab, {
      view: await loadMessages(tx, actor, of.person.record.id, {
        skip: of.query.skip ?? 0,
        maxLatenessHours: services.settings.REMINDER_MAX_LATENESS_HOURS,
      }),
      ...placeOf(of),
    }),
  audit: async ({ tx, actor, ...of }) => {
    // The same rule as GET /api/audit.
    if (!actor.isAdmin) throw problem('FORBIDDEN');
    return h(AuditTab, { ...(await loadAudit(tx, of.person.record, of.query.skip ?? 0)), ...placeOf(of) });
  },
};

const placeOf = ({ person, query }: Pick<TabRequest, 'person' | 'query'>) => ({
  at: `${personPath(person.record.id)}?tab=${query.tab ?? 'timeline'}`,
  skip: query.skip ?? 0,
  zone: displayZoneOf(person),
});

/** The page with one tab. */
export function personView(
  person: ParticipantView,
  tab: Tab,
  content: ComponentChildren,
  services: Dependencies,
): View {
  const temporal = workflowAddress(participantAnchorId(person.record.id), services.settings);
  return {
    title: person.record.participant_code,
    content: h(ParticipantPage, { person, tab, temporal: temporal ?? undefined, children: content }),
  };
}

export const participantPages = [
  consolePage({
    path: '/console/participants/{participant_id}',
    summary: 'Show a participant: what it waits for, and one tab',
    access: inStudy(),
    transaction: 'read',
    query: Asked,
    prefetch: ({ params: { participant_id: id } }) => [...personStatements(id), subjectStatement(id)],
    view: async ({ tx, actor, query, services, prefetched }) => {
      const tab = query.tab ?? 'timeline';
      const person = participantViewOf(actor, prefetched);
      const subject = prefetched[2]![0] as TimelineSubject;
      const content = await contents[tab]({ tx, subject, actor, person, query, services });
      return personView(person, tab, content, services);
    },
  }),
];
