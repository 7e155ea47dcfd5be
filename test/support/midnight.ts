import { dateIn } from '../../workflows/domain/util/dates.js';
import { until } from './until.js';

/** Longer than a test takes, also on a busy machine. */
const A_TEST_MS = 45_000;

/**
 * What follows is of one day in each of these zones: where midnight is near in one of them, waits until it is past. For
 * a test whose days stand beside today, without one between them.
 */
export async function clearOfMidnight(...zones: readonly string[]): Promise<void> {
  const dayIn = (zone: string, aheadMs: number) => dateIn(new Date(Date.now() + aheadMs).toISOString(), zone);
  await until(() => zones.every((zone) => dayIn(zone, 0) === dayIn(zone, A_TEST_MS)), {
    timeout: 2 * A_TEST_MS,
    interval: 500,
    what: `midnight in ${zones.join(' or ')} to be past`,
  });
}
