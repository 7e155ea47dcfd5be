/**
 * `npm run bench [-- P1 P2 P3 P6 START MEM CONSOLE …] [-- --rounds N] [-- --rows N] [-- --write]`: measures figures
 * against bare programs on the same machine and the same servers, a line for each (docs/BENCHMARKS.md).
 */
import { parseArgs } from 'node:util';
import { cleanUp } from '../support/service.js';
import { anchorFigures } from './anchor.js';
import { approvalFigures } from './approvals.js';
import { auditFigures } from './audit.js';
import { bulkSyncFigures } from './bulk-sync.js';
import { capacityFigures } from './capacity.js';
import { compileFigures } from './compile.js';
import { consoleFigures } from './console.js';
import { costlyRequests } from './costly.js';
import { exportFigures, importFigures, workbookFigures } from './data.js';
import { decisionFigures, simulationFigures } from './deciding.js';
import { writeDocument, writeSpent } from './document.js';
import { eventFigures } from './events.js';
import { lineOf } from './figure.js';
import type { Figure } from './figure.js';
import { growthFigures } from './growth.js';
import { largeFigures } from './large.js';
import { listingFigures } from './listing.js';
import { memoryFigures } from './memory.js';
import { peerFigures } from './peers.js';
import { previewFigures } from './preview.js';
import { printingFigures } from './printing.js';
import { profileDecision } from './profile.js';
import { pushFigures } from './pushes.js';
import { reminderFigures } from './reminders.js';
import { reportFigures } from './reports.js';
import { setStage } from './stage.js';
import type { Stage } from './stage.js';
import { coldStart, warmStart } from './start.js';
import { studyChangeFigures } from './study-change.js';
import { submissionFigures, submissionMemory } from './submissions.js';
import { syncFigures } from './sync.js';
import { processingFigures } from './processing.js';
import { processorTimes, spentLine } from './processor.js';
import { triggerFigures } from './triggers.js';
import { visitStatusFigures } from './visit-statuses.js';

const USUAL = [
  'START',
  'MEM',
  'P1',
  'P1_RUNNING',
  'P1_FRESH',
  'P10',
  'P2',
  'P3',
  'P3_PROCESSED',
  'SYNC',
  'PUSH',
  'SUBMIT',
  'SUBMIT_MEMORY',
  'BULK_SYNC',
  'COMPILE',
  'STATUS_JOB',
  'P4',
  'P4_XLSX',
  'P5',
  'P6',
  'P7',
  'EVENTS',
  'P8',
  'P9',
  'DECIDE',
  'PREVIEW',
  'REPORTS',
  'PDF',
  'CONSOLE',
];
/** These need no service, or have one of their own. */
const PURE = ['P9', 'DECIDE', 'PUSH', 'COSTLY'];
/** Reminders that are due (P7), where --rows says no less. */
const DUE = 60_000;
/**
 * Only when it is asked for: it installs everything again; they make a study of two million visits; it is a table of
 * its own; it is what a choice has cost; it installs another product; it takes many minutes.
 */
