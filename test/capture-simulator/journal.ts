import type { WriteEntry } from './types.js';

/** One call that the API received. The token is never kept. */
export interface CallEntry {
  id: number;
  at: string;
  ip: string;
  content: string;
  action: string;
  project_id: number | null;
  /** Null where the connection was dropped instead of an answer. */
  status: number | null;
  duration_ms: number;
  /** What fault was done to it, by name. */
  fault: string | null;
  /** Whether an import or a deletion was really applied. */
  applied: boolean;
  records: string[];
  parameters: Record<string, string | string[]>;
}

/** One data entry trigger that was sent: once, whatever came of it. */
export interface TriggerEntry {
  id: number;
  at: string;
  project_id: number;
  url: string;
  body: string;
  headers: Record<string, string>;
  status: number | null;
  error: string | null;
  duration_ms: number;
}

/** A list that forgets its oldest entries, so that a long run does not grow without end. */
class Ring<T> {
  #entries: T[] = [];
  constructor(private readonly limit: number) {}

  add(entry: T): void {
    this.#entries.push(entry);
    if (this.#entries.length > this.limit * 1.2) this.#entries = this.#entries.slice(-this.limit);
  }

  all(): readonly T[] {
    return this.#entries;
  }

  clear(): void {
    this.#entries = [];
  }
}

/** What happened: calls received, triggers sent, changes written. Kept in memory, up to 100,000 of each. */
export class Journal {
  readonly #calls = new Ring<CallEntry>(100_000);
  readonly #triggers = new Ring<TriggerEntry>(100_000);
  readonly #writes = new Ring<WriteEntry>(100_000);
  #lastId = 0;

  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  addCall(entry: CallEntry): void {
    this.#calls.add(entry);
  }

  addTrigger(entry: TriggerEntry): void {
    this.#triggers.add(entry);
  }

  addWrite(entry: WriteEntry): void {
    this.#writes.add(entry);
  }

  calls(projectId?: number): CallEntry[] {
    return this.#calls.all().filter((call) => projectId === undefined || call.project_id === projectId);
  }

  triggers(projectId?: number): TriggerEntry[] {
    return this.#triggers.all().filter((trigger) => projectId === undefined || trigger.project_id === projectId);
  }

  writes(projectId?: number): WriteEntry[] {
    return this.#writes.all().filter((write) => projectId === undefined || write.project_id === projectId);
  }

  clearCalls(): void {
    this.#calls.clear();
  }

  clearTriggers(): void {
    this.#triggers.clear();
  }

  clear(): void {
    this.#calls.clear();
    this.#triggers.clear();
    this.#writes.clear();
  }
}
