import { FaultSwitch } from './faults.js';
import { Journal } from './journal.js';
import { CaptureProject, type ProjectSource } from './project.js';
import { InputError } from './schemas.js';
import type { TriggerConfig } from './types.js';

export interface WorldOptions {
  /** What `content=version` answers. */
  version: string;
  /** IANA zone of the server's clock: record times and date ranges are in it, without saying so. */
  timezone: string;
  /** Laid over the trigger settings of every project. */
  trigger: Partial<TriggerConfig>;
}

/** Everything that one simulator holds: projects, faults, and the journal of what happened. */
export class World {
  readonly projects = new Map<number, CaptureProject>();
  readonly faults = new FaultSwitch();
  readonly journal = new Journal();
  /** Without a slash at its end; known once the server listens. */
  baseUrl = '';
  readonly #clock: Intl.DateTimeFormat;

  constructor(readonly options: WorldOptions) {
    // The Swedish way of writing a time is YYYY-MM-DD HH:MM:SS.
    this.#clock = new Intl.DateTimeFormat('sv-SE', {
      timeZone: options.timezone,
      dateStyle: 'short',
      timeStyle: 'medium',
    });
  }

  readonly serverTime = (): string => this.#clock.format(new Date());

  /** Throws InputError where another project has the id or one of the tokens. */
  add(source: ProjectSource): CaptureProject {
    const project = new CaptureProject(source, this.serverTime);
    const { project_id: id, users } = project.design;
    if (this.projects.has(id)) throw new InputError(`There is a project ${id} already.`, 409);
    const tokens = new Set(
      [...this.projects.values()].flatMap((other) => other.design.users.map((user) => user.token)),
    );
    if (users.some((user) => user.token !== null && tokens.has(user.token)))
      throw new InputError(`A token of project ${id} is in use in another project.`, 409);
    Object.assign(project.design.trigger, this.options.trigger);
    this.projects.set(id, project);
    return project;
  }

  project(id: number): CaptureProject {
    const project = this.projects.get(id);
    if (!project) throw new InputError(`There is no project ${id}.`, 404);
    return project;
  }
}
