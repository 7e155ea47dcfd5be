import { errorAnswer, type Answer, type Format } from './formats.js';
import type { Fault } from './schemas.js';

/** What one call shall suffer: the faults that fit it, put together. The first that says a thing decides it. */
export type Suffering = Omit<
  Fault,
  'project_id' | 'content' | 'times' | 'skip' | 'every' | 'above_records' | 'rate_limit_per_minute' | 'ban'
>;

interface ActiveFault {
  fault: Fault;
  /** Calls that fitted. */
  seen: number;
  /** Calls it was done to. */
  done: number;
}

const MAINTENANCE = `<!DOCTYPE html>
<html><head><title>Offline for maintenance</title></head>
<body><h1>The system is offline</h1><p>We are doing scheduled maintenance. Please come back later.</p></body></html>
`;
const FATAL =
  '<br />\n<b>Fatal error</b>:  Allowed memory size of 536870912 bytes exhausted (tried to allocate 20480 bytes) in <b>/var/www/html/Classes/Records.php</b> on line <b>1024</b><br />\n';

/** The faults in force, their counts, and who is banned for calling too often. */
export class FaultSwitch {
  #faults: ActiveFault[] = [];
  readonly #banned = new Set<string>();
  readonly #recent = new Map<string, number[]>();
  readonly #held = new Set<() => void>();

  set(faults: readonly Fault[]): void {
    this.#faults = faults.map((fault) => ({ fault, seen: 0, done: 0 }));
    this.#letGo();
  }

  add(fault: Fault): void {
    this.#faults.push({ fault, seen: 0, done: 0 });
  }

  /** Ends every fault and lifts every ban. */
  clear(): void {
    this.#faults = [];
    this.#banned.clear();
    this.#recent.clear();
    this.#letGo();
  }

  /** Until the faults are ended, or others set. @throws AbortError when the simulator stops */
  held(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const stop = () => reject(new DOMException('The simulator stops.', 'AbortError'));
      this.#held.add(() => {
        signal.removeEventListener('abort', stop);
        resolve();
      });
      signal.addEventListener('abort', stop, { once: true });
    });
  }

  #letGo(): void {
    for (const go of this.#held) go();
    this.#held.clear();
  }

  list(): (Fault & { seen: number; done: number })[] {
    return this.#faults.map(({ fault, seen, done }) => ({ ...fault, seen, done }));
  }

  banned(): string[] {
    return [...this.#banned];
  }

  /** The 429 for this caller, or undefined. A ban stays until the faults are cleared: waiting does not help. */
  refusal(ip: string, projectId: number | null, content: string, action: string, format: Format): Answer | undefined {
    const banAnswer = (): Answer =>
      errorAnswer(429, `Your IP address (${ip}) has been banned due to suspected abuse.`, format);
    if (this.#banned.has(ip)) return banAnswer();
    const limited = this.#faults.find(
      ({ fault }) => fault.rate_limit_per_minute !== undefined && fits(fault, projectId, content, action),
    );
    const limit = limited?.fault.rate_limit_per_minute;
    if (limited === undefined || limit === undefined) return undefined;
    limited.seen += 1;
    const now = Date.now();
    const recent = (this.#recent.get(ip) ?? []).filter((time) => time > now - 60_000);
    recent.push(now);
    this.#recent.set(ip, recent);
    if (recent.length <= limit) return undefined;
    limited.done += 1;
    if (limited.fault.ban === true) {
      this.#banned.add(ip);
      return banAnswer();
    }
    return errorAnswer(429, `Too many requests: the limit is ${limit} a minute`, format);
  }

  /** Counts the call, which names so many records, and says what shall be done to it. */
  take(projectId: number | null, content: string, action: string, records = 0): Suffering {
    const suffering: Suffering = {};
    for (const active of this.#faults) {
      const {
        project_id: _project,
        content: _content,
        times,
        skip = 0,
        every = 1,
        above_records: most,
        rate_limit_per_minute: limit,
        ban: _ban,
        ...effects
      } = active.fault;
      if (limit !== undefined || !fits(active.fault, projectId, content, action)) continue;
      if (most !== undefined && records <= most) continue;
      active.seen += 1;
      if (
        active.seen <= skip ||
        (active.seen - skip - 1) % every !== 0 ||
        (times !== undefined && active.done >= times)
      )
        continue;
      active.done += 1;
      Object.assign(suffering, { ...effects, ...suffering });
    }
    return suffering;
  }
}

function fits(fault: Fault, projectId: number | null, content: string, action: string): boolean {
  if (fault.project_id !== undefined && fault.project_id !== projectId) return false;
  return (
    fault.content === undefined || fault.content.includes(content) || fault.content.includes(`${content}:${action}`)
  );
}

/** The names of what is done to a call, for the log; null: nothing. */
export function faultName(suffering: Suffering): string | null {
  const names = Object.entries(suffering)
    .filter(
      ([key, value]) => value !== false && !['message', 'content_type', 'after_write', 'retry_after'].includes(key),
    )
    .map(([key, value]) =>
      typeof value === 'string' && key === 'drop'
        ? `drop_${value}`
        : key === 'status'
          ? `status_${String(value)}`
          : key,
    );
  return names.length > 0 ? names.join('+') : null;
}

/** The answer that takes the place of the real one, or undefined where the real one is kept. */
export function substitute(suffering: Suffering, format: Format): { answer: Answer; location?: string } | undefined {
  const { status, message, html, fatal, redirect, body } = suffering;
  if (redirect !== undefined)
    return { answer: { status: status ?? 302, type: 'text/html; charset=utf-8', body: '' }, location: redirect };
  if (html === true) return { answer: { status: status ?? 200, type: 'text/html; charset=utf-8', body: MAINTENANCE } };
  if (fatal === true) {
    const error = errorAnswer(
      status ?? 200,
      message ?? 'The server ran out of memory: ask for fewer records at once',
      format,
    );
    return { answer: { ...error, body: FATAL + error.body } };
  }
  if (body !== undefined)
    return {
      answer: { status: status ?? 200, type: suffering.content_type ?? 'application/json; charset=utf-8', body },
    };
  if (status !== undefined)
    return { answer: errorAnswer(status, message ?? `The server answers with status ${status} on demand`, format) };
  return undefined;
}
