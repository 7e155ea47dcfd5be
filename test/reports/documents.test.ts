import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { plotNames, studyPlots } from '../../api/reports/document/data.js';
import type { PlotName } from '../../api/reports/document/data.js';
import { startApi } from '../support/api-process.js';
import type { ApiProcess } from '../support/api-process.js';
import { Http, admin, newParticipant, newStudy, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { download } from '../support/download.js';
import { readPdf } from '../support/pdf.js';
import { until } from '../support/until.js';
import { descendants } from './printing.js';
import { World, ZONES, dayAt } from './world.js';

/** A document takes a hundred times as long. */
const BETWEEN_LOOKS_MS = 10;
/** Four are printed at a time at most (api/reports/pdf/printer.ts). */
const AT_ONCE = 5;

const person = (rt: number) => ({
  site: true,
  arm: 'A' as const,
  withdrawn: false,
  enrolled: -40,
  visits: [
    { window: 0, offset: -30, before: 2, after: 5, fate: 'completed' as const, shift: 1 },
    { window: 1, offset: -10, before: 1, after: 1, fate: 'time' as const, shift: 0 },
  ],
  sessions: [
    { status: 'completed' as const, rt, days: -30 },
    { status: 'completed' as const, rt: rt + 20, days: -10 },
  ],
});

/** The numbered sections among a document's bookmarks. */
const sectionsOf = (bookmarks: readonly string[]) =>
  bookmarks.flatMap((bookmark) => {
    const [, number, title] = /^(\d+) (.*)$/.exec(bookmark) ?? [];
    return title === undefined ? [] : [{ number: Number(number), title }];
  });

describe('Reports as PDF', function () {
  this.timeout(240_000);
  let world: World;
  let at: string;
  before(async () => {
    world = await World.open();
    await world.add([person(400), person(500), person(600)]);
    at = `/api/reports/studies/${world.study}`;
  });
  after(() => world.close());

  for (const [query, box, language, headings] of [
    ['', [612, 792], 'en', ['Enrollment', 'Completion by window', 'Task metrics']],
    ['?page_size=letter&language=de', [612, 792], 'de', ['Einschluss', 'Standorte']],
    ['?page_size=A4&language=de', [595, 842], 'de', ['Kennwerte der Aufgaben']],
  ] as const) {
    it(`of a study${query || ' by default'}: its page, its language, bookmarks, tags, page numbers, and what it was made of`, async () => {
      const { status, headers, bytes } = await download(world.http, `${at}/pdf/summary${query}`);
      expect(status, bytes.toString('latin1').slice(0, 200)).to.equal(200);
      expect(headers.get('content-type')).to.equal('application/pdf');
      expect(headers.get('content-disposition')).to.match(
        /^attachment; filename="S-[\w-]+-summary-\d{8}T\d{6}Z-[\da-f]{8}\.pdf"$/,
      );
      const read = readPdf(bytes);
      expect(read)
        .to.include({ language, tagged: true })
        .and.to.have.deep.property('box', [...box]);
      expect(new Set(read.fonts.map((font) => font.replace(/-.*/, '')))).to.deep.equal(new Set(['NotoSans']));
      const sections = sectionsOf(read.bookmarks);
      expect(sections.map(({ number }) => number)).to.deep.equal(sections.map((_, i) => i + 1));
      expect(sections.map(({ title }) => title)).to.include.members([...headings]);
      expect(read.text)
        .to.match(new RegExp(`1\\s*/\\s*${read.pages}`))
        .and.to.include('stroop')
        .and.to.include('W0');
      const [, contents, ...body] = read.text.split('\n').map((page) => page.replaceAll(/\s+/g, ''));
      for (const heading of read.bookmarks.filter((one) => /^\d /.test(one)).map((one) => one.replaceAll(/\s+/g, ''))) {
        expect(contents, heading).to.include(`${heading}${body.findIndex((page) => page.includes(heading)) + 3}`);
      }
      const { items } = await world.http.expect<{
        items: { action: string; hash: string; audit_metadata: { data_sha256?: string } }[];
      }>(200, 'GET', `/api/audit?study_id=${world.study}&limit=500`);
      expect(
        items.some(
          ({ action, audit_metadata }) =>
            action === 'report_printed' && read.text.includes(audit_metadata.data_sha256!),
        ),
      ).to.equal(true);
      // At the foot of each page: which data, and how far the record of changes went when they were read.
      for (const [i, page] of [contents!, ...body].entries()) {
        expect(
          items.some(
            ({ action, audit_metadata }) => action === 'report_printed' && page.includes(audit_metadata.data_sha256!),
          ),
          `the data of page ${i + 2}`,
        ).to.equal(true);
        expect(
          items.some(({ hash }) => page.includes(hash)),
          `the audit head of page ${i + 2}`,
        ).to.equal(true);
      }
    });
  }

  it('of a participant and of a session: the code, the visits, the metrics beside the study’s', async () => {
    const one = world.people[0]!;
    const code = (await world.http.expect<Loose>(200, 'GET', `/api/participants/${one.id}`)).participant_code as string;
    const participant = readPdf((await download(world.http, `${at}/participants/${one.id}/pdf`)).bytes);
    expect(participant.title).to.equal(`Participant report: ${code}`);
    expect(participant.text)
      .to.include('mean_rt')
      .and.to.include('In window')
      .and.to.include('Missed')
      .and.to.include('Study, 25–75 %');
    const [session] = (
      await world.http.expect<Loose>(200, 'GET', `/api/sessions?study_id=${world.study}&participant_id=${one.id}`)
    ).items;
    const printed = await download(world.http, `${at}/sessions/${session!.id}/pdf?page_size=a4`);
    // The day of the session is that of its site.
    const day = dayAt(ZONES.site, Date.parse(session!.started_at as string));
    expect(printed.headers.get('content-disposition')).to.include(`${code}-${day}`);
    const pdf = readPdf(printed.bytes);
    expect(pdf.text).to.include('stroop').and.to.include(code);
    expect(pdf.title).to.equal(
      `Session report: ${code}, ${new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' }).format(Date.parse(day))}`,
    );
  });

  it('what cannot be printed is refused', async () => {
    const other = await newStudy(world.http);
    const stranger = await newParticipant(world.http, other.id);
    for (const [path, status] of [
      [`${at}/pdf/summary?page_size=a5`, 422],
      [`${at}/pdf/summary?page_size=`, 422],
      [`${at}/pdf/summary?language=xx`, 422],
      [`${at}/pdf/summary?from=2026-01-02&to=2026-01-01`, 400],
      [`${at}/participants/${stranger.id}/pdf`, 404],
      [`${at}/sessions/${stranger.id}/pdf`, 404],
      [`${at}/participants/no/pdf`, 404],
    ] as const)
      expect((await world.http.get(path)).status, path).to.equal(status);
    const outsider = await user(world.http, 'researcher');
    expect((await outsider.get(`${at}/pdf/summary`)).status).to.equal(404);
  });

  it('names are text, whatever they look like, and every script has its letters', async () => {
    const name = '<script>1</script> Ωμέγα Жизнь Łódź 日本語 简体 한국어 دراسة מחקר การศึกษา';
    const study = await newStudy(world.http, { study_name: name });
    const { text, title, fonts } = readPdf(
      (await download(world.http, `/api/reports/studies/${study.id}/pdf/summary`)).bytes,
    );
    expect(title).to.equal(`Study report: ${name}`);
    for (const word of ['<script>1</script>', 'Ωμέγα', 'Жизнь', 'Łódź', '日本語', '简体', '한국어'])
      expect(text.replaceAll(/\s+/g, ''), word).to.include(word);
    // Their letters are drawn joined, or from right to left: which font has them says that they are there.
    for (const script of ['Arabic', 'Hebrew', 'Thai'])
      expect(
        fonts.some((font) => font.startsWith(`NotoSans${script}`)),
        script,
      ).to.equal(true);
  });

  it('more at once than are printed at a time are all printed, and the API answers meanwhile', async () => {
    const printing = Promise.all(Array.from({ length: AT_ONCE }, () => download(world.http, `${at}/pdf/summary`)));
    const took: number[] = [];
    let done = false;
    void printing.then(
      () => {
        done = true;
      },
      () => {
        done = true;
      },
    );
    while (!done) {
      const began = performance.now();
      await world.http.expect(200, 'GET', '/api/health');
      took.push(performance.now() - began);
      // Asked without a pause, the answers would keep a processor from printing.
      await sleep(BETWEEN_LOOKS_MS);
    }
    for (const { status } of await printing) expect(status).to.equal(200);
    expect(took.length).to.be.greaterThan(5);
  });
});

describe('The browser that prints', function () {
  this.timeout(240_000);
  const browsers = async (pid: number) =>
    (await descendants(pid)).filter(({ command }) => /chrom|headless/i.test(command));

  /** An API of the test's own, ended whatever becomes of the test. */
  const withApi = async (work: (api: ApiProcess, print: () => Promise<number>) => Promise<void>): Promise<void> => {
    const api = await startApi();
    try {
      const root = await admin(api.url);
      const { id } = await newStudy(root);
      await work(api, async () => (await download(root, `/api/reports/studies/${id}/pdf/summary`)).status);
    } finally {
      await api.kill();
    }
  };

  it('is started with the first document, again when it was killed, and ends with the API', () =>
    withApi(async (api, print) => {
      expect(await browsers(api.pid)).to.deep.equal([]);
      expect(await print()).to.equal(200);
      const first = await browsers(api.pid);
      expect(first.length).to.be.greaterThan(0);
      for (const { pid } of first)
        try {
          process.kill(pid, 'SIGKILL');
        } catch (fault) {
          if ((fault as NodeJS.ErrnoException).code !== 'ESRCH') throw fault;
        }
      await until(async () => (await print()) === 200, { timeout: 120_000, what: 'a new browser' });
      const last = await browsers(api.pid);
      expect(await api.stop()).to.equal(0);
      await until(() => last.every(({ pid }) => gone(pid)), { what: 'the browser to be gone' });
    }));

  it('draws with the last of the machine: no thread of what draws a document stands before those that answer; killed with the API, it does not stay behind', () =>
    withApi(async (api, print) => {
      expect(await print()).to.equal(200);
      const drawing = async () =>
        (await browsers(api.pid)).filter(({ command }) => command.includes('--type=renderer'));
      // A whole browser has such processes for its own window as well: a document's is there while it is printed.
      const idle = new Set((await drawing()).map(({ pid }) => pid));
      const seen: number[][] = [];
      const gaveWay = async (): Promise<boolean> => {
        let over = false;
        const printing = print().finally(() => {
          over = true;
        });
        while (!over) {
          const now = (await drawing()).filter(({ pid }) => !idle.has(pid)).flatMap(({ pid }) => priorities(pid));
          if (now.length > 0) seen.push(now);
          await sleep(BETWEEN_LOOKS_MS);
        }
        expect(await printing).to.equal(200);
        return seen.some((now) => now.every((priority) => priority > 0));
      };
      await until(gaveWay, { timeout: 120_000, what: 'a document whose threads all give way' }).catch(
        (fault: Error) => {
          throw new Error(`${fault.message}; priorities: ${JSON.stringify(seen.slice(-5))}`);
        },
      );
      const left = await browsers(api.pid);
      expect(left.length).to.be.greaterThan(0);
      await api.kill();
      await until(() => left.every(({ pid }) => gone(pid)), { what: 'the browser to be gone' });
    }));
});

/** Of each thread of a process; none of one that is gone. */
const priorities = (pid: number): number[] => {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => getPriority(Number(thread)));
  } catch (fault) {
    const { code, info } = fault as { code?: string; info?: { code?: string } };
    if (code === 'ENOENT' || code === 'ESRCH' || info?.code === 'ESRCH') return [];
    throw fault;
  }
};
const gone = (pid: number): boolean => !readdirSync('/proc').includes(String(pid));

