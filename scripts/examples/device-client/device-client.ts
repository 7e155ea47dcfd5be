import { randomUUID } from 'node:crypto';
import { PATIENT, Refused, Unreachable, call } from './call.js';
import type { Patience, Request } from './call.js';
import { DeviceClock } from './clock.js';
import { batchesOf, responseItem, sessionItem } from './queue.js';
import type { Batch, HeldResult, HeldSession } from './queue.js';
import { LoginNeeded } from './portal-tokens.js';
import type { Store } from './store.js';
import type { ItemResult, Started, Trial } from './wire.js';

export interface DeviceOptions {
  api: string;
  studyId: string;
  participantId: string;
  /** Of this installation, made once: two devices' sessions never meet. */
  deviceId: string;
  store: Store;
  /** A bearer token; `refused` is the one that was not taken. */
  token: (refused?: string) => Promise<string>;
  patience?: Patience;
  clock?: DeviceClock;
}
export interface Planned {
  visitId?: string;
  batteryId?: number;
  language?: string;
  timezone?: string;
}
export interface Recorded {
  task: string;
  trials: Trial[];
  summary?: Record<string, number | null>;
  moduleId?: string;
}
/** What a delivery came to. `conflicts` are kept by the service for staff; `rejected` are kept here. */
export interface Delivery {
  delivered: number;
  conflicts: ItemResult[];
  rejected: ItemResult[];
}

/**
 * Sessions on line and off. Everything is on the disk before it is sent, everything that is sent may arrive twice, and
 * nothing leaves the disk before the service has said that it has it.
 */
export class DeviceClient {
  private readonly patience: Patience;
  private readonly clock: DeviceClock;
  private delivering: Promise<Delivery> | undefined;

  constructor(private readonly device: DeviceOptions) {
    this.patience = device.patience ?? PATIENT;
    this.clock = device.clock ?? new DeviceClock();
  }

  /** For the `timestamp` of a trial. */
  now(): string {
    return this.clock.now();
  }

  /** Begins a session, on line where the service answers. Returns what the session is known by on this device. */
  async begin(planned: Planned = {}): Promise<string> {
    await reachable(() => this.clock.compare(this.device.api, { ...this.patience, attempts: 1 }));
    const id = randomUUID();
    const startedAt = this.clock.now();
    const key = randomUUID();
    // A start without a key that is repeated is a second session.
    const started = await reachable(() =>
      this.ask<Started>({
        method: 'POST',
        path: '/api/session/start',
        headers: () => ({ 'Idempotency-Key': key }),
        body: {
          participant_id: this.device.participantId,
          study_id: this.device.studyId,
          device_id: this.device.deviceId,
          ...(planned.visitId && { visit_id: planned.visitId }),
          ...(planned.batteryId && { battery_id: planned.batteryId }),
          ...(planned.language && { language: planned.language }),
          ...(planned.timezone && { timezone: planned.timezone }),
        },
      }),
    );
    const session: HeldSession = { id, serverId: started?.sessionId ?? null, startedAt, end: null, planned };
    await this.device.store.put(`session.${id}`, session);
    return id;
  }

  /** Keeps the results of a task, and sends them at once where the session is on line. */
  async record(id: string, recorded: Recorded): Promise<void> {
    const result: HeldResult = { id: randomUUID(), sessionId: id, ...recorded };
    const key = `result.${id}.${result.id}`;
    await this.device.store.put(key, result);
    const { serverId } = await this.session(id);
    if (serverId === null) return;
    const body = {
      session_id: serverId,
      task_summaries: recorded.summary ? { [recorded.task]: recorded.summary } : {},
      raw_trials: recorded.trials,
      ...(recorded.moduleId && { module_id: recorded.moduleId }),
    };
    if (await this.sentToSession(serverId, '/api/submit', body)) await this.device.store.remove(key);
  }

