import { timingSafeEqual } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { loadCaller } from '../../db/client/request.js';
import { authorizeUser, roles } from '../http/access.js';
import { bearerToken, sha256, verifyToken } from '../http/security/tokens.js';
import type { Dependencies } from '../dependencies.js';

/** The current resource usage of the process. */
export function processFigures() {
  const { rss, heapUsed, heapTotal } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const { utilization } = performance.eventLoopUtilization();
  return {
    pid: process.pid,
    memory: { rss_bytes: rss, heap_used_bytes: heapUsed, heap_total_bytes: heapTotal },
    cpu_seconds: (user + system) / 1e6,
    event_loop_utilization: utilization,
  };
}

/**
 * Admits a scraper with METRICS_TOKEN (a monitoring system has no login), or an admin.
 * @throws 401, 403
 */
export async function admitScraper(services: Dependencies, authorization: string | undefined): Promise<void> {
  const token = bearerToken(authorization);
  const { METRICS_TOKEN } = services.settings;
  if (METRICS_TOKEN !== undefined && timingSafeEqual(sha256(token), sha256(METRICS_TOKEN))) return;
  const { sub, sid, epoch } = verifyToken(services.settings, 'api', token);
  authorizeUser(roles('admin'), await loadCaller(services.database, { userId: sub, login: sid }), undefined, epoch);
}
