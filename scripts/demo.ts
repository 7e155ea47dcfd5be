/**
 * `npm run demo`: the main workflow on the running service, step by step, each with the address where it can be seen.
 * Each run creates its own study. Exit code 1, with the failed step, if anything is wrong. `-- --keep-open` leaves the
 * override to a person, who decides it in the console.
 */
import { Connection } from '@temporalio/client';
import { readSettings, temporalTls } from '../settings.js';
import type { Settings } from '../settings.js';
import { enroll } from './demo/enroll.js';
import { approve, ask } from './demo/override.js';
import { findService } from './demo/place.js';
import type { Stage } from './demo/place.js';
import { prepare } from './demo/prepare.js';
import { prove } from './demo/proof.js';
import { results } from './demo/results.js';
import { DemoFault, Telling } from './demo/telling.js';
import { optionsOf } from './runtime/program.js';

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

async function demo(keepsOpen: boolean): Promise<void> {
  const began = performance.now();
  const settings = readSettings();
  const place = findService(settings);
  print(
    'From a data-entry trigger to a final enrollment date, an approved override, a new schedule and pushed results.\n',
  );
  const telling = new Telling(print);
  const { stage, capture } = await prepare(telling, place);
  try {
    const connection = await connect(place.run.temporal, settings);
    try {
      const enrolled = await enroll(telling, stage, capture, connection);
      const request = await ask(telling, stage, enrolled);
      if (!keepsOpen) await approve(telling, stage, enrolled, request);
      await results(telling, stage, enrolled, capture);
      if (!keepsOpen) print(`${await prove(telling, stage, enrolled)}\n`);
      print(inTheConsole(stage, enrolled.participantId, keepsOpen ? request : undefined));
    } finally {
      await connection.close();
    }
  } finally {
    await capture.stop();
  }
  print(
    `Everything was as it must be, in ${((performance.now() - began) / 1000).toFixed(1)} s. Study ` +
      `${stage.study.code} stays: look around with the addresses above.`,
  );
}

/** Console addresses of the participant and, if still open, the approval. */
function inTheConsole({ place: { run }, approver, study }: Stage, participantId: string, request?: string): string {
  if (run.console === null) return 'The console is switched off (ENABLE_CONSOLE).\n';
  const lines = [`The participant in the console: ${run.console}/participants/${participantId}`];
  if (request !== undefined)
    lines.push(
      `The approval that waits:        ${run.console}/approvals/${request}`,
      ...(run.mail_ui === null ? [] : [`Its mail to the approver:       ${run.mail_ui}/`]),
      `Log in as ${approver.email}, password ${approver.password} (an account of study ${study.code} alone).`,
    );
  return `${lines.join('\n')}\n`;
}

async function connect(address: string, settings: Settings): Promise<Connection> {
  try {
    return await Connection.connect({ address, ...temporalTls(settings), connectTimeout: '5s' });
  } catch (fault) {
    throw new DemoFault(`Temporal does not answer at ${address} (${(fault as Error).message}).`, { cause: fault });
  }
}

const { 'keep-open': keepsOpen } = optionsOf('npm run demo [-- --keep-open]   (DATA_DIR names the running service)', {
  'keep-open': { type: 'boolean', default: false },
});

try {
  await demo(keepsOpen);
  process.exitCode = 0;
} catch (fault) {
  // A problem that a person can fix is one sentence; anything else shows its place.
  const cause =
    fault instanceof DemoFault
      ? fault.message
      : fault instanceof Error
        ? (fault.stack ?? fault.message)
        : String(fault);
  process.stderr.write(`${cause}\n`);
  process.exitCode = 1;
}
