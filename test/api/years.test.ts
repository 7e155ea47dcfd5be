import { expect } from 'chai';
import { document } from '../support/contract.js';
import { Instant, IsoDate, Moment, Type } from '../../api/http/common.schemas.js';
import { faultsIn } from '../../api/http/validation/validation.js';
import { admin, newParticipant, newStudy, unique } from '../support/http.js';
import type { Http } from '../support/http.js';
import { imported } from '../data/stage.js';

interface Schema {
  format?: string;
  anyOf?: Schema[];
}
interface Operation {
  parameters?: { name: string; in: string; schema: Schema }[];
}
const { paths } = document as unknown as {
  paths: Record<string, { get?: Operation }>;
};

describe('Years that no column can hold', function suite() {
  this.timeout(120_000);

  describe('the formats take the years 0001 to 9999, an instant’s in UTC', () => {
    const fits = (format: typeof IsoDate | typeof Instant | typeof Moment, value: string) =>
      faultsIn(Type.Object({ at: format }), { at: value }).length === 0;
    const dates: [value: string, taken: boolean][] = [
      ['0000-01-01', false],
      ['0000-12-31', false],
      ['0001-01-01', true],
      ['9999-12-31', true],
      ['2024-02-29', true],
      ['2023-02-29', false],
    ];
    for (const [value, taken] of dates) {
      it(`${value}: ${taken}`, () => {
        expect([fits(IsoDate, value), fits(Moment, value)]).to.deep.equal([taken, taken]);
        expect(fits(Instant, value)).to.equal(false);
      });
    }
    const instants: [value: string, taken: boolean][] = [
      ['0000-01-01T00:00:00Z', false],
      ['0000-12-31T23:59:59Z', false],
      ['0000-12-31T23:59:59-12:00', false],
      ['0000-06-15t12:00:00.5+00:00', false],
      ['0001-01-01T00:00:00Z', true],
      ['0001-01-01T00:00:00.000+00:00', true],
      ['0001-01-01T00:00:00+14:00', false],
      ['0001-01-01T13:59:59.999+14:00', false],
      ['0001-01-01T14:00:00+14:00', true],
      ['0001-01-01 00:00:00-05:00', true],
      ['0001-01-01T19:59:00+2000', false],
      ['9999-12-31T23:59:59Z', true],
      ['9999-12-31T23:59:59.999999z', true],
      ['9999-12-31T23:59:59.9999999Z', false],
      ['9999-12-31T23:59:60Z', false],
      ['9999-12-31T23:59:59-12:00', false],
      ['9999-12-31T11:59:59.9-12:00', true],
      ['9999-12-31T12:00:00-12:00', false],
      ['9999-12-31T23:59:59+00:01', true],
      ['9999-12-30T23:59:59-23:59', true],
      ['0001-01-02T00:00:00+23:59', true],
      ['2016-12-31T23:59:60Z', true],
      ['2026-01-05T10:00:00+02:00', true],
    ];
    for (const [value, taken] of instants)
      it(`${value}: ${taken}`, () => expect([fits(Instant, value), fits(Moment, value)]).to.deep.equal([taken, taken]));
  });

  describe('from outside', () => {
    let http: Http, study: string, participant: string;
    before(async () => {
      http = await admin();
      study = (await newStudy(http)).id;
      participant = (await newParticipant(http, study)).id;
    });

    const isDay = ({ format, anyOf }: Schema): boolean =>
      (format?.startsWith('date') ?? false) || (anyOf ?? []).some(isDay);
    it('each query that takes a day or an instant refuses them by its name', async () => {
      const declared = Object.entries(paths)
        .filter(([path]) => !/^\/api\/(portal|v1)\//.test(path))
        .flatMap(([path, { get }]) =>
          (get?.parameters ?? [])
            .filter((one) => one.in === 'query' && isDay(one.schema))
            .map((one) => ({
              path: path
                .replace('{study_id}', study)
                .replace('{participant_id}', participant)
                .replace('{plot}', 'enrollment.svg')
                .replace(/\{\w+\}/g, study),
              ...one,
            })),
        );
      expect(declared.length).to.be.greaterThan(10);
      const taken: string[] = [];
      for (const { path, name, schema } of declared) {
        const values = schema.format === 'date-time' ? [] : ['0000-01-01'];
        if (schema.format !== 'date')
          values.push('0000-01-01T00:00:00Z', '0001-01-01T00:00:00%2B14:00', '9999-12-31T23:59:59-12:00');
        for (const value of values) {
          const { status, body, text } = await http.get(`${path}?${name}=${value}`);
          if (
            status !== 422 ||
            !body.errors?.some((fault) => fault.path === `query.${name}` && fault.code === 'FORMAT')
          )
            taken.push(`${path}?${name}=${value}: ${status} ${text.slice(0, 120)}`);
        }
      }
      expect(taken).to.deep.equal([]);
    });

    const person = () => `/api/studies/${study}/participants/${participant}`;
    const bodies: [title: string, path: () => string, body: () => object, field: string][] = [
      [
        'a study',
        () => '/api/studies',
        () => ({ study_code: unique(), study_name: 'x', start_date: '0000-01-01' }),
        'start_date',
      ],
      [
        'a participant',
        () => `/api/studies/${study}/participants`,
        () => ({ participant_code: unique(), date_of_birth: '0000-02-29' }),
        'date_of_birth',
      ],
      [
        'a visit',
        () => '/api/schedules/visits',
        () => ({ participant_id: participant, name: 'x', target_date: '2026-01-01', window_open: '0000-12-31' }),
        'window_open',
      ],
      [
        'a consent',
        () => `${person()}/consents`,
        () => ({ status: 'signed', signed_at: '0001-01-01T00:00:00+14:00' }),
        'signed_at',
      ],
      [
        'a randomization',
        () => `${person()}/randomization`,
        () => ({ arm: 'A', randomized_at: '0000-01-01T00:00:00Z' }),
        'randomized_at',
      ],
      [
        'a withdrawal',
        () => `/api/participants/${participant}/withdraw`,
        () => ({ reason: 'x', withdrawn_at: '9999-12-31T23:59:59-12:00' }),
        'withdrawn_at',
      ],
      ['an anchor date', () => `${person()}/anchor-date`, () => ({ enrollment_date: '0000-01-01' }), 'enrollment_date'],
    ];
    for (const [title, path, body, field] of bodies) {
      it(`${title} refuses them by ${field}`, async () => {
        const answer = await http.post(path(), body());
        expect(answer.status, answer.text).to.equal(422);
        expect(answer.body.errors.map((fault) => [fault.path, fault.code])).to.deep.equal([[field, 'FORMAT']]);
      });
    }

    it('a row of a file is refused by itself, the others are taken', async () => {
      const result = await imported(
        http,
        study,
        `participant_code,date_of_birth\n${unique()},0000-01-01\n${unique()},1960-02-29\n`,
      );
      expect([result.imported_count, result.errors.map(({ row, field, code }) => [row, field, code])]).to.deep.equal([
        1,
        [[2, 'date_of_birth', 'FORMAT']],
      ]);
    });

    it('a visit whose window would reach beyond the calendar is refused by its target', async () => {
      const window = await http.expect<{ id: string }>(201, 'POST', '/api/schedules/windows', {
        study_id: study,
        code: unique(),
        name: 'W',
        target_day: 0,
        window_before: 3,
        window_after: 3,
      });
      for (const target_date of ['0001-01-02', '9999-12-30']) {
        const answer = await http.post('/api/schedules/visits', {
          participant_id: participant,
          visit_window_id: window.id,
          target_date,
        });
        expect(
          [answer.status, answer.body.errors?.map((fault) => [fault.path, fault.code])],
          answer.text,
        ).to.deep.equal([400, [['target_date', 'OUT_OF_RANGE']]]);
      }
    });
  });
});