const ON_DEMAND = ['START_COLD', 'GROWTH', 'LARGE', 'PROCESSOR', 'APPROVAL', 'PEERS', 'CAPACITY', 'PROFILE', 'COSTLY'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    rows: { type: 'string', default: '1000000' },
    write: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
const unknown = positionals.filter((name) => ![...USUAL, ...ON_DEMAND].includes(name));
if (unknown.length > 0 || !Number.isInteger(rounds) || rounds < 1) {
  process.stderr.write(
    `${unknown.length > 0 ? `There is no figure ${unknown.join(', ')}` : '--rounds must be a whole number of at least 1'}. Usage: npm run bench [-- ${[...USUAL, ...ON_DEMAND].join(' ')}] [--rounds N] [--rows N] [--write]\n`,
  );
  process.exit(1);
}
const chosen = positionals.length > 0 ? positionals : USUAL;
const wanted = (name: string) => chosen.includes(name);

const measured: Figure[] = [];
/** Whether something that was asked for has no figure. */
let failed = false;
const tell = (figures: Figure[]) => {
  measured.push(...figures);
  for (const figure of figures) process.stdout.write(`${lineOf(figure)}\n`);
};

async function onStage(work: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await setStage();
  try {
    await work(stage);
  } finally {
    await stage.clear();
  }
}

process.once('SIGINT', () => {
  void cleanUp().then(() => process.exit(130));
});
process.once('SIGTERM', () => {
  void cleanUp().then(() => process.exit(143));
});
try {
  if (wanted('START')) tell(await warmStart(Math.min(rounds, 3)));
  if (wanted('START_COLD')) tell(await coldStart());
  if (wanted('DECIDE')) tell(decisionFigures(rounds));
  if (wanted('P9')) tell(simulationFigures(rounds));
  if (wanted('PUSH')) tell(await pushFigures());
  if (wanted('COSTLY')) await costlyRequests(values.write);
  if (chosen.some((name) => !name.startsWith('START') && !PURE.includes(name))) {
    await onStage(async (stage) => {
      // Before anything is asked of the service: afterwards it is no longer as it starts.
      if (wanted('MEM')) tell(await memoryFigures(stage));
      if (chosen.some((name) => name.startsWith('P1'))) tell(await anchorFigures(stage, rounds, wanted));
      if (wanted('P2')) tell(await listingFigures(stage, rounds));
      if (wanted('P3')) tell(await triggerFigures(stage, rounds));
      if (wanted('P3_PROCESSED')) tell(await processingFigures(stage));
      if (wanted('SYNC')) tell(await syncFigures(stage, rounds));
      if (wanted('COMPILE')) tell(await compileFigures(stage, rounds));
      if (wanted('SUBMIT_MEMORY')) tell(await submissionMemory(stage));
      if (wanted('SUBMIT')) tell(await submissionFigures(stage, rounds));
      if (wanted('BULK_SYNC')) tell(await bulkSyncFigures(stage, rounds));
      if (wanted('STATUS_JOB')) tell(await visitStatusFigures(stage, rounds));
      if (wanted('P4')) tell(await importFigures(stage, rounds));
      if (wanted('P4_XLSX')) tell(await workbookFigures(stage));
      if (wanted('P5')) tell(await exportFigures(stage, rounds, Math.max(1_000, Number(values.rows))));
      if (wanted('P7')) tell(await reminderFigures(stage, rounds, Math.min(DUE, Number(values.rows))));
      if (wanted('EVENTS')) tell(await eventFigures(stage));
      if (wanted('PEERS')) tell(await peerFigures(stage, rounds, Math.max(1_000, Number(values.rows))));
      if (wanted('PROFILE')) await profileDecision(stage, values.write);
      if (wanted('CAPACITY')) tell(await capacityFigures(stage, values.write));
      if (wanted('PREVIEW')) tell(await previewFigures(stage, rounds));
      if (wanted('APPROVAL')) tell(await approvalFigures(stage, rounds));
      if (wanted('REPORTS')) tell(await reportFigures(stage, rounds));
      if (wanted('PDF')) tell(await printingFigures(stage, rounds));
      if (wanted('CONSOLE')) {
        const faults = await consoleFigures(stage, rounds, tell);
        for (const fault of faults) process.stderr.write(`CONSOLE failed: ${fault}\n`);
        failed ||= faults.length > 0;
      }
      if (wanted('P6')) tell(await studyChangeFigures(stage));
      if (wanted('PROCESSOR')) {
        const spent = await processorTimes(stage);
        for (const one of spent) process.stdout.write(`${spentLine(one)}\n`);
        if (values.write) writeSpent(spent);
      }
      if (wanted('LARGE')) tell(await largeFigures(stage));
      if (wanted('GROWTH')) tell(await growthFigures(stage, values.write));
      if (wanted('P8')) tell(await auditFigures(stage, rounds, Math.max(1_000, Number(values.rows))));
    });
  }
  if (values.write) writeDocument(measured);
} finally {
  await cleanUp();
}
process.exit(failed ? 1 : 0);