  /** Ends a session: `completed`, or `abandoned` by the participant. It waits for `deliver` where the service is away. */
  async finish(id: string, status: 'completed' | 'abandoned' = 'completed'): Promise<void> {
    const session: HeldSession = { ...(await this.session(id)), end: { status, at: this.clock.now() } };
    await this.device.store.put(`session.${id}`, session);
    const waiting = await this.device.store.keys(`result.${id}.`);
    // Results that wait go with the end of their session: it would refuse them afterwards.
    if (session.serverId === null || status === 'abandoned' || waiting.length > 0) return;
    if (await this.sentToSession(session.serverId, '/api/session/end', { session_id: session.serverId }))
      await this.device.store.remove(`session.${id}`);
  }

  /**
   * Delivers all that is finished and waits: when the connection is back, when the app starts, and now and then.
   * @throws Unreachable: nothing is lost, later again; Refused: the login or the study does not allow it
   */
  deliver(): Promise<Delivery> {
    this.delivering ??= this.deliverAll().finally(() => {
      this.delivering = undefined;
    });
    return this.delivering;
  }

  private async deliverAll(): Promise<Delivery> {
    const delivery: Delivery = { delivered: 0, conflicts: [], rejected: [] };
    for (const batch of await batchesOf(this.device.store)) await this.deliverBatch(batch, delivery);
    return delivery;
  }

  private async deliverBatch({ sessions, results }: Batch, delivery: Delivery): Promise<void> {
    const { store } = this.device;
    const answer = await this.ask<{ results: ItemResult[] }>({
      method: 'POST',
      path: '/api/sync/bulk',
      headers: () => ({ 'X-Device-Time': this.clock.now() }),
      body: {
        sessions: sessions.map((session) => sessionItem(session, this.device)),
        responses: results.map((result) => responseItem(result, sessions, this.device)),
      },
    });
    // Answers come in the order of the items: sessions, then responses. A session leaves after its results.
    const held = [...sessions.map(({ id }) => `session.${id}`), ...results.map((r) => `result.${r.sessionId}.${r.id}`)];
    for (const [index, result] of [...answer.results.entries()].reverse()) {
      if (result.status === 'rejected') {
        // Set aside, for whoever looks after the app: it would be rejected again, and stops nothing else.
        await store.put(`rejected.${held[index]}`, { result, item: await store.get(held[index]!) });
        delivery.rejected.push(result);
      } else delivery.delivered += 1;
      if (result.status === 'conflict') delivery.conflicts.push(result);
      await store.remove(held[index]!);
    }
  }

  /** Whether the service has it. What it refuses (a session that has expired, say) waits for `deliver`, which says why. */
  private async sentToSession(serverId: string, path: string, body: object): Promise<boolean> {
    const headers = () => ({ 'X-Session-ID': serverId });
    try {
      await call(this.device.api, { method: 'POST', path, body, headers }, this.patience);
      return true;
    } catch (fault) {
      if (fault instanceof Unreachable || fault instanceof Refused) return false;
      throw fault;
    }
  }

  /** A request with the bearer token; once more with another one where it was not taken. */
  private async ask<T>(request: Request): Promise<T> {
    const token = await this.device.token();
    const withToken = (bearer: string): Request => ({
      ...request,
      headers: () => ({ ...request.headers?.(), Authorization: `Bearer ${bearer}` }),
    });
    try {
      return await call<T>(this.device.api, withToken(token), this.patience);
    } catch (fault) {
      if (!(fault instanceof Refused) || fault.status !== 401) throw fault;
      return call<T>(this.device.api, withToken(await this.device.token(token)), this.patience);
    }
  }

  private async session(id: string): Promise<HeldSession> {
    const session = await this.device.store.get<HeldSession>(`session.${id}`);
    if (!session) throw new Error(`There is no session ${id} on this device.`);
    return session;
  }
}

/** Undefined where the service is away, or knows the device no longer: a session is held all the same. */
async function reachable<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (fault) {
    if (fault instanceof Unreachable || fault instanceof LoginNeeded) return undefined;
    throw fault;
  }
}
