import { eventOf, uniqueEventName } from './design.js';
import { saveForm, formPlace } from './forms.js';
import type { CallEntry, TriggerEntry } from './journal.js';
import { readProjectFolder, type CaptureProject, type ProjectSource } from './project.js';
import { InputError, type Fault, type SaveRequest, type SendTriggerRequest } from './schemas.js';
import { sendTrigger, triggerBody } from './triggers.js';
import type { CaptureEvent, TriggerConfig, WriteEntry } from './types.js';
import type { World } from './world.js';

export interface RecordView {
  record: string;
  data_access_group: string | null;
  locks: string[];
  modified_at: string;
  rows: { event: string; repeat_instrument: string; repeat_instance: number; values: Record<string, string> }[];
}

export interface ProjectView {
  project_id: number;
  title: string;
  primary_key: string;
  longitudinal: boolean;
  records: number;
  trigger: Omit<TriggerConfig, 'secret'>;
}

export interface SaveResult {
  record: string;
  changed: boolean;
  trigger: TriggerEntry | null;
}

const DEFAULTS: Pick<SaveRequest, 'values' | 'complete' | 'survey' | 'trigger'> = {
  values: {},
  complete: '2',
  survey: false,
  trigger: true,
};

/** What a test or a person can do to the simulator from outside; the HTTP control routes call the same methods. */
export class Control {
  constructor(private readonly world: World) {}

  projects(): ProjectView[] {
    return [...this.world.projects.values()].map(({ design, key, store }) => {
      const { secret: _secret, ...trigger } = design.trigger;
      return {
        project_id: design.project_id,
        title: design.title,
        primary_key: key,
        longitudinal: design.longitudinal,
        records: store.size,
        trigger,
      };
    });
  }

  project(projectId: number): CaptureProject {
    return this.world.project(projectId);
  }

  addProject(source: ProjectSource): CaptureProject {
    return this.world.add(source);
  }

  async addProjectFolder(folder: string): Promise<CaptureProject> {
    return this.world.add(await readProjectFolder(folder));
  }

  removeProject(projectId: number): void {
    this.world.project(projectId);
    this.world.projects.delete(projectId);
  }

  setTrigger(projectId: number, changes: Partial<TriggerConfig>): void {
    if (changes.url !== undefined && changes.url !== null && !URL.canParse(changes.url))
      throw new InputError(`The trigger's url "${changes.url}" is not a URL.`);
    Object.assign(this.world.project(projectId).design.trigger, changes);
  }

  /** The project as it was loaded: its data only, not its trigger settings. */
  resetProject(projectId: number): void {
    this.world.project(projectId).reset();
  }

  /** Every project's data as loaded; no faults, no bans, an empty journal. */
  reset(): void {
    for (const project of this.world.projects.values()) project.reset();
    this.world.faults.clear();
    this.world.journal.clear();
  }

