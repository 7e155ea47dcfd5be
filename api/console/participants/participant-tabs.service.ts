import { listAuditOfParticipant } from '../../../db/audit/audit.queries.js';
import { listSessions } from '../../../db/assessment/sessions.queries.js';
import type { SessionRecord } from '../../../db/assessment/sessions.queries.js';
import { nowIso } from '../../../db/client/clock.js';
import type { Tx } from '../../../db/client/database.js';
import { namesOfUsers } from '../../../db/identity/users.queries.js';
import { listNotifications } from '../../../db/notifications/notifications.queries.js';
import type { NotificationRecord } from '../../../db/notifications/notifications.queries.js';
import { remindersOfParticipant } from '../../../db/notifications/reminders.queries.js';
import type { Consent, Eligibility } from '../../../db/models/records.js';
import { listConsents } from '../../../db/participants/consents.queries.js';
import { eligibilityOf } from '../../../db/participants/eligibility.queries.js';
import { signaturesAskAgain } from '../../../db/studies/studies.queries.js';
import { plannedAndOther, versionsInFull, visitsOfBoth } from '../../../db/scheduling/schedule-versions.queries.js';
import type { VersionInFull } from '../../../db/scheduling/schedule-versions.queries.js';
import { explain } from '../../../workflows/domain/notifications/explain.js';
import type { Explanation } from '../../../workflows/domain/notifications/explain.js';
import type { Settings } from '../../../settings.js';
import { mayApproveWaiver } from '../../participants/eligibility.service.js';
import type { Actor } from '../../http/access.js';
import { problem } from '../../http/errors.js';
import { movedBetween } from '../../scheduling/schedule-versions.service.js';
import type { Moved } from '../../scheduling/schedule-versions.service.js';

/** Rows of a tab's page. */
export const TAB_PAGE = 50;

export interface ScheduleView {
  versions: VersionInFull[];
  current: VersionInFull | undefined;
  visits: Record<string, unknown>[];
  difference?: { from: VersionInFull; to: VersionInFull; visits: Moved[] };
}

/** The current schedule and its versions, or the difference between two versions. @throws 404 no such version */
export async function loadSchedule(
  tx: Tx,
  participantId: string,
  compared: { from?: number | undefined; to?: number | undefined },
): Promise<ScheduleView> {
  const versions = await versionsInFull(tx, participantId);
  const current = versions.find(({ is_current }) => is_current);
  if (compared.from !== undefined && compared.to !== undefined) {
    const numbered = (n: number) => {
      const found = versions.find(({ version_number }) => version_number === n);
      if (!found) throw problem('NOT_FOUND', { detail: 'There is no such schedule version.' });
      return found;
    };
    const [from, to] = [numbered(compared.from), numbered(compared.to)];
    const visits = movedBetween(...(await visitsOfBoth(tx, from, to)));
    return { versions, current, visits: [], difference: { from, to, visits } };
  }
  return { versions, current, visits: await plannedAndOther(tx, participantId, current) };
}

export interface FactsView {
  consents: Consent[];
  eligibility: Eligibility | undefined;
  /** The caller may approve the waiver; `again`: with a proof of identity. */
  approval: { again: boolean } | undefined;
}
export async function loadFacts(
  tx: Tx,
  actor: Actor,
  { id, study_id }: { id: string; study_id: string },
  { production }: Pick<Settings, 'production'>,
): Promise<FactsView> {
  const { items } = await listConsents(tx, id, { skip: 0, limit: TAB_PAGE, sort: '-created_at' });
  const eligibility = await eligibilityOf(tx, id);
  const approval =
    eligibility && mayApproveWaiver(eligibility, actor)
      ? { again: await signaturesAskAgain(tx, study_id, production) }
      : undefined;
  return { consents: items, eligibility, approval };
}

export interface SessionsView {
  items: SessionRecord[];
  total: number;
}
export const loadSessions = (tx: Tx, participantId: string, skip: number): Promise<SessionsView> =>
  listSessions(tx, { participantId, skip, limit: TAB_PAGE, sort: '-started_at' });

export interface MessagesView {
  items: (NotificationRecord & {
    explanation: Explanation | undefined;
    visit: { id: string; name: string } | undefined;
  })[];
  total: number;
}
/** The messages of a participant, each with the reason why it was, will be or will not be sent. */
export async function loadMessages(
  tx: Tx,
  actor: Actor,
  participantId: string,
  { skip, maxLatenessHours }: { skip: number; maxLatenessHours: number },
): Promise<MessagesView> {
  const { items, total } = await listNotifications(
    tx,
    { participantId, skip, limit: TAB_PAGE, sort: '-due_at' },
    actor,
  );
  const reminders = items.length === 0 ? [] : await remindersOfParticipant(tx, participantId, skip + TAB_PAGE);
  const byId = new Map(reminders.map((row) => [row.id, row]));
  const now = nowIso();
  return {
    total,
    items: items.map((item) => {
      const row = byId.get(item.id);
      return { ...item, visit: row?.visit ?? undefined, explanation: row && explain(row, now, maxLatenessHours) };
    }),
  };
}

export interface AuditLine {
  id: string;
  created_at: string;
  action: string;
  user_id: string | null;
  by: string | undefined;
  request_id: string | null;
}
/** The audit records of a participant and of its consents, forms, visits and the like, with names of users. */
export async function loadAudit(
  tx: Tx,
  participant: { id: string; study_id: string },
  skip: number,
): Promise<{ items: AuditLine[]; total: number }> {
  const { items, total } = await listAuditOfParticipant(tx, {
    study_id: participant.study_id,
    participant_id: participant.id,
    skip,
    limit: TAB_PAGE,
  });
  const names = await namesOfUsers(
    tx,
    items.flatMap(({ user_id }) => user_id ?? []),
  );
  return { total, items: items.map((line) => ({ ...line, by: line.user_id ? names.get(line.user_id) : undefined })) };
}
