import { randomUUID } from 'node:crypto';
import { PATIENT, Refused, Unreachable, call } from './call.js';
import type { Patience } from './call.js';
import { DeviceClock } from './clock.js';
import { LoginNeeded } from './portal-tokens.js';
import type { Store } from './store.js';

export interface DeviceOptions {
  api: string;
  studyId: string;
  participantId: string;
  /** The id of this installation, created once: sessions of two devices never collide. */
  deviceId: string;
  store: Store;
  /** A bearer token; `refused` is the rejected one. */
  token: (refused?: string) => Promise<string>;
  patience?: Patience;
  clock?: DeviceClock;
}
export interface Plan {
  visitId?: string;
  batteryId?: number;
  language?: string;
  timezone?: string;
}
export interface Trial {
  trial_index: number;
  /** Milliseconds; null: no reaction. */
  rt: number | null;
  correct: boolean | null;
  timestamp: string;
  data?: Record<string, unknown>;
}
export interface Result {
  task: string;
  trials: Trial[];
  summary: Record<string, number | null>;
  moduleId?: string;
}
/** A session as stored on the device, with the server's id if it began online. */
interface Held {
  id: string;
  serverId: string | null;
  startedAt: string;
  plan: Plan;
  end?: { status: 'completed' | 'abandoned'; completedAt: string | null };
}
export interface ItemResult {
  status: 'created' | 'duplicate' | 'conflict' | 'rejected';
  conflict_type?: string;
  resolution?: 'server_wins' | 'both_kept';
  code?: string;
  message?: string;
}
/** The result of a delivery. The service keeps `conflicts` for staff; `rejected` items stay here. */
export interface Delivery {
  delivered: number;
  conflicts: ItemResult[];
  rejected: ItemResult[];
}

/** The service is unavailable, or the login has ended: the session takes place nevertheless. */
const OFFLINE = [Unreachable, LoginNeeded];

