import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { download } from '../support/download.js';
import { inFull } from '../support/in-full.js';
import { pythonOf } from '../support/python.js';
import { World } from './world.js';

const run = promisify(execFile);
interface Page {
  box: [number, number];
  text: string;
  ink: number;
  edge: number;
}
type Found = Record<string, { title: string; pages: Page[] }>;

const SIZES = { letter: [612, 792], a4: [595, 842] } as const;
/** What has to stand in each document, in its language. */
const WORDS = {
  summary: {
    en: [
      'Study report',
      'Contents',
      '1 Overview',
      'Enrollment',
      'Completion by window',
      'Task metrics',
      'Definitions',
      'Completed in window, of those due',
      'Data SHA-256',
      'stroop',
      'mean_rt',
      'Window 0',
    ],
    de: [
      'Studienbericht',
      'Inhalt',
      '1 Überblick',
      'Einschluss',
      'Durchführung nach Zeitfenster',
      'Kennwerte der Aufgaben',
      'Wie gezählt wird',
      'Im Fenster abgeschlossen, von den fälligen',
      'SHA-256 der Daten',
      'stroop',
      'mean_rt',
      'Window 0',
    ],
  },
  participant: {
    en: [
      'Participant report',
      'Enrollment date',
      'Visits',
      'Course of the metrics',
      'Study, 25–75 %',
      'Days off target',
      'In window',
      'Missed',
      'mean_rt',
    ],
    de: [
      'Bericht zu einer teilnehmenden Person',
      'Einschlussdatum',
      'Visiten',
      'Verlauf der Kennwerte',
      'Studie, 25–75 %',
      'Tage vom Ziel',
      'Im Fenster',
      'Versäumt',
      'mean_rt',
    ],
  },
  session: {
    en: ['Session report', 'Tasks', 'Metric', 'From trials', 'stroop', 'mean_rt'],
    de: ['Sitzungsbericht', 'Aufgaben', 'Kennwert', 'Aus Durchgängen', 'stroop', 'mean_rt'],
  },
} as const;
type Document = keyof typeof WORDS;
const NAMES = Object.keys(WORDS) as Document[];
/** Lines are broken where the page is narrow, and a hyphen or ligature is the reader's own way to say so. */
const bare = (text: string) => text.normalize('NFKC').replaceAll(/\s+/g, '');

/**
 * Each of the three PDFs in both page sizes and both languages, as programs see it that know nothing of who wrote it.
 */
describe('PDFs in other programs', function () {
  this.timeout(300_000);
  let world: World;
  let code: string;
  const folder = mkdtempSync(join(tmpdir(), 'pdfs-'));
  /** The shorter page in the shorter language, the narrower in the longer one; in full each page in each language. */
  const SHOWN = [
    ['letter', 'en'],
    ['a4', 'de'],
    ...(inFull
      ? ([
          ['letter', 'de'],
          ['a4', 'en'],
        ] as const)
      : []),
  ] as const;
  const variants = NAMES.flatMap((document) =>
    SHOWN.map(([size, language]) => ({ document, size, language, file: `${document}-${size}-${language}` })),
  );
  before(async () => {
    world = await World.open();
    const visits = [
      { window: 0, offset: -30, before: 2, after: 5, fate: 'completed' as const, shift: 1 },
      { window: 1, offset: -10, before: 1, after: 1, fate: 'time' as const, shift: 0 },
    ];
    const sessions = (rt: number) => [
      { status: 'completed' as const, rt, days: -30 },
      { status: 'completed' as const, rt: rt + 20, days: -10 },
    ];
    await world.add(
      [400, 500, 600].map((rt) => ({
        site: true,
        arm: 'A' as const,
        withdrawn: false,
        enrolled: -40,
        visits,
        sessions: sessions(rt),
      })),
    );
    const at = `/api/reports/studies/${world.study}`,
      { id } = world.people[0]!;
    code = (await world.http.expect<{ participant_code: string }>(200, 'GET', `/api/participants/${id}`))
      .participant_code;
    const session = (
      await world.http.expect<{ items: { id: string }[] }>(
        200,
        'GET',
        `/api/sessions?study_id=${world.study}&participant_id=${id}`,
      )
    ).items[0]!.id;
    const paths = {
      summary: `${at}/pdf/summary`,
      participant: `${at}/participants/${id}/pdf`,
      session: `${at}/sessions/${session}/pdf`,
    };
    for (const { document, size, language, file } of variants) {
      const { status, bytes } = await download(world.http, `${paths[document]}?page_size=${size}&language=${language}`);
      expect(status, file).to.equal(200);
      await writeFile(join(folder, `${file}.pdf`), bytes);
    }
  });
  after(async () => {
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** @param text of all pages */
  function tells({ document, language, file }: (typeof variants)[number], text: string, pages: number): void {
    for (const word of WORDS[document][language]) expect(bare(text), `${file}: ${word}`).to.include(bare(word));
    // None of the other language's own words.
    const other = language === 'en' ? 'de' : 'en';
    expect(bare(text), file).not.to.include(bare(WORDS[document][other][0]));
    if (document !== 'summary') expect(text, file).to.include(code);
    for (let page = 1; page <= pages; page += 1) expect(bare(text), file).to.include(`${page}/${pages}`);
    // What a font has no letter for is shown as one of these.
    expect(text, file).not.to.match(/[\uFFFD\u25A1]/);
  }

  it('PDFium reads every text and draws every page: nothing is empty, nothing runs over the edge', async function () {
    const python = await pythonOf('test/reports/python', 'pdf-programs');
    if (!python) return this.skip();
    const found = JSON.parse(await python.run('read_pdfs.py', [folder])) as Found;
    for (const variant of variants) {
      const { title, pages } = found[variant.file]!;
      tells(variant, pages.map(({ text }) => text).join('\n'), pages.length);
      expect(title, variant.file).to.include(WORDS[variant.document][variant.language][0]);
      for (const [at, { box, ink, edge }] of pages.entries()) {
        expect(box, variant.file).to.deep.equal([...SIZES[variant.size]]);
        expect(ink, `${variant.file}, page ${at + 1}`).to.be.within(0.001, 0.5);
        expect(edge, `${variant.file}, page ${at + 1}: inked points at its edge`).to.equal(0);
      }
    }
  });

  it('pdftotext reads every text', async function () {
    const there = await run('pdftotext', ['-v']).then(
      () => true,
      (fault: NodeJS.ErrnoException) => {
        if (fault.code === 'ENOENT') return false;
        throw fault;
      },
    );
    if (!there) this.skip();
    for (const variant of variants) {
      const { stdout } = await run('pdftotext', ['-raw', '-enc', 'UTF-8', join(folder, `${variant.file}.pdf`), '-'], {
        maxBuffer: 1 << 24,
      });
      tells(variant, stdout, stdout.split('\f').length - 1);
    }
  });
});
