import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { plotNames, plotSvg } from '../../api/simulation/plots.js';
import { readStudyFile } from '../../scripts/simulate/study-file.js';
import type { SimulationResult } from '../../workflows/domain/simulation/result.js';
import { root } from '../support/environment.js';
import { compiled } from '../support/program.js';
import { newStudy, unique, user } from '../support/http.js';
import { until } from '../support/service.js';
import { withoutSchedule } from '../assessment/stage.js';
import { allHold, exact, run, text, window } from './simulated.js';
import { Stage } from './stage.js';

describe('npm run simulate', function () {
  const folder = mkdtempSync(join(tmpdir(), 'simulate-'));
  after(() => rmSync(folder, { recursive: true }));
  const file = (content: unknown) => {
    const path = join(folder, `${unique('study')}.json`);
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  };
  const program = async (...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> => {
    try {
      return {
        code: 0,
        ...(await promisify(execFile)(process.execPath, [compiled('scripts/simulate'), ...args], { cwd: root })),
      };
    } catch (fault) {
      return fault as { code: number; stdout: string; stderr: string };
    }
  };

  it('simulates a policy file without a server and writes result and plots: the same bytes as within the program', async () => {
    const study = {
      policy: { re_anchoring: { max_shift_days: 7 } },
      study: { start_date: '2024-01-01' },
      sites: [{ site_code: 'B', timezone: 'Europe/Berlin' }],
      windows: [{ code: 'D0', name: 'Visit D0', target_day: 0, window_before: 3, window_after: 3, is_baseline: true }],
    };
    const out = join(folder, 'out');
    const { code, stdout } = await program(
      file(study),
      '--participants',
      '40',
      '--months',
      '6',
      '--seed',
      '9',
      '--out',
      out,
    );
    expect(code, stdout).to.equal(0);
    const written = readFileSync(join(out, 'simulation.json'), 'utf8').trim();
    const within = run({
      participants: 40,
      months: 6,
      seed: 9,
      policy: study.policy,
      sites: [{ site_code: 'B', timezone: 'Europe/Berlin', calendar: null }],
      windows: [window('D0', 0)],
    });
    expect(written).to.equal(text(within));
    expect(stdout)
      .to.include('40 participants × 6 months')
      .and.include(createHash('sha256').update(written).digest('hex'));
    expect(readdirSync(out).sort()).to.deep.equal(
      ['simulation.json', ...plotNames.map((name) => `${name}.svg`)].sort(),
    );
  });

  it('names what is wrong with a file in one sentence, and ends with an exit code', async () => {
    const cases: [string[], RegExp][] = [
      [[], /^Usage: npm run simulate/],
      [[file({ windows: [{ code: 'x' }] })], /windows\.0\.name is required/],
      [[file({}), '--participants', '0'], /--participants must be a whole number from 1/],
      [[file({}), '--start', '2023-02-29'], /--start must be a date/],
    ];
    for (const [args, message] of cases) {
      const { code, stderr } = await program(...args);
      expect(stderr.trim()).to.match(message).and.not.include('\n');
      expect(code).to.equal(1);
    }
    // What it says then is what reading the file throws.
    for (const [path, message] of [
      [join(folder, 'none.json'), /cannot be read \(ENOENT\)/],
      [file('{"policy": '), /is not valid JSON/],
      [file({ permissions: { can_set: ['boss'] } }), /permissions\.can_set\.0 must be one of/],
    ] as const)
      expect(() => readStudyFile(path))
        .to.throw(Error, message)
        .with.property('message')
        .that.does.not.include('\n');
  });
});

interface SimulationView {
  simulation_id: string;
  status: string;
  progress: number;
  result: SimulationResult | null;
  result_sha256: string | null;
  plots: Record<string, string>;
  error: string | null;
}

describe('simulations over HTTP', function () {
  this.timeout(120_000);
  let stage: Stage;
  before(async () => {
    stage = await Stage.open();
  });
  after(() => stage.close());
  const order = (study: string, body: Record<string, unknown>) =>
    stage.admin.post<{
      simulation_id: string;
      status: string;
      status_url: string;
      code: string;
      errors: { path: string; code: string }[];
    }>(`/api/studies/${study}/simulations`, body);
  const finished = (url: string) =>
    until(
      async () => {
        const found = await stage.admin.expect<SimulationView>(200, 'GET', url);
        return found.status === 'completed' || found.status === 'failed' ? found : undefined;
      },
      { timeout: 90_000, interval: 200, what: 'the simulation to end' },
    );
  const completed = async (study: string, body: Record<string, unknown>) => {
    const answer = await order(study, body);
    expect(answer.status, answer.text).to.equal(202);
    const found = await finished(answer.body.status_url);
    expect(found, found.error ?? '').to.include({ status: 'completed', progress: 1, error: null });
    return found;
  };
  /**
   * Rows and content of all that belongs to the study, but for what a simulation leaves of itself and what is on its
   * way.
   */
  const contentOf = async (study: string) => {
    const tables = await stage.sql<{ name: string }>(
      `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
       where c.relkind in ('r', 'p') and not c.relispartition and c.relname not in ('simulations', 'audit_log', 'audit_chains', 'outbox', 'open_study_changes')
         and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'study_id') order by 1`,
    );
    const content: Record<string, unknown> = {};
    for (const { name } of tables) {
      content[name] = (
        await stage.sql(
          `select count(*)::int as rows, md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as md5 from ${name} t where study_id = ?`,
          [study],
        )
      )[0];
    }
    content.studies = (await stage.sql('select md5(s::text) as md5 from studies s where id = ?', [study]))[0];
    return content;
  };

  it('a study as it stands is simulated by a workflow; the same seed gives the same bytes; nothing of the study is changed', async () => {
    const study = await stage.study(
      { sources: [{ type: 'consent_workflow' }] },
      { fields: { start_date: '2024-01-01' }, days: [0, 30, 90] },
    );
    await stage.admin.expect(201, 'POST', `/api/studies/${study.id}/sites`, {
      site_code: 'NYC',
      timezone: 'America/New_York',
    });
    const person = await study.person();
    await person.consent('2024-03-10T12:00:00Z');
    await person.becomes({ status: 'finalized' });
    await person.settled();
    await study.settled();
    const body = { participants: 120, months: 9, seed: 42 };
    // The hourly job writes down which of the visits were missed.
    const [one, two] = await withoutSchedule('update_visit_statuses', async () => {
      const before = await contentOf(study.id);
      expect(Object.keys(before).length).to.be.greaterThan(15);
      const both = await Promise.all([completed(study.id, body), completed(study.id, body)]);
      expect(await contentOf(study.id)).to.deep.equal(before);
      return both;
    });
    expect(one.result_sha256)
      .to.match(/^[0-9a-f]{64}$/)
      .and.to.equal(two.result_sha256);
    expect(text(one.result!)).to.equal(text(two.result!));
    expect(createHash('sha256').update(text(one.result!)).digest('hex')).to.equal(one.result_sha256);
    allHold(one.result!);
    expect(one.result!.simulation).to.include({
      participants: 120,
      months: 9,
      seed: 42,
      start_date: '2024-01-01',
      scheduling_mode: 'legacy',
      sites: 1,
    });
    expect(one.result!.adherence.by_visit.map((v) => v.code)).to.deep.equal(['D0', 'D30', 'D90']);
    // The result is stored by the workflow's last step: it ends a moment later.
    const workflow = stage.temporal.workflow.getHandle(`study-simulation/${one.simulation_id}`);
    await until(async () => (await workflow.describe()).status.name === 'COMPLETED', { what: 'the workflow to end' });
    expect((await study.audit('simulation_ordered')).map((a) => a.audit_metadata)).to.deep.equal([
      { participants: 120, months: 9, seed: 42 },
      { participants: 120, months: 9, seed: 42 },
    ]);
    const listed = await stage.admin.expect<{ items: { simulation_id: string; result?: unknown }[]; total: number }>(
      200,
      'GET',
      `/api/studies/${study.id}/simulations`,
    );
    expect([listed.total, listed.items.map((i) => i.simulation_id).sort()]).to.deep.equal([
      2,
      [one.simulation_id, two.simulation_id].sort(),
    ]);

    expect(Object.keys(one.plots).sort()).to.deep.equal([...plotNames].sort());
    for (const [name, url] of Object.entries(one.plots)) {
      const plot = await stage.admin.get(url);
      expect([plot.status, plot.headers.get('content-type')]).to.deep.equal([200, 'image/svg+xml; charset=utf-8']);
      expect(plot.text).to.equal(plotSvg(name as (typeof plotNames)[number], one.result!));
    }
  });

  it('an edc study is simulated with its events and calendars, a site’s own among them', async () => {
    const { id } = await newStudy(stage.admin, { start_date: '2024-01-01', config: { scheduling_mode: 'edc' } });
    const site = await stage.admin.expect(201, 'POST', `/api/studies/${id}/sites`, {
      site_code: 'RUH',
      timezone: 'Asia/Riyadh',
    });
    await stage.admin.expect(201, 'POST', `/api/studies/${id}/holiday-calendars`, {
      name: 'there',
      site_id: site.id,
      weekend_days: [5, 6],
    });
    await stage.admin.expect(201, 'POST', `/api/studies/${id}/event-definitions`, {
      event_oid: 'W',
      name: 'Weekly',
      target_day: 4,
      window_after: 3,
      repeating: { count: 4, every_days: 7 },
    });
    const { result } = await completed(id, { participants: 20, months: 2, behaviour: { ...exact } });
    // Monday the first of January and four days: a Friday, which is the weekend there. Sunday is the next day of work.
    expect(result!.load_by_weekday.filter((d) => d.due > 0).map((d) => [d.name, d.due])).to.deep.equal([
      ['Sunday', 80],
    ]);
    expect(result!.clashes).to.include({ shifted_to_working_day: 80, targets_on_weekend: 0 });
    expect(result!.adherence.by_visit.map((v) => v.code)).to.deep.equal(['W#1', 'W#2', 'W#3', 'W#4']);
  });

  it('the order repeated under one Idempotency-Key is one simulation', async () => {
    const study = await stage.study({}, { days: [0] });
    const headers = { 'Idempotency-Key': unique('key') };
    const post = () =>
      stage.admin.post<{ simulation_id: string }>(
        `/api/studies/${study.id}/simulations`,
        { participants: 1, months: 1 },
        { headers },
      );
    const [first, again] = [await post(), await post()];
    expect([first.status, again.status, again.body.simulation_id]).to.deep.equal([202, 202, first.body.simulation_id]);
  });

  describe('what is refused', () => {
    let study: string;
    before(async () => {
      study = (await stage.study({}, { days: [0, 30] })).id;
    });
    const wrong: [title: string, body: Record<string, unknown>, path: string, code: string][] = [
      ['nobody', { participants: 0, months: 1, seed: 1 }, 'participants', 'MINIMUM'],
      ['too many participants', { participants: 5001, months: 1, seed: 1 }, 'participants', 'MAXIMUM'],
      ['no months', { participants: 1, seed: 1 }, 'months', 'REQUIRED'],
      ['too many months', { participants: 1, months: 61, seed: 1 }, 'months', 'MAXIMUM'],
      ['half a month', { participants: 1, months: 1.5, seed: 1 }, 'months', 'TYPE'],
      ['a seed that is no whole number', { participants: 1, months: 1, seed: 'x' }, 'seed', 'TYPE'],
      ['a seed below nothing', { participants: 1, months: 1, seed: -1 }, 'seed', 'MINIMUM'],
      [
        'a first day that is none',
        { participants: 1, months: 1, seed: 1, start_date: '2023-02-29' },
        'start_date',
        'FORMAT',
      ],
      [
        'a first day of another age',
        { participants: 1, months: 1, seed: 1, start_date: '0001-01-01' },
        'start_date',
        'OUT_OF_RANGE',
      ],
      [
        'a share over one',
        { participants: 1, months: 1, seed: 1, behaviour: { completion_rate: 1.1 } },
        'behaviour.completion_rate',
        'MAXIMUM',
      ],
      [
        'a behaviour that is none',
        { participants: 1, months: 1, seed: 1, behaviour: { luck: 1 } },
        'behaviour.luck',
        'UNKNOWN_FIELD',
      ],
      ['a field that is none', { participants: 1, months: 1, seed: 1, colour: 'red' }, 'colour', 'UNKNOWN_FIELD'],
    ];
    for (const [title, body, path, code] of wrong) {
      it(`${title}: 422 at ${path}`, async () => {
        const answer = await order(study, body);
        expect([answer.status, answer.body.errors?.[0]?.path, answer.body.errors?.[0]?.code]).to.deep.equal([
          422,
          path,
          code,
        ]);
      });
    }

    it('more planned visits than can be simulated: 400 that names the number', async () => {
      const { id } = await newStudy(stage.admin, { config: { scheduling_mode: 'edc' } });
      await stage.admin.expect(201, 'POST', `/api/studies/${id}/event-definitions`, {
        event_oid: 'DAILY',
        name: 'Daily',
        target_day: 0,
        repeating: { count: 366, every_days: 1 },
      });
      const answer = await order(id, { participants: 5000, months: 1, seed: 1 });
      expect([answer.status, answer.body.errors[0]!.code]).to.deep.equal([400, 'TOO_LARGE']);
    });

    it('a plot of another name 404, of a simulation that has no result yet 409, a simulation of another study 404', async () => {
      const id = '5f1d6a10-0000-4000-8000-00000000abcd'.replace('abcd', unique('').slice(1, 5));
      await stage.sql(
        `insert into simulations (id, study_id, participants, months, seed, inputs) values (?, ?, 1, 1, 1, '{}')`,
        [id, study],
      );
      const path = `/api/studies/${study}/simulations/${id}`;
      expect((await stage.admin.get(`${path}/plots/adherence.svg`)).status).to.equal(409);
      for (const name of ['colour.svg', 'adherence', 'constructor.svg'])
        expect((await stage.admin.get(`${path}/plots/${name}`)).status, name).to.equal(404);
      const other = await newStudy(stage.admin);
      expect((await stage.admin.get(`/api/studies/${other.id}/simulations/${id}`)).status).to.equal(404);
      await stage.sql('delete from simulations where id = ?', [id]);
    });

    it('a coordinator reads simulations and does not order them; a stranger finds none', async () => {
      const other = await newStudy(stage.admin);
      const [coordinator, stranger] = await Promise.all([
        user(stage.admin, 'coordinator', { study_ids: [study] }),
        user(stage.admin, 'researcher', { study_ids: [other.id] }),
      ]);
      const path = `/api/studies/${study}/simulations`;
      expect((await coordinator.get(path)).status).to.equal(200);
      expect((await coordinator.post(path, { participants: 1, months: 1 })).status).to.equal(403);
      expect((await stranger.get(path)).status).to.equal(404);
    });

    it('an eleventh that waits: 409', async () => {
      const { id } = await newStudy(stage.admin);
      for (let i = 0; i < 10; i++)
        await stage.sql(
          `insert into simulations (study_id, participants, months, seed, inputs) values (?, 1, 1, 1, '{}')`,
          [id],
        );
      const answer = await order(id, { participants: 1, months: 1, seed: 1 });
      expect([answer.status, answer.body.code]).to.deep.equal([409, 'TOO_MANY_SIMULATIONS']);
      // Nobody is to work on them.
      await stage.sql('delete from simulations where study_id = ?', [id]);
    });
  });
});
