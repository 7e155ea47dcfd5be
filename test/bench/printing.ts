import { median, ofLimit } from './figure.js';
import type { Figure } from './figure.js';
import type { Paced } from './load.js';
import { reportedStudy } from './report-study.js';
import type { Stage } from './stage.js';

const PARTICIPANTS = 1_000,
  WINDOWS = 10,
  SESSIONS_OF_A_HUNDRED = 50;
const LIMIT_SECONDS = 3,
  MOST_SLOWER = 3,
  AT_ONCE = 10,
  READ_EVERY_MS = 20,
  IDLE_SECONDS = 5,
  TIMES = 3;

/**
 * PDF: the summary of a study of 1,000 participants, the browser running; and ten at once, while somebody reads the
 * study every 20 ms: the slowest of a hundred of these reads against those of an idle service.
 */
export async function printingFigures(stage: Stage, rounds: number): Promise<Figure[]> {
  const study = await reportedStudy(stage, PARTICIPANTS, WINDOWS, SESSIONS_OF_A_HUNDRED);
  const print = async (): Promise<number> => {
    const began = performance.now();
    const response = await fetch(`${stage.service.run.api}/api/reports/studies/${study}/pdf/summary`, {
      headers: stage.headers,
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    if (response.status !== 200 || bytes.subarray(0, 5).toString() !== '%PDF-')
      throw new Error(`the PDF answered ${response.status}: ${bytes.toString().slice(0, 300)}`);
    return (performance.now() - began) / 1000;
  };
  await print();
  const warm: number[] = [];
  for (let round = 0; round < Math.max(3, rounds); round += 1) warm.push(await print());
  await stage.quiet();

  const read = (seconds: number): Paced => ({
    kind: 'paced',
    url: stage.service.run.api,
    everyMs: READ_EVERY_MS,
    seconds,
    requests: [{ method: 'GET', path: `/api/studies/${study}/participants?limit=50`, headers: stage.headers }],
  });
  await stage.load.ask(read(1));
  const times: { idle: number; busy: number; last: number }[] = [];
  while (times.length < TIMES) {
    await stage.quiet();
    const idle = await stage.load.ask(read(IDLE_SECONDS));
    const printing = Promise.all(Array.from({ length: AT_ONCE }, print));
    // A read is asked of the load generator for as long as ten documents take, which the first warm ones tell.
    const busy = await stage.load.ask(read(Math.max(2, Math.ceil(median(warm) * AT_ONCE * 0.6))));
    times.push({ idle: idle.p99, busy: busy.p99, last: Math.max(...(await printing)) });
  }
  return [
    ofLimit(
      'PDF',
      median(warm),
      LIMIT_SECONDS,
      's',
      `the summary of a study of ${PARTICIPANTS.toLocaleString('en')} participants as PDF, the browser running`,
    ),
    {
      name: 'PDF_TEN_P99',
      what: `a page of participants read while ${AT_ONCE} PDFs are printed (the last after ${median(times.map(({ last }) => last)).toFixed(1)} s), slowest of a hundred, against an idle service; the middle of ${TIMES} times`,
      ratio: median(times.map(({ busy, idle }) => busy / idle)),
      goal: { is: '<=', value: MOST_SLOWER },
      ours: median(times.map(({ busy }) => busy)),
      baseline: median(times.map(({ idle }) => idle)),
      unit: 'ms',
    },
  ];
}
