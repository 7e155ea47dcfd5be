import { AnchorStudy, Stage } from '../anchor/stage.js';
import type { Person } from '../anchor/stage.js';
import { Http, unique } from '../support/http.js';
import { ownDate } from '../support/portal.js';

/** A study whose participants set their date themselves, and a caller that nobody knows. */
export class PortalSetting {
  private constructor(
    readonly stage: Stage,
    readonly study: AnchorStudy,
    readonly anybody: Http,
  ) {}

  static async open(): Promise<PortalSetting> {
    const stage = await Stage.open();
    return new PortalSetting(stage, await stage.study(ownDate), new Http(stage.run.api));
  }

  /** Somebody with an address of their own. */
  person(fields: Record<string, unknown> = {}, of = this.study): Promise<Person> {
    return of.person({ email: `${unique('p')}@example.org`, ...fields });
  }

  close(): Promise<void> {
    return this.stage.close();
  }
}
