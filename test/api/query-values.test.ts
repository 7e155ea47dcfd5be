import { expect } from 'chai';
import { document } from '../support/contract.js';
import { admin, newParticipant, newStudy } from '../support/http.js';
import type { Http } from '../support/http.js';

interface Schema {
  type?: string;
  format?: string;
  minLength?: number;
  enum?: unknown[];
  pattern?: string;
  items?: Schema;
}
interface Operation {
  deprecated?: boolean;
  security?: Record<string, unknown>[];
  parameters?: { name: string; in: string; schema: Schema }[];
}
const { paths } = document as unknown as {
  paths: Record<string, { get?: Operation }>;
};

/** Whether nothing at all is no value by this schema. */
const asksForMore = ({ type, format, minLength = 0, enum: words, pattern, items }: Schema): boolean =>
  type !== 'string' && type !== 'array'
    ? type !== undefined
    : format !== undefined ||
      minLength > 0 ||
      words !== undefined ||
      pattern !== undefined ||
      (items !== undefined && asksForMore(items));

/** What staff reads: of a path that names a study and nothing else. */
const reads = Object.entries(paths).flatMap(([path, { get }]) =>
  get && !path.replace('{study_id}', '').includes('{') && !/^\/api\/(portal|v1)\//.test(path)
    ? [{ path, parameters: get.parameters ?? [] }]
    : [],
);

describe('An empty value in a query', function suite() {
  this.timeout(120_000);
  let http: Http, study: string;
  before(async () => {
    http = await admin();
    study = (await newStudy(http)).id;
  });

  const refused = async (path: string, name: string): Promise<string | undefined> => {
    const { status, body, text } = await http.get(`${path.replace('{study_id}', study)}?${name}=`);
    return status === 422 && body.errors.some((fault) => fault.path === `query.${name}`)
      ? undefined
      : `${path}?${name}=: ${status} ${text.slice(0, 120)}`;
  };

  it('is refused where the contract asks for a value, whatever reads it', async () => {
    const declared = reads.flatMap(({ path, parameters }) =>
      parameters
        .filter((one) => one.in === 'query' && asksForMore(one.schema))
        .map(({ name }) => [path, name] as const),
    );
    expect(declared.length).to.be.greaterThan(50);
    const taken: string[] = [];
    for (const [path, name] of declared) taken.push((await refused(path, name)) ?? '');
    expect(taken.filter(Boolean)).to.deep.equal([]);
  });

  it('is no study: the request is not answered for all that its caller may see', async () => {
    const taking = reads.filter(
      ({ path, parameters }) =>
        path.includes('{study_id}') || parameters.some((one) => one.in === 'header' && one.name === 'X-Study-ID'),
    );
    expect(taking.length).to.be.greaterThan(10);
    const taken: string[] = [];
    for (const { path } of taking) taken.push((await refused(path, 'study_id')) ?? '');
    expect(taken.filter(Boolean)).to.deep.equal([]);
    const { status, body } = await http.get(`/api/schedules/windows?study_id=${study}&study_id=${study}`);
    expect([status, body.errors?.map(({ code, path }) => [code, path])]).to.deep.equal([
      422,
      [['DUPLICATE', 'query.study_id']],
    ]);
    const made = await http.post('/api/schedules/windows?study_id=', {
      study_id: study,
      code: 'W',
      name: 'W',
      target_day: 1,
    });
    expect([made.status, made.body.errors.map(({ path }) => path)], made.text).to.deep.equal([422, ['query.study_id']]);
  });

  it('a word that a filter cannot know is refused, like that of any closed list', async () => {
    for (const path of [
      `/api/studies/${study}/events?type=NOPE`,
      `/api/studies/${study}/events?type=enrollment_date_set`,
    ]) {
      const { status, body } = await http.get(path);
      expect([status, body.errors?.[0]?.path], path).to.deep.equal([422, 'query.type']);
    }
    await http.expect(200, 'GET', `/api/studies/${study}/events?type=ENROLLMENT_DATE_SET`);
  });

  it('a range that ends before it begins is refused by whatever list has one', async () => {
    const { id } = await newParticipant(http, study);
    const lists = Object.entries(paths).flatMap(([path, { get }]) => {
      const names = (get?.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name);
      const at = path.replace('{study_id}', study).replace('{participant_id}', id);
      if (!get || get.deprecated || at.includes('{') || /^\/api\/(portal|v1)\//.test(path)) return [];
      return names
        .filter((name) => /(^|_)from$/.test(name) && names.includes(name.replace(/from$/, 'to')))
        .map((name) => [at, name, name.replace(/from$/, 'to')] as const);
    });
    expect(lists.length).to.be.greaterThan(10);
    for (const [at, from, to] of lists) {
      const turned = await http.get(`${at}?${from}=2026-10-02&${to}=2026-10-01`);
      expect([turned.status, turned.body.errors?.[0]?.code, turned.body.errors?.[0]?.path], at).to.deep.equal([
        400,
        'FROM_AFTER_TO',
        `query.${from}`,
      ]);
      if (!at.includes('/pdf'))
        expect((await http.get(`${at}?${from}=2026-10-01&${to}=2026-10-01`)).status, at).to.equal(200);
    }
    const events = `/api/studies/${study}/events`;
    expect((await http.get(`${events}?from=2026-10-01T10:00:00Z&to=2026-10-01`)).status).to.equal(200);
    expect((await http.get(`${events}?from=2026-10-01T10:00:00Z&to=2026-10-01T11:00:00%2B02:00`)).status).to.equal(400);
    // A leap second is an instant.
    expect((await http.get(`${events}?from=2016-12-31T23:59:60Z&to=2017-01-02`)).status).to.equal(200);
  });

  it('an instant with an offset is read although its plus is in the URL as it is, where it means a blank', async () => {
    const { id } = await newParticipant(http, study);
    const person = `/api/studies/${study}/participants/${id}`;
    for (const offset of ['+02:00', '+0200', '+02'])
      for (const [path, status] of [
        [`/api/studies/${study}/events?from=2026-10-01T10:00:00${offset}&to=2026-10-01T10:00:00.5${offset}`, 200],
        // An hour before it begins.
        [`/api/studies/${study}/events?from=2026-10-01T10:00:00Z&to=2026-10-01T11:00:00${offset}`, 400],
        [`${person}/timeline?from=2026-10-01T10:00:00${offset}`, 200],
        [`${person}/anchor-date?as_of=2020-10-01T10:00:00${offset}`, 404],
      ] as const) {
        const answer = await http.get(path);
        expect(answer.status, `${path}: ${answer.text.slice(0, 200)}`).to.equal(status);
      }
    const { body } = await http.get(`/api/studies/${study}/events?from=28.11.2026`);
    expect(body.errors?.[0]?.message).to.match(/\(YYYY-MM-DD, or YYYY-MM-DDThh:mm:ssZ\)$/);
  });
});
