import { randomInt, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { Stage } from '../anchor/stage.js';
import type { Answer, Http, Loose } from '../support/http.js';
import { contentOf, restingContent, uuidsOf } from './foreign/content.js';
import { headersOfAnswers } from './foreign/headers.js';
import { operations, placesOf } from './foreign/places.js';
import type { Operation, Place } from './foreign/places.js';
import { sendWith } from './foreign/request.js';
import type { Own } from './foreign/request.js';
import { callersOf, filled } from './foreign/studies.js';
import type { Callers, Filled, Ids } from './foreign/studies.js';

/** Faults of a body's form: such a request was refused before its ids were looked for. */
const OF_FORM = ['REQUIRED', 'UNKNOWN_FIELD', 'ENUM', 'FORMAT', 'PATTERN', 'TYPE', 'MIN_LENGTH', 'MAX_LENGTH', 'EMPTY'];
/** Places where another's id is answered with success, and why nothing comes of it. */
const HARMLESS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['csv', 'excel'].map((format) => [
      `POST /api/studies/{study_id}/participants/import/${format} query:import_id`,
      'the caller’s own name for it, in its study',
    ]),
  ),
  ...Object.fromEntries(
    ['csv', 'json', 'ndjson', 'xlsx', 'zip'].map((format) => [
      `POST /api/exports/${format} body:participant_ids.[]`,
      'a selection among the participants of the study: none',
    ]),
  ),
  'GET /api/reports/studies/{study_id}/pdf/summary query:site_code':
    'the figures of the summary, which is tried as JSON',
};
/** Places of routes without a login: the id itself, or a token beside it, is the credential. */
const CREDENTIALS: Readonly<Record<string, string>> = {
  'GET /api/session/state header:x-session-id': 'of an active session its id is the credential',
  'POST /api/session/end body:session_id': 'the same, and the header says so',
  'POST /api/session/end header:x-session-id': 'the same',
  'POST /api/submit body:session_id': 'the same, and the header says so',
  'POST /api/submit header:x-session-id': 'the same',
  'POST /api/submit body:module_id': 'looked for in the battery of the session',
  'POST /api/notifications/{notification_id}/delivery-report path:notification_id': 'signed, in the query',
};

/** Ids of nobody, one of each kind: it stands for each other. */
const nobodys = new Map<string, string | number>();
const nobody = (kind: string): string | number => {
  const id = nobodys.get(kind) ?? (kind === 'battery_id' ? randomInt(1_000_000_000, 2_000_000_000) : randomUUID());
  nobodys.set(kind, id);
  return id;
};

const uuidsIn = (text: string) => text.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? [];
const nameOf = ({ operation, at, steps }: Place) => `${operation.name} ${at}:${steps.join('.')}`;
/** For whom a portal token asks: of staff its form is checked, and it means nothing more. */
const isForWhom = ({ operation, at, steps: [name] }: Place) =>
  name === 'X-Participant-ID' ||
  (at === 'query' && name === 'participant_id' && operation.roles.some((role) => role === 'participant'));

