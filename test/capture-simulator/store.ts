import type { DataRow } from './types.js';

export interface RowKey {
  event: string;
  repeatInstrument: string;
  instance: number;
}

export interface StoredRecord {
  id: string;
  group: string | null;
  rows: Map<string, DataRow>;
  /** `*` for the whole record, else `event|instrument`. */
  locks: Set<string>;
  /** Server-local `YYYY-MM-DD HH:MM:SS`, no zone: what date ranges are compared with. */
  modifiedAt: string;
}

const rowKey = (key: RowKey): string => `${key.event}\u0000${key.repeatInstrument}\u0000${key.instance}`;

const collator = new Intl.Collator('en', { numeric: true });
/**
 * Whole numbers by value and first, everything else as text; ties by code unit, so that `7` and `0007` keep an order.
 */
export function compareIds(a: string, b: string): number {
  const numericA = /^\d+$/.test(a);
  const numericB = /^\d+$/.test(b);
  if (numericA !== numericB) return numericA ? -1 : 1;
  return collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}

/** The records of one project. Ids are texts of any kind: nothing here reads one as a number but the ordering. */
export class RecordStore {
  readonly #records = new Map<string, StoredRecord>();
  /** Each record by its name in lower case: names do not differ by case alone. */
  readonly #names = new Map<string, string>();
  #sorted: string[] | undefined;

  /** `now` gives the server's local time. */
  constructor(private readonly now: () => string) {}

  get size(): number {
    return this.#records.size;
  }

  /** All ids in the order in which an export lists them. */
  ids(): readonly string[] {
    this.#sorted ??= [...this.#records.keys()].sort(compareIds);
    return this.#sorted;
  }

  /** The name of a record as it was first given. */
  #named(id: string): string {
    return this.#names.get(id.toLowerCase()) ?? id;
  }

  has(id: string): boolean {
    return this.#records.has(this.#named(id));
  }

  get(id: string): StoredRecord | undefined {
    return this.#records.get(this.#named(id));
  }

  row(id: string, key: RowKey): DataRow | undefined {
    return this.get(id)?.rows.get(rowKey(key));
  }

  #ensure(id: string): StoredRecord {
    let record = this.get(id);
    if (!record) {
      this.#names.set(id.toLowerCase(), id);
      record = { id, group: null, rows: new Map(), locks: new Set(), modifiedAt: this.now() };
      this.#records.set(id, record);
      this.#sorted = undefined;
    }
    return record;
  }

  /** Writes values ('' erases) and makes record and row where missing; answers whether anything changed. */
  write(id: string, key: RowKey, values: ReadonlyMap<string, string>): boolean {
    let changed = !this.has(id);
    const record = this.#ensure(id);
    let row = record.rows.get(rowKey(key));
    if (!row) {
      row = { ...key, values: new Map() };
      record.rows.set(rowKey(key), row);
      changed = true;
    }
    for (const [name, value] of values) {
      if ((row.values.get(name) ?? '') === value) continue;
      if (value === '') row.values.delete(name);
      else row.values.set(name, value);
      changed = true;
    }
    if (changed) record.modifiedAt = this.now();
    return changed;
  }

  setGroup(id: string, group: string | null): boolean {
    const record = this.#ensure(id);
    if (record.group === group) return false;
    record.group = group;
    record.modifiedAt = this.now();
    return true;
  }

  /** The highest instance in use, 0 for none. */
  lastInstance(id: string, event: string, repeatInstrument: string): number {
    let last = 0;
    for (const row of this.get(id)?.rows.values() ?? []) {
      if (row.event === event && row.repeatInstrument === repeatInstrument) last = Math.max(last, row.instance);
    }
    return last;
  }

  nextNumber(): string {
    let highest = 0n;
    for (const id of this.#records.keys()) {
      if (/^[0-9]+$/.test(id) && BigInt(id) > highest) highest = BigInt(id);
    }
    return String(highest + 1n);
  }

  delete(id: string): boolean {
    this.#sorted = undefined;
    const name = this.#named(id);
    this.#names.delete(id.toLowerCase());
    return this.#records.delete(name);
  }

  /** Removes the rows that `gone` picks and, in the others, the columns that `columns` names for them. */
  deletePart(id: string, gone: (row: DataRow) => boolean, columns: readonly string[]): void {
    const record = this.get(id);
    if (!record) return;
    for (const [key, row] of record.rows) {
      if (!gone(row)) continue;
      if (columns.length === 0 || row.repeatInstrument !== '') record.rows.delete(key);
      else for (const column of columns) row.values.delete(column);
    }
    record.modifiedAt = this.now();
  }

  rename(id: string, to: string): void {
    const record = this.get(id);
    if (!record) return;
    this.delete(id);
    this.#names.set(to.toLowerCase(), to);
    this.#records.set(to, { ...record, id: to, modifiedAt: this.now() });
    this.#sorted = undefined;
  }

  /** Whatever was entered at an event belongs to it under its new name. */
  renameEvent(event: string, to: string): void {
    for (const record of this.#records.values()) {
      const rows = [...record.rows.values()].map((row) => (row.event === event ? { ...row, event: to } : row));
      record.rows = new Map(rows.map((row) => [rowKey(row), row]));
    }
  }

  lock(id: string, lock: string, locked: boolean): void {
    const record = this.get(id);
    if (locked) record?.locks.add(lock);
    else record?.locks.delete(lock);
  }
}
