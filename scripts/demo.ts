/**
 * `npm run demo`: the main job against the running service, step by step, each with the address where it can be seen.
 * Each run makes a study of its own. Exit code 1, with the step named, when anything is not as it must be.
 */
import { Connection } from '@temporalio/client';
import { readSettings } from '../settings.js';
import { enroll } from './demo/enroll.js';
import { override } from './demo/override.js';
import { findService } from './demo/place.js';
import { prepare } from './demo/prepare.js';
import { prove } from './demo/proof.js';
import { results } from './demo/results.js';
import { DemoFault, Telling } from './demo/telling.js';

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

async function demo(): Promise<void> {
  const began = performance.now();
  const place = findService(readSettings());
  print(
    'From a data-entry trigger to a final enrollment date, an approved override, a new schedule and pushed results.\n',
  );
  const telling = new Telling(print);
  const { stage, capture } = await prepare(telling, place);
  try {
    const connection = await connect(place.run.temporal);
    try {
      const enrolled = await enroll(telling, stage, capture, connection);
      await override(telling, stage, enrolled);
      await results(telling, stage, enrolled, capture);
      print(`${await prove(telling, stage, enrolled)}\n`);
    } finally {
      await connection.close();
    }
  } finally {
    await capture.stop();
  }
  print(
    `Everything was as it must be, in ${((performance.now() - began) / 1000).toFixed(1)} s. Study ${stage.study.code} stays: look around with the addresses above.`,
  );
}

async function connect(address: string): Promise<Connection> {
  try {
    return await Connection.connect({ address, connectTimeout: '5s' });
  } catch (fault) {
    throw new DemoFault(`Temporal does not answer at ${address} (${(fault as Error).message}).`, { cause: fault });
  }
}

try {
  await demo();
  process.exitCode = 0;
} catch (fault) {
  // What a person can act on is one sentence; anything else shows where it broke.
  const cause =
    fault instanceof DemoFault
      ? fault.message
      : fault instanceof Error
        ? (fault.stack ?? fault.message)
        : String(fault);
  process.stderr.write(`${cause}\n`);
  process.exitCode = 1;
}
