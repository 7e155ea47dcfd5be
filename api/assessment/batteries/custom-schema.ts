import { startThread } from '../../../db/client/start-thread.js';
import { problem } from '../../http/errors.js';
import { ConcurrencyLimiter } from '../../util/concurrency-limiter.js';

export interface CustomSchemaQuestion {
  schema: object;
  /** Of several modules. */
  settings: readonly unknown[];
}
export type CustomSchemaAnswer = { unusable: string } | { faults: SettingsFault[][] };
/** A fault of settings, as a JSON Schema tells it. */
export interface SettingsFault {
  instancePath: string;
  message: string | undefined;
  missing: string | undefined;
}

const MAX_SCHEMA_CHARACTERS = 50_000;
/** A schema of the longest length takes a second. */
const LIMIT_MS = 5_000;
const MEMORY = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 8 };
const turns = new ConcurrencyLimiter(2);
/** Keywords that load other schemas, or match a pattern, are refused: what they mean is not seen in the schema. */
const REFUSED = ['pattern', 'patternProperties', '$dynamicRef', '$recursiveRef', '$id', '$async'];

const refuse = (why: string, cause?: unknown) =>
  problem('CUSTOM_SCHEMA_INVALID', { detail: `config.custom_task_schema of the study ${why}.`, cause });

/**
 * The faults of each module's settings by a study's own schema. A schema may refer to itself without end, or compare
 * each item with each other one: it runs in a thread, for seconds at most.
 * @throws 400 CUSTOM_SCHEMA_INVALID
 */
export async function customSchemaFaults(schema: object, settings: readonly unknown[]): Promise<SettingsFault[][]> {
  requireUsable(schema);
  const answer = await turns.run(() => inThread({ schema, settings }));
  if ('unusable' in answer) throw refuse('is not a JSON Schema', new Error(answer.unusable));
  return answer.faults;
}

function requireUsable(schema: object): void {
  const text = JSON.stringify(schema);
  if (text.length > MAX_SCHEMA_CHARACTERS) throw refuse(`is longer than ${MAX_SCHEMA_CHARACTERS} characters`);
  const used = REFUSED.find((word) => text.includes(`"${word}":`));
  if (used) throw refuse(`uses ${used}, which is not offered`);
  if (/"\$ref":"(?!#)/.test(text)) throw refuse('refers to another document');
}

async function inThread(question: CustomSchemaQuestion): Promise<CustomSchemaAnswer> {
  const thread = startThread('./custom-schema-thread', import.meta.url, {
    workerData: question,
    resourceLimits: MEMORY,
  });
  let late: NodeJS.Timeout | undefined;
  try {
    return await new Promise<CustomSchemaAnswer>((resolve, reject) => {
      late = setTimeout(() => {
        reject(refuse(`takes longer than ${LIMIT_MS / 1000} seconds to check settings`));
      }, LIMIT_MS);
      thread.on('message', resolve);
      thread.on('messageerror', reject);
      thread.on('error', (fault) => {
        reject(refuse('cannot be carried out', fault));
      });
      thread.on('exit', (code) => {
        reject(refuse('cannot be carried out', new Error(`the thread ended with code ${code}`)));
      });
    });
  } finally {
    clearTimeout(late);
    await thread.terminate();
  }
}
