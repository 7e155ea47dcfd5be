import type { Database } from '../knex.js';
import { prepared } from '../prepared.js';
import type { CallerRow } from '../request.js';
import { SharedRead } from '../shared-read.js';
import type { CompileSource } from './batteries.js';
import type { PortalCallerRow } from './portal.js';

export interface BatteryAsked {
  battery: number;
  version: number | null;
}
export interface BatteryRight<Caller> {
  caller: Caller | null;
  source: CompileSource | null;
}
export type UserAsks = BatteryAsked & {
  userId: string;
  studyId: string | null;
  siteId: string | null;
  login: string | null;
};
export type ParticipantAsks = BatteryAsked & { participantId: string; login: string | null };

const column = <T, K extends keyof T>(asks: readonly T[], key: K): T[K][] => asks.map((ask) => ask[key]);

const forUsers = new SharedRead<UserAsks, BatteryRight<CallerRow>>((database, asks) =>
  prepared(
    database,
    `select f.caller, f.source from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::integer[], $6::integer[]) with ordinality as n(person, study, site, login, battery, version, place)
   cross join lateral battery_for_user(n.person, n.study, n.site, n.login, n.battery, n.version) f order by n.place`,
    [
      column(asks, 'userId'),
      column(asks, 'studyId'),
      column(asks, 'siteId'),
      column(asks, 'login'),
      column(asks, 'battery'),
      column(asks, 'version'),
    ],
  ),
);

const forParticipants = new SharedRead<ParticipantAsks, BatteryRight<PortalCallerRow>>((database, asks) =>
  prepared(
    database,
    `select f.caller, f.source from unnest($1::uuid[], $2::uuid[], $3::integer[], $4::integer[]) with ordinality as n(person, login, battery, version, place)
   cross join lateral battery_for_participant(n.person, n.login, n.battery, n.version) f order by n.place`,
    [column(asks, 'participantId'), column(asks, 'login'), column(asks, 'battery'), column(asks, 'version')],
  ),
);

/** The user as the database has it now, and the version of a battery that it would be given. */
export const batteryForUser = (database: Database, asks: UserAsks): Promise<BatteryRight<CallerRow>> =>
  forUsers.ask(database, asks);
/** The same of a participant. */
export const batteryForParticipant = (
  database: Database,
  asks: ParticipantAsks,
): Promise<BatteryRight<PortalCallerRow>> => forParticipants.ask(database, asks);