  /** Rows straight into the project, unchecked and without triggers. */
  load(projectId: number, rows: readonly Record<string, string>[]): void {
    const project = this.world.project(projectId);
    project.load(rows);
    for (const row of rows)
      this.#journalWrite(
        projectId,
        'load',
        row[project.key] ?? '',
        row['redcap_event_name'] ?? '',
        Object.keys(row),
        true,
      );
  }

  /** Saves a form and sends its trigger; resolves after the trigger's one attempt, whatever came of it. */
  async saveForm(
    projectId: number,
    request: Partial<SaveRequest> & Pick<SaveRequest, 'instrument'>,
  ): Promise<SaveResult> {
    const project = this.world.project(projectId);
    const full: SaveRequest = { ...DEFAULTS, ...request };
    const saved = saveForm(project, full);
    this.world.journal.addWrite({
      at: new Date().toISOString(),
      project_id: projectId,
      via: 'form',
      call_id: null,
      record: saved.facts.record,
      event: saved.key.event,
      repeat_instrument: saved.key.repeatInstrument,
      repeat_instance: saved.key.instance,
      fields: saved.fields,
      changed: saved.changed,
    });
    const body = triggerBody(project, saved.facts, this.world.baseUrl, this.world.options.version);
    const trigger = full.trigger ? await sendTrigger(project, body, this.world.journal) : null;
    return { record: saved.facts.record, changed: saved.changed, trigger };
  }

  /** The same trigger so many times at once, with nothing saved. */
  async sendTriggers(
    projectId: number,
    request: Partial<SendTriggerRequest> & Pick<SendTriggerRequest, 'record' | 'instrument'>,
  ): Promise<TriggerEntry[]> {
    const project = this.world.project(projectId);
    if (project.design.trigger.url === null) throw new InputError(`Project ${projectId} has no trigger url.`);
    const key = formPlace(project, request.instrument, request.event, request.repeat_instance);
    const body = triggerBody(
      project,
      {
        record: request.record,
        instrument: request.instrument,
        event: key.event,
        complete: request.complete ?? '2',
        repeatInstance: key.instance,
        username: request.username ?? project.design.users[0]?.username ?? '',
      },
      this.world.baseUrl,
      this.world.options.version,
    );
    const sent = await Promise.all(
      Array.from({ length: request.times ?? 1 }, () => sendTrigger(project, body, this.world.journal)),
    );
    return sent.filter((entry) => entry !== null);
  }

  #existing(projectId: number, record: string): CaptureProject {
    const project = this.world.project(projectId);
    if (!project.store.has(record)) throw new InputError(`Project ${projectId} has no record "${record}".`, 404);
    return project;
  }

  #journalWrite(
    projectId: number,
    via: WriteEntry['via'],
    record: string,
    event: string,
    fields: string[],
    changed: boolean,
  ): void {
    this.world.journal.addWrite({
      at: new Date().toISOString(),
      project_id: projectId,
      via,
      call_id: null,
      record,
      event,
      repeat_instrument: '',
      repeat_instance: 0,
      fields,
      changed,
    });
  }

  /** As the real system does: the record has another name from now on, and nobody is told. */
  renameRecord(projectId: number, record: string, to: string): void {
    const project = this.#existing(projectId, record);
    if (project.store.has(to)) throw new InputError(`Project ${projectId} has a record "${to}" already.`, 409);
    project.store.rename(record, to);
    this.#journalWrite(projectId, 'rename', record, '', [to], true);
  }

  /** An event has another name: so has its unique name, while its id and its data stay. @returns the unique name */
  renameEvent(projectId: number, event: string, name: string): string {
    const project = this.world.project(projectId);
    const found = eventOf(project.design, event);
    if (!found) throw new InputError(`Project ${projectId} has no event "${event}".`, 404);
    const others = project.design.events.filter((each) => each !== found);
    const taken = new Set(others.map((each) => each.unique_event_name));
    found.event_name = name;
    found.unique_event_name = uniqueEventName(name, found.arm_num, taken);
    project.store.renameEvent(event, found.unique_event_name);
    return found.unique_event_name;
  }

  /** An event is deleted with all that was entered there. */
  deleteEvent(projectId: number, event: string): CaptureEvent {
    const project = this.world.project(projectId);
    const found = eventOf(project.design, event);
    if (!found) throw new InputError(`Project ${projectId} has no event "${event}".`, 404);
    project.design.events.splice(project.design.events.indexOf(found), 1);
    for (const id of project.store.ids()) project.store.deletePart(id, (row) => row.event === event, []);
    return found;
  }

  /** An event is made, with an id that none had before. @returns its unique name */
  addEvent(projectId: number, event: Omit<CaptureEvent, 'unique_event_name' | 'event_id'>): string {
    const { design } = this.world.project(projectId);
    const unique_event_name = uniqueEventName(
      event.event_name,
      event.arm_num,
      new Set(design.events.map((each) => each.unique_event_name)),
    );
    design.events.push({ ...event, unique_event_name, event_id: (this.#lastEventId += 1) });
    return unique_event_name;
  }
  #lastEventId = 900_000_000_000;

  deleteRecord(projectId: number, record: string): void {
    this.#existing(projectId, record).store.delete(record);
    this.#journalWrite(projectId, 'delete', record, '', [], true);
  }

  /** Locks (or unlocks) the whole record, or one instrument of it at an event. */
  lockRecord(projectId: number, record: string, locked = true, instrument?: string, event?: string): void {
    const project = this.#existing(projectId, record);
    project.store.lock(
      record,
      instrument === undefined ? '*' : `${formPlace(project, instrument, event, undefined).event}|${instrument}`,
      locked,
    );
  }

  records(projectId: number): RecordView[] {
    const { store } = this.world.project(projectId);
    return store.ids().flatMap((id) => this.record(projectId, id) ?? []);
  }

  record(projectId: number, id: string): RecordView | undefined {
    const record = this.world.project(projectId).store.get(id);
    if (!record) return undefined;
    return {
      record: record.id,
      data_access_group: record.group,
      locks: [...record.locks],
      modified_at: record.modifiedAt,
      rows: [...record.rows.values()].map((row) => ({
        event: row.event,
        repeat_instrument: row.repeatInstrument,
        repeat_instance: row.instance,
        values: Object.fromEntries(row.values),
      })),
    };
  }

  setFaults(faults: Fault | readonly Fault[]): void {
    this.world.faults.set(Array.isArray(faults) ? (faults as readonly Fault[]) : [faults as Fault]);
  }

  clearFaults(): void {
    this.world.faults.clear();
  }

  faults(): (Fault & { seen: number; done: number })[] {
    return this.world.faults.list();
  }

  calls(projectId?: number): CallEntry[] {
    return this.world.journal.calls(projectId);
  }

  triggers(projectId?: number): TriggerEntry[] {
    return this.world.journal.triggers(projectId);
  }

  /** Every accepted change, in order: what "written exactly once" is counted by. */
  writes(projectId?: number): WriteEntry[] {
    return this.world.journal.writes(projectId);
  }
}
