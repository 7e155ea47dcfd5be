import { largestBody } from '../../api/http/body/limit.js';
import type { Route } from '../../api/http/route.js';
import { documentedRoutes as routes } from '../../api/routes.js';
import { bodiesOf } from '../security/costly/bodies.js';
import { Http, login, newParticipant, newStudy, user } from '../support/http.js';
import { countingTurns, turnsDuring } from '../support/loop-turns.js';
import { startService } from '../support/service.js';
import { between, machine } from './document.js';
import { residentMb } from './memory.js';

const LIMITS = { MAX_BODY_BYTES: 5 * 1024 * 1024, MAX_UPLOAD_BYTES: 20 * 1024 * 1024 };
/** What the process does beside a request comes and goes. */
const TRIES = 3;
const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';

interface Cost {
  route: string;
  by: string;
  kilobytes: number;
  /** What the costliest body is made of. */
  body: string;
  status: number;
  /** Processor time of the main thread: of the longest turn of the event loop, and of all. */
  longest: number;
  total: number;
  /** Resident memory above what was there before. */
  megabytes: number;
}

const asNumber = (value: number): string => value.toFixed(value < 10 ? 1 : 0);
const rowOf = ({ route, by, kilobytes, body, status, longest, total, megabytes }: Cost): string =>
  `| ${route} | ${by} | ${kilobytes.toLocaleString('en')} | ${body} | ${status} | ${asNumber(longest)} | ${asNumber(total)} | ${asNumber(megabytes)} |`;

/**
 * COSTLY: of each route without a login, and of the role that may least, the costliest body that it reads: how long it
 * holds the event loop of the API, its processor time, and the memory that it takes.
 */
export async function costlyRequests(write: boolean): Promise<void> {
  const { settings, folder } = countingTurns();
  const generous = { RATE_LIMIT_PER_MINUTE: '1000000', AUTH_RATE_LIMIT_PER_MINUTE: '1000000' };
  const service = await startService({ ...settings, ...generous });
  try {
    const { run } = service;
    const admin = (await login(run.api, run.admin_email, run.admin_password ?? '')).http;
    const study = await newStudy(admin);
    const { id: participant_id } = await newParticipant(admin, study.id);
    const names: Record<string, string> = { study_id: study.id, participant_id };
    const reader = await user(admin, 'data_manager', { study_ids: [study.id] });
    const api = service.current().pids.api!;

    const costOf = async (by: Http, route: Route): Promise<Omit<Cost, 'by'> | undefined> => {
      const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        name.endsWith('id') ? (names[name] ?? UNKNOWN_ID) : 'x',
      );
      let most: Omit<Cost, 'by'> | undefined;
      for (const [body, make] of Object.entries(bodiesOf(route))) {
        const raw = make(largestBody(route, LIMITS));
        let [longest, total, megabytes, status] = [Infinity, Infinity, Infinity, 0];
        for (let i = 0; i < TRIES; i += 1) {
          const before = residentMb(api);
          let peak = before;
          const look = setInterval(() => {
            peak = Math.max(peak, residentMb(api));
          }, 5);
          const turns = await turnsDuring(folder, api, async () => {
            const headers = { 'X-Session-ID': UNKNOWN_ID, 'X-Study-ID': study.id };
            ({ status } = await by.send(route.method, path, undefined, { raw, headers }));
          }).finally(() => {
            clearInterval(look);
          });
          longest = Math.min(longest, turns.longest);
          total = Math.min(total, turns.total);
          megabytes = Math.min(megabytes, peak - before);
        }
        const cost = { body, status, longest, total, megabytes, kilobytes: Math.ceil(raw.content.length / 1024) };
        if (!most || cost.longest > most.longest) most = { route: `${route.method} ${route.path}`, ...cost };
      }
      return most;
    };
    const open = routes.filter((route) => !route.access.token);
    const weakest = routes.filter(
      ({ access }) => access.token && access.roles.includes('data_manager') && access.roles.length >= 4,
    );
    const costs: Cost[] = [];
    for (const [list, http, by] of [
      [open, new Http(run.api), 'anybody'],
      [weakest, reader, 'data manager'],
    ] as const)
      for (const route of list) {
        const cost = await costOf(http, route);
        if (!cost) continue;
        costs.push({ ...cost, by });
        process.stdout.write(`${rowOf(costs.at(-1)!)}\n`);
      }
    costs.sort((a, b) => b.longest - a.longest);
    if (write)
      between(
        'BENCHMARKS.md',
        '<!-- costly: written by npm run bench -- COSTLY --write -->',
        '<!-- costly: end -->',
        () => [
          `Measured on: ${machine()}.`,
          '',
          '| route | by | body, KB | made of | status | longest turn, ms | in all, ms | memory, MB |',
          '|---|---|---|---|---|---|---|---|',
          ...costs.map(rowOf),
        ],
      );
  } finally {
    await service.stop();
  }
}