describe('Plots of a study', function () {
  this.timeout(120_000);
  let world: World;
  before(async () => {
    world = await World.open();
    await world.add([person(450)]);
  });
  after(() => world.close());

  const TITLES: Record<PlotName, string> = {
    enrollment: 'Enrollment',
    completion: 'Completion by window',
    adherence: 'Adherence by site and window',
    metrics: 'Distribution of task metrics',
    course: 'Course of a participant',
  };
  for (const [name, title] of Object.entries(TITLES)) {
    it(`${name}.svg has a title and says in words what it shows; the same data give the same picture`, async () => {
      const path = `/api/reports/studies/${world.study}/plots/${name}.svg${name === 'course' ? `?participant_id=${world.people[0]!.id}` : ''}`;
      const answer = await world.http.get(path);
      expect(answer.status, answer.text.slice(0, 300)).to.equal(200);
      expect(answer.headers.get('content-type')).to.equal('image/svg+xml; charset=utf-8');
      expect(answer.text)
        .to.match(/^<svg role="img" aria-labelledby="[\w-]+ [\w-]+"/)
        .and.to.include(`>${title}</title>`)
        .and.to.match(/<desc id="[\w-]+">[^<]{20,}<\/desc>/);
      expect(answer.text).not.to.match(/NaN|undefined|Infinity|<script|<image/);
      expect((await world.http.get(path)).text).to.equal(answer.text);
    });
  }

  it('also of a study in which nothing has happened, in both languages', async () => {
    const empty = await newStudy(world.http);
    for (const name of studyPlots) {
      const answer = await world.http.get(`/api/reports/studies/${empty.id}/plots/${name}.svg?language=de`);
      expect(answer.status, name).to.equal(200);
      expect(answer.text, name).not.to.match(/NaN|undefined|Infinity/);
      expect(answer.text, name).to.include('Noch gibt es nichts zu zeigen.');
    }
    const { text, bookmarks } = readPdf(
      (await download(world.http, `/api/reports/studies/${empty.id}/pdf/summary`)).bytes,
    );
    expect(
      text.replaceAll(/\s+/g, '').match(/Thereisnothingtoshowyet/g),
      'once in each section but the overview and the definitions',
    ).to.have.length(sectionsOf(bookmarks).length - 2);
  });

  it('a dark plot has a dark colour for each light one', async () => {
    const plots = `/api/reports/studies/${world.study}/plots`;
    const course = `&participant_id=${world.people[0]!.id}`;
    for (const name of plotNames) {
      const more = name === 'course' ? course : '';
      const { status, text } = await world.http.get(`${plots}/${name}.svg?theme=dark${more}`);
      expect(status, name).to.equal(200);
      const [style, picture] = [
        /<style[^>]*>([^]*?)<\/style>/.exec(text)![1]!,
        text.replace(/<style[^]*?<\/style>/, ''),
      ];
      const used = [...picture.matchAll(/ (fill|stroke)="([^"]+)"/g)].map(([, part, value]) => `[${part}="${value}"]`);
      // Black has no area: clips, and lines.
      const drawn = [...new Set(used)].filter((rule) => !/"(none|transparent|#000|rgb\(0,0,0\))"/.test(rule));
      const kept = drawn.filter((rule) => !style.includes(rule));
      expect(kept, `${name}: these colours are those of the light theme`).to.deep.equal([]);
    }
  });

  it('each window and site of the heat map has its name, however long; what is too long is cut, not left out', async () => {
    const wide = await World.open();
    try {
      const { id: site } = await wide.http.expect<Loose>(201, 'POST', `/api/studies/${wide.study}/sites`, {
        site_code: 'A-UNIVERSITY-HOSPITAL-WITH-A-NAME-OF-ITS-OWN-AND-A-LONG-ONE',
      });
      for (let n = 3; n < 14; n += 1) {
        const window = await wide.http.expect<Loose>(201, 'POST', '/api/schedules/windows', {
          study_id: wide.study,
          code: `N${n}_FOLLOW_UP_BY_TELEPHONE`,
          name: `Follow-up ${n}`,
          target_day: n * 28,
          sort_order: n,
        });
        wide.windows.push(window.id);
      }
      const visits = wide.windows.map((_, window) => ({
        window,
        offset: -30,
        before: 2,
        after: 5,
        fate: 'completed' as const,
        shift: 1,
      }));
      await wide.add([{ ...person(500), visits }]);
      await wide.http.expect(200, 'PATCH', `/api/participants/${wide.people[0]!.id}`, { site_id: site });
      const { text } = await wide.http.get(`/api/reports/studies/${wide.study}/plots/adherence.svg`);
      const labels = [...text.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, label]) => label!);
      expect(labels.filter((label) => /^(W\d|N\d)/.test(label))).to.have.length(wide.windows.length);
      expect(labels.filter((label) => label.startsWith('A-UNIVERSITY'))).to.have.length(1);
      for (const label of labels) expect(label.length, label).to.be.below(24);
    } finally {
      await wide.close();
    }
  });

  it('another name is 404, a course of nobody 422, without a token 401', async () => {
    const at = `/api/reports/studies/${world.study}/plots`;
    for (const [file, status] of [
      ['other.svg', 404],
      ['enrollment.png', 404],
      ['enrollment', 404],
      ['course.svg', 422],
      ['__proto__.svg', 404],
    ] as const)
      expect((await world.http.get(`${at}/${file}`)).status, file).to.equal(status);
    expect((await new Http(world.http.base).get(`${at}/enrollment.svg`)).status).to.equal(401);
  });
});
