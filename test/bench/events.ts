import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Receiver } from '../support/receiver.js';
import { until } from '../support/until.js';
import { ofLimit, percentile } from './figure.js';
import type { Figure } from './figure.js';
import type { Stage } from './stage.js';

const PER_SECOND = 50,
  SECONDS = 20,
  COUNT = PER_SECOND * SECONDS;

/**
 * EVENTS: from just before an event is written and committed until its subscriber has it, signed, by the running
 * worker; fifty a second. None may be missing, none may come twice.
 */
export async function eventFigures(stage: Stage): Promise<Figure[]> {
  const subscriber = await Receiver.open();
  try {
    const study = await stage.call<{ id: string }>('POST', '/api/studies', {
      study_code: `BENCH-${randomUUID().slice(0, 8)}`,
      study_name: 'Bench',
    });
    await stage.call('POST', `/api/studies/${study.id}/event-subscriptions`, {
      url: `${subscriber.url}/events`,
      events: ['ENROLLMENT_DATE_SET'],
    });
    await stage.quiet();
    const written = new Map<string, number>();
    const begun = performance.now();
    await Promise.all(
      Array.from({ length: COUNT }, async (_, i) => {
        await sleep(i * (1_000 / PER_SECOND) - (performance.now() - begun));
        const id = randomUUID();
        written.set(id, performance.now());
        await stage.sql.query(
          `insert into domain_events (id, type, study_id, data) values ($1, 'ENROLLMENT_DATE_SET', $2, $3)`,
          [id, study.id, JSON.stringify({ source_type: 'manual_entry', source_ref: null, actor: null })],
        );
      }),
    );
    await until(() => subscriber.received.length >= COUNT, { what: 'every event to arrive' });
    const took = subscriber.received.map(({ headers, at }) => at - written.get(String(headers['webhook-id']))!);
    if (
      new Set(subscriber.received.map(({ headers }) => headers['webhook-id'])).size !== COUNT ||
      took.length !== COUNT
    )
      throw new Error(`${took.length} events came, of ${COUNT}`);
    return [
      ofLimit(
        'EVENTS',
        percentile(took, 0.95) / 1_000,
        1,
        's',
        `from the commit of an event to its subscriber, ${PER_SECOND} a second, slowest of twenty`,
      ),
    ];
  } finally {
    await subscriber.close();
  }
}
