import type { Guard } from './guard.js';

const SESSIONS = 'test/security/session-ids.test.ts';
const DEVICES = 'nor what a device sends for it';

/** Ids of sessions, where devices are concerned; test/guards/data.ts has the others. */
export const sessionGuards: readonly Guard[] = [
  {
    refuses: 'an active session’s id in records of what a device sent',
    file: 'db/exports/audit-columns.ts',
    text: "t.action = 'offline_sync' and",
    without: "t.action = '' and",
    test: SESSIONS,
    title: DEVICES,
  },
  {
    refuses: 'an active session’s id in conflicts',
    file: 'db/assessment/offline-conflicts.queries.ts',
    text: 'writesSessions ? text : publicOf(',
    without: 'writesSessions || text ? text : publicOf(',
    test: SESSIONS,
    title: DEVICES,
  },
  {
    refuses: 'the id of an active session that was kept beside another',
    file: 'db/assessment/offline-conflicts.queries.ts',
    text: `uuidIn(\`c.server_content ->> 'beside_session_id'\`)`,
    without: `uuidIn(\`c.server_content ->> 'beside'\`)`,
    test: SESSIONS,
    title: DEVICES,
  },
  {
    refuses: 'an active session’s id in capitals in the full export',
    file: 'db/exports/full-study/document.ts',
    text: 'shown.get(id.toLowerCase()) ?? id',
    without: 'shown.get(id) ?? id',
    test: SESSIONS,
    title: DEVICES,
  },
  {
    refuses: 'the id of a session that a device has not ended',
    file: 'db/scheduling/effective-status.ts',
    text: "and (${session}.source = 'offline' or",
    without: 'and (false or',
    test: SESSIONS,
    title: 'nor has it the id of a session that a device has not ended yet',
  },
  {
    refuses: 'results of a session that ended long ago to who knows its id alone',
    file: 'api/assessment/sessions/sessions-submit.service.ts',
    text: 'if (expires_at === null || arrived > Date.parse(expires_at)) return false;',
    without: `if (status !== 'completed' && arrived > Date.parse(expires_at ?? '')) return false;`,
    test: SESSIONS,
    title: 'nothing is added by the id of a session that ended',
  },
];