/**
 * Sessions online and offline. Everything is on the disk before it is sent, every request is idempotent, and nothing is
 * deleted before the service has confirmed it.
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

  /** Begins a session, online if the service answers. Returns its id on this device. */
  async begin(plan: Plan = {}): Promise<string> {
    const { api, participantId, studyId, deviceId, store } = this.device;
    await unless(OFFLINE, this.clock.compare(api));
    const held: Held = { id: randomUUID(), serverId: null, startedAt: this.now(), plan };
    const body = {
      participant_id: participantId,
      study_id: studyId,
      device_id: deviceId,
      visit_id: plan.visitId,
      battery_id: plan.batteryId,
      language: plan.language,
      timezone: plan.timezone,
    };
    // A repeated start without a key would be a second session.
    const key = { 'Idempotency-Key': held.id };
    const started = await unless(
      OFFLINE,
      this.ask<{ sessionId: string }>('/api/session/start', body, () => key),
    );
    await store.put(`session.${held.id}`, { ...held, serverId: started?.sessionId ?? null });
    return held.id;
  }

  /** Stores the results of a task, and sends them at once if the session is online. */
  async record(id: string, result: Result): Promise<void> {
    const key = `result.${id}.${randomUUID()}`;
    await this.device.store.put(key, result);
    const { serverId } = await this.session(id);
    const body = {
      session_id: serverId,
      task_summaries: { [result.task]: result.summary },
      raw_trials: result.trials.map((trial) => ({ task: result.task, ...trial })),
      module_id: result.moduleId,
    };
    if (await this.isTaken(serverId, '/api/submit', body)) await this.device.store.remove(key);
  }

  /**
   * Ends a session: `completed`, or `abandoned` by the participant. `deliver` sends it later if the service is
   * unavailable.
   */
  async finish(id: string, status: 'completed' | 'abandoned' = 'completed'): Promise<void> {
    const { store } = this.device;
    const held = await this.session(id);
    const completedAt = status === 'completed' ? this.now() : null;
    await store.put(`session.${id}`, { ...held, end: { status, completedAt } });
    // Pending results are sent with the end of their session: it would refuse them afterwards.
    if (status === 'abandoned' || (await store.keys(`result.${id}.`)).length > 0) return;
    if (await this.isTaken(held.serverId, '/api/session/end', { session_id: held.serverId }))
      await store.remove(`session.${id}`);
  }

  /**
   * Delivers everything that is finished and pending: when the connection returns, when the app starts, and
   * periodically.
   * @throws Unreachable: nothing is lost, retry later; Refused, LoginNeeded: login or study do not allow it
   */
  deliver(): Promise<Delivery> {
    this.delivering ??= this.deliverAll().finally(() => {
      this.delivering = undefined;
    });
    return this.delivering;
  }

  private async deliverAll(): Promise<Delivery> {
    const delivery: Delivery = { delivered: 0, conflicts: [], rejected: [] };
    for (const key of await this.device.store.keys('session.')) {
      const held = await this.device.store.get<Held>(key);
      if (held?.end) await this.deliverSession(held, delivery);
    }
    return delivery;
  }

  /** A session with all of its results: identical each time, since different content under an id is a conflict. */
  private async deliverSession({ id, serverId, startedAt, plan, end }: Held, delivery: Delivery): Promise<void> {
    const { participantId, studyId, deviceId, store } = this.device;
    // The server's id ends the session that began online; a local id is a session of its own.
    const sessionId = serverId ?? id;
    const keys = await store.keys(`result.${id}.`);
    const results = await Promise.all(keys.map((key) => store.get<Result>(key)));
    const session = { id: sessionId, participantId, studyId, deviceId, startedAt, ...plan, ...end };
    const answers = await this.sendTogether(
      session,
      results.map((result, index) => ({ id: keys[index], sessionId, deviceId, ...result })),
    );
    // Answers are in the order of the items: the session, then its results. The session is deleted last.
    for (const [index, key] of [...[`session.${id}`, ...keys].entries()].reverse()) {
      const answer = answers[index]!;
      // Set aside for support: it would be rejected again, and blocks nothing else.
      if (answer.status === 'rejected') await store.put(`rejected.${key}`, { answer, item: await store.get(key) });
      await store.remove(key);
      if (answer.status === 'rejected') delivery.rejected.push(answer);
      else delivery.delivered += 1;
      if (answer.status === 'conflict') delivery.conflicts.push(answer);
    }
  }

  /**
   * Sends a session with its results, in halves if it is too much for one call: each has the session with it, to which
   * its results belong. A result that is too large by itself is answered as rejected, and stops no other.
   */
  private async sendTogether(session: object, responses: object[]): Promise<ItemResult[]> {
    const body = { sessions: [session], responses };
    const headers = () => ({ 'X-Device-Time': this.now() });
    try {
      return (await this.ask<{ results: ItemResult[] }>('/api/sync/bulk', body, headers)).results;
    } catch (fault) {
      if (!(fault instanceof Refused) || fault.status !== 413 || responses.length === 0) throw fault;
      const middle = responses.length >> 1;
      const answers = await this.sendTogether(session, responses.slice(0, middle));
      if (responses.length === 1) return [...answers, { status: 'rejected', code: fault.code, message: fault.message }];
      return [...answers, ...(await this.sendTogether(session, responses.slice(middle))).slice(1)];
    }
  }

  /**
   * Whether the service accepted it. A refused one (an expired session, for example) waits for `deliver`, which reports
   * the reason.
   */
  private async isTaken(serverId: string | null, path: string, body: object): Promise<boolean> {
    if (serverId === null) return false;
    const request = { body, headers: () => ({ 'X-Session-ID': serverId }) };
    return (await unless([Unreachable, Refused], call(this.device.api + path, request, this.patience))) !== undefined;
  }

  /** A request with the bearer token; repeated once with another one if it was rejected. */
  private async ask<T>(path: string, body: object, headers: () => Record<string, string>): Promise<T> {
    const withToken = (token: string) => {
      const request = { body, headers: () => ({ ...headers(), Authorization: `Bearer ${token}` }) };
      return call<T>(this.device.api + path, request, this.patience);
    };
    const token = await this.device.token();
    try {
      return await withToken(token);
    } catch (fault) {
      if (!(fault instanceof Refused) || fault.status !== 401) throw fault;
      return withToken(await this.device.token(token));
    }
  }

  private async session(id: string): Promise<Held> {
    const held = await this.device.store.get<Held>(`session.${id}`);
    if (!held) throw new Error(`There is no session ${id} on this device.`);
    return held;
  }
}

/** The result, or undefined after one of these errors. */
async function unless<T>(
  ways: readonly (typeof Refused | typeof Unreachable)[],
  work: Promise<T>,
): Promise<T | undefined> {
  try {
    return await work;
  } catch (fault) {
    if (ways.some((way) => fault instanceof way)) return undefined;
    throw fault;
  }
}
