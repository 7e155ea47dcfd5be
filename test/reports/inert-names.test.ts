import { expect } from 'chai';
import pg from 'pg';
import { SaxesParser } from 'saxes';
import { plotNames } from '../../api/reports/document/data.js';
import { unique } from '../support/http.js';
import { readPdf } from '../support/pdf.js';
import { service } from '../support/service.js';
import { download } from '../support/download.js';
import { World } from './world.js';

/** What would be an element, an entity, the end of a style sheet, and the end of a text in quotes. */
const markup = (of: string): string => `<b>${of}</b>&lt;"'</style><script>`;
const NAMES = {
  study: markup('study'),
  code: unique('</style>"<s>&'),
  site: markup('site'),
  arm: markup('arm'),
  window: markup('w1'),
  windowName: markup('window'),
  person: markup('code'),
  visit: markup('visit'),
  task: markup('task'),
  metric: markup('metric'),
  flag: markup('flag'),
  signer: markup('signer'),
  meaning: markup('meaning'),
  form: markup('form'),
};
/** What a picture of a chart is made of. */
const DRAWN = new Set(
  'svg title desc linearGradient stop g rect path text tspan line polyline polygon circle defs clipPath style'.split(
    ' ',
  ),
);

describe('Names in reports', function () {
  this.timeout(120_000);
  let world: World;
  let at: string;
  let session: string;
  before(async () => {
    world = await World.open();
    const visit = { window: 0, offset: -30, before: 2, after: 5, fate: 'completed' as const, shift: 1 };
    await world.add([
      {
        site: true,
        arm: 'A',
        withdrawn: false,
        enrolled: -40,
        visits: [visit],
        sessions: [{ status: 'completed', rt: 400, days: -30 }],
      },
    ]);
    at = `/api/reports/studies/${world.study}`;
    const sql = new pg.Client({ connectionString: (await service()).database_url });
    await sql.connect();
    const set = async (statement: string, ...values: unknown[]) => {
      const { rows, rowCount } = await sql.query<{ id: string }>(statement, [world.study, ...values]);
      expect(rowCount, statement).to.be.greaterThan(0);
      return rows[0]!;
    };
    const { study, code, site, arm, window, windowName, person, task, metric, flag, form, signer, meaning } = NAMES;
    await set('update studies set study_name = $2, study_code = $3 where id = $1 returning id', study, code);
    await set('update sites set site_code = $2 where study_id = $1 returning id', site);
    await set(
      `update visit_windows set code = $2, name = $3 where study_id = $1 and code = 'W0' returning id`,
      window,
      windowName,
    );
    await set('update participants set participant_code = $2, arm = $3 where study_id = $1 returning id', person, arm);
    await set('update scheduled_visits set name = $2 where study_id = $1 returning id', NAMES.visit);
    await set(
      `update session_tasks set task = $2, summary = jsonb_build_object($3::text, 400), quality_flags = jsonb_build_array($4::text) where study_id = $1 returning session_id as id`,
      task,
      metric,
      flag,
    );
    session = (await set('select id from assessment_sessions where study_id = $1')).id;
    await set(
      `insert into form_instances (study_id, participant_id, form_oid, signature, signed_at)
       select $1, id, $2, jsonb_build_object('name', $3::text, 'meaning', $4::text, 'signed_at', '2026-01-05T10:00:00Z', 'proved_by', 'password'), now() from participants where study_id = $1 returning id`,
      form,
      signer,
      meaning,
    );
    await sql.end();
  });
  after(() => world.close());

  const told: Record<string, (keyof typeof NAMES)[]> = {
    'pdf/summary': ['study', 'code', 'site', 'windowName', 'window', 'task', 'metric'],
    'participants/{participant}/pdf': [
      'study',
      'code',
      'site',
      'arm',
      'person',
      'visit',
      'task',
      'metric',
      'signer',
      'meaning',
      'form',
    ],
    'sessions/{session}/pdf': ['study', 'code', 'site', 'person', 'task', 'metric', 'flag'],
  };
  for (const [path, names] of Object.entries(told))
    for (const language of ['en', 'de'])
      it(`${path} in ${language}: each is printed as it is written, also at the edge of the pages`, async () => {
        const asked = path.replace('{participant}', world.people[0]!.id).replace('{session}', session);
        const { status, bytes } = await download(world.http, `${at}/${asked}?language=${language}`);
        expect(status, bytes.toString('latin1').slice(0, 300)).to.equal(200);
        const read = readPdf(bytes);
        const text = read.text.replaceAll(/\s+/g, '');
        for (const name of names) expect(text, name).to.include(NAMES[name].replaceAll(/\s+/g, ''));
        const mark = names.includes('person') ? `${NAMES.code}${NAMES.person}` : NAMES.code;
        // The cover has no head; every other page has.
        expect(text.split(`·${mark.replaceAll(/\s+/g, '')}`)).to.have.length(read.pages);
        expect(read.title).to.include(names.includes('person') ? NAMES.person : NAMES.study);
      });

  for (const name of plotNames)
    it(`${name}.svg is XML whose names are text`, async () => {
      const { text } = await world.http.get(
        `${at}/plots/${name}.svg${name === 'course' ? `?participant_id=${world.people[0]!.id}` : ''}`,
      );
      const elements = new Set<string>();
      const parser = new SaxesParser();
      parser.on('error', (fault) => {
        throw fault;
      });
      parser.on('opentag', (tag) => {
        elements.add(tag.name);
        expect(Object.keys(tag.attributes).filter((one) => /^on/i.test(one))).to.deep.equal([]);
      });
      parser.write(text).close();
      expect([...elements].filter((one) => !DRAWN.has(one))).to.deep.equal([]);
    });
});