describe('Ids of another study, site or person, at every place where a request has one', function () {
  this.timeout(600_000);
  let stage: Stage, mine: Filled, other: Filled, callers: Callers;
  before(async () => {
    stage = await Stage.open();
    const word = Date.now().toString(36);
    [mine, other] = [await filled(stage, `okapi${word}`), await filled(stage, `zebra${word}`)];
    callers = await callersOf(stage, mine);
  });
  after(() => stage.close());

  const known = () => ({ ...mine.ids, ...mine.people[0] });
  const ownOf =
    (own: Ids): Own =>
    (operation, name) => {
      const place = placesOf(operation, own).places.find(({ steps }) => steps.includes(name));
      return place && own[place.kind];
    };
  const allPlaces = (fits: (operation: Operation) => boolean): Place[] =>
    operations.filter(fits).flatMap((operation) => placesOf(operation, known()).places);

  interface Trial {
    by: (operation: Operation) => Http | undefined;
    foreign: Ids;
    /** Marks and ids by which something of the other's would be told. */
    tells: { mark: string; uuids: Set<string> };
    fits?: (place: Place) => boolean;
  }

  /**
   * What a text says, whichever of two ids was sent and whenever. Both go out of each: an id may be a number that an
   * answer has for another reason as well.
   */
  const without = (ids: readonly (string | number)[], text: string) =>
    ids.reduce<string>(
      (rest, id) => rest.replaceAll(typeof id === 'number' ? new RegExp(`\\b${id}\\b`, 'g') : id, '…'),
      text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|D:\d{14}/g, '…'),
    );
  /** Of items that are answered one by one: each is refused. */
  const refusesEach = ({ kind, results, rejected, skipped, session_ids: taken, status, code }: Loose) => {
    if (skipped) return (taken as string[]).length === 0;
    const items = (kind === undefined ? ((results as Loose[]) ?? rejected ?? []) : [{ status, code }]) as Loose[];
    return items.length > 0 && items.every((item) => item.status === 'rejected' && !OF_FORM.includes(item.code));
  };

  /** What was answered already: each request of a trial is sent once, whatever is looked for in its answer. */
  const answers = new Map<string, Promise<Answer<Loose>>>();
  const answerTo = (by: Http, place: Place, foreign: Ids): Promise<Answer<Loose>> => {
    const key = JSON.stringify([by.token, nameOf(place), foreign]);
    const found = answers.get(key) ?? sendWith(by, place, ownOf(known()), foreign);
    answers.set(key, found);
    return found;
  };

  /** Why an answer is no refusal; undefined: it is one. */
  async function faultOf(place: Place, answer: Answer<Loose>, { by, foreign }: Trial): Promise<string | undefined> {
    const { status, body, text } = answer;
    const said = `${nameOf(place)}: ${status} ${text.slice(0, 300)}`;
    if (status === 403 || status === 404) return undefined;
    if (status === 400 || status === 422)
      return (body.errors ?? []).some(({ code }) => OF_FORM.includes(code)) ? said : undefined;
    if (HARMLESS[nameOf(place)] || (body && refusesEach(body))) return undefined;
    if (status >= 300) return said;
    if (place.operation.method !== 'GET') return said;
    // A list that is narrowed to another's is as empty as one that is narrowed to nobody's.
    const id = nobody(place.kind);
    const same = await answerTo(by(place.operation)!, place, { ...foreign, [place.kind]: id });
    const ids = [id, foreign[place.kind]!];
    return same.status === status && without(ids, same.text) === without(ids, text) ? undefined : said;
  }

  /** Tries every place; answers what was not refused, or tells something. */
  async function faultsOf(trial: Trial): Promise<string> {
    const { by, foreign, tells, fits = () => true } = trial;
    const faults: string[] = [];
    let tried = 0;
    for (const place of allPlaces((operation) => by(operation) !== undefined)) {
      if (foreign[place.kind] === undefined || !fits(place)) continue;
      tried += 1;
      const answer = await answerTo(by(place.operation)!, place, foreign);
      const sent = foreign[place.kind]!;
      // A number is no uuid, and may be a part of one.
      const text = typeof sent === 'number' ? answer.text : answer.text.replaceAll(sent, '');
      if (uuidsIn(text).some((id) => tells.uuids.has(id)) || text.includes(tells.mark))
        faults.push(`${nameOf(place)} tells: ${text.slice(0, 300)}`);
      const fault = await faultOf(place, answer, trial);
      if (fault) faults.push(fault);
    }
    expect(tried, 'places that were tried').to.be.greaterThan(4);
    if (process.env.SHOW_FAULTS) console.log(tried, faults);
    return faults.join('\n');
  }

  /** That a trial finds nothing, and leaves no trace in what the rows of the other say. */
  async function expectNothing(
    column: 'study_id' | 'participant_id',
    id: string,
    trial: Omit<Trial, 'tells'>,
    mark: string,
  ) {
    const before = await restingContent(stage, column, id);
    const tells = { mark, uuids: await uuidsOf(stage, column, id) };
    expect(await faultsOf({ ...trial, tells })).to.equal('');
    expect(await contentOf(stage, column, id)).to.deep.equal(before);
  }

  /** The places at which the answer to another's id is not the one to nobody's: it says that the other is there. */
  async function oracles({ by, foreign, fits = () => true }: Omit<Trial, 'tells'>): Promise<string> {
    const faults: string[] = [];
    for (const place of allPlaces((operation) => by(operation) !== undefined)) {
      if (foreign[place.kind] === undefined || !fits(place)) continue;
      const told: string[] = [];
      const ids = [foreign[place.kind]!, nobody(place.kind)];
      for (const id of ids) {
        const answer = await answerTo(by(place.operation)!, place, { ...foreign, [place.kind]: id });
        const { code, detail, errors } = (answer.body ?? {}) as Loose;
        told.push(`${answer.status} ${without(ids, JSON.stringify([code, detail, errors]))}`);
      }
      if (told[0] !== told[1]) faults.push(`${nameOf(place)}: ${told[0]} for another’s, ${told[1]} for nobody’s`);
    }
    if (process.env.SHOW_FAULTS) console.log(faults);
    return faults.join('\n');
  }

  it('every id of the contract is known here', () => {
    expect(operations.flatMap((operation) => placesOf(operation, known()).unknown)).to.deep.equal([]);
    expect(allPlaces(() => true).length).to.be.greaterThan(500);
  });

  it('a route without a login takes an id as a credential alone', () => {
    const places = operations
      .filter(({ roles }) => roles.includes('anyone'))
      .flatMap((operation) => placesOf(operation, known()).places.map(nameOf));
    expect(places.sort()).to.deep.equal(Object.keys(CREDENTIALS).sort());
  });

  const isStaffs = ({ roles, scope, tokenScope }: Operation) =>
    !roles.includes('anyone') && scope !== 'self' && !tokenScope;
  const ofStaff = (staff: Map<string, Http>) => (operation: Operation) =>
    isStaffs(operation) ? [...staff].find(([role]) => operation.roles.includes(role))?.[1] : undefined;

  // The sites of a study are no secret among those who work in it.
  const isOfSite = ({ kind }: Place) => kind === 'site_id' || kind === 'site_code';

  it('of another study: by its staff', () =>
    expectNothing(
      'study_id',
      other.id,
      {
        by: ofStaff(callers.staff),
        foreign: { ...other.ids, ...other.people[0] },
        fits: (place) => !isForWhom(place),
      },
      other.mark,
    ));

  it('of another study: by a token of /api/v1', () =>
    expectNothing(
      'study_id',
      other.id,
      {
        by: ({ tokenScope }) => (tokenScope ? callers.token : undefined),
        foreign: { ...other.ids, ...other.people[0] },
      },
      other.mark,
    ));

  it('of another site: by staff of one site', () =>
    expectNothing(
      'participant_id',
      String(mine.people[1].participant_id),
      {
        by: ofStaff(callers.ofSite),
        foreign: mine.people[1],
        // The sites of a study are no secret among those who work in it.
        fits: (place) => !isForWhom(place) && place.operation.name !== 'GET /api/sites/{site_id}',
      },
      `${mine.mark}two`,
    ));

  it('of another study or site: no answer says that it is there', async () => {
    // An import is named by its importer, in its study alone.
    const ofStudy = (place: Place) => !isForWhom(place) && place.kind !== 'import_id';
    const study = { by: ofStaff(callers.staff), foreign: { ...other.ids, ...other.people[0] }, fits: ofStudy };
    expect(await oracles(study)).to.equal('');
    const ofSite = (place: Place) => !isForWhom(place) && !isOfSite(place);
    expect(await oracles({ by: ofStaff(callers.ofSite), foreign: mine.people[1], fits: ofSite })).to.equal('');
  });

  it('of another site: no read of one’s own study tells of its people, nor by a participant or caregiver', async () => {
    const [own, foreign] = mine.people;
    const uuids = await uuidsOf(stage, 'participant_id', String(foreign.participant_id));
    const faults: string[] = [];
    let tried = 0;
    for (const operation of operations.filter(({ method }) => method === 'GET')) {
      const by = [
        ofStaff(callers.ofSite)(operation),
        ...(['participant', 'caregiver'] as const).map((who) =>
          operation.roles.includes(who) ? callers[who] : undefined,
        ),
      ].filter((http) => http !== undefined);
      const place = placesOf(operation, known()).places.find(({ at }) => at !== 'body') ?? {
        operation,
        at: 'query' as const,
        steps: ['limit'],
        kind: 'limit',
      };
      for (const http of by) {
        tried += 1;
        const answer = await sendWith(http, place, ownOf(known()), { ...mine.ids, ...own, limit: 500 });
        const told = uuidsIn(answer.text).filter((id) => uuids.has(id));
        if (told.length > 0 || answer.text.includes(`${mine.mark}two`))
          faults.push(`${operation.name} tells ${told.join()}: ${answer.text.slice(0, 300)}`);
      }
    }
    expect(tried).to.be.greaterThan(100);
    // The sites of a study are no secret among those who work in it.
    expect(faults.filter((fault) => !/^GET \/api\/(studies\/\{\w+\}\/sites|sites)/.test(fault)).join('\n')).to.equal(
      '',
    );
  });

  for (const who of ['participant', 'caregiver'] as const)
    for (const of of ['the same study', 'another study'] as const)
      it(`of another person of ${of}: by a ${who}`, () => {
        const person = of === 'the same study' ? mine.people[1] : other.people[0];
        return expectNothing(
          'participant_id',
          String(person.participant_id),
          {
            by: ({ roles }) => (roles.includes(who) ? callers[who] : undefined),
            foreign: of === 'the same study' ? person : { ...other.ids, ...person },
          },
          of === 'the same study' ? `${mine.mark}two` : other.mark,
        );
      });

  describe('Every answer keeps what it says from caches, frames and guessing browsers', () =>
    headersOfAnswers(() => ({ stage, study: mine })));
});
