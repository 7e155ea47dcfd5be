import { configValue } from '../../../db/studies/study-config.queries.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { TASKS, taskDefinition } from '../../../workflows/domain/assessment/tasks.js';
import type { TaskName } from '../../../workflows/domain/assessment/tasks.js';
import { invalid, invalidFields, problem } from '../../http/errors.js';
import type { FaultEntry } from '../../http/errors.js';
import type { Tx } from '../../../db/client/database.js';

const ajv = new Ajv2020({ allErrors: true, strict: false });
const compiled = new Map<string, ValidateFunction>();
const MAX_SCHEMA_CHARACTERS = 50_000;
/** A study's schema runs in this process: keywords that could block it for long, or load other schemas, are refused. */
const REFUSED = ['pattern', 'patternProperties', '$dynamicRef', '$recursiveRef', '$id', '$async'];

/**
 * Merges a module's settings over its task's defaults, for storing.
 * @param path of the settings in the request, for the error
 * @throws 422 with each fault by its field; 400 CUSTOM_SCHEMA_INVALID when the study's own schema is invalid
 */
export async function acceptSettings(
  tx: Tx,
  studyId: string,
  task: TaskName,
  input: Record<string, unknown>,
  path: string,
): Promise<Record<string, unknown>> {
  const settings = { ...TASKS[task].defaults, ...input };
  report(validatorOf(task), settings, path);
  if (task === 'custom') {
    const schema = await customSchema(tx, studyId);
    if (schema) report(compileOwn(schema), settings, path);
  }
  if (JSON.stringify(settings).length > MAX_SCHEMA_CHARACTERS)
    throw invalid(path, 'TOO_LARGE', 'is too large for settings');
  return settings;
}

function validatorOf(task: TaskName): ValidateFunction {
  let validate = compiled.get(task);
  if (!validate) compiled.set(task, (validate = ajv.compile(taskDefinition(task).settings as object)));
  return validate;
}

function report(validate: ValidateFunction, settings: unknown, path: string): void {
  if (validate(settings)) return;
  const errors: FaultEntry[] = (validate.errors ?? []).slice(0, 20).map((error) => ({
    path: fieldOf(error, path),
    code: 'SETTINGS',
    message: `${fieldOf(error, path)} ${error.message ?? 'is not valid'}`,
  }));
  throw invalidFields(errors);
}

function fieldOf(error: ErrorObject, path: string): string {
  const missing = (error.params as { missingProperty?: unknown }).missingProperty;
  return [path, ...error.instancePath.split('/').slice(1), ...(typeof missing === 'string' ? [missing] : [])].join('.');
}

/** The study's own schema of custom tasks: `config.custom_task_schema`. */
async function customSchema(tx: Tx, studyId: string): Promise<object | undefined> {
  return ((await configValue(tx, studyId, 'custom_task_schema')) as object | null) ?? undefined;
}

/** Not cached: a study may change its schema, and such modules are few. */
function compileOwn(schema: object): ValidateFunction {
  const refuse = (why: string, cause?: unknown) =>
    problem('CUSTOM_SCHEMA_INVALID', { detail: `config.custom_task_schema of the study ${why}.`, cause });
  const text = JSON.stringify(schema);
  if (text.length > MAX_SCHEMA_CHARACTERS) throw refuse(`is longer than ${MAX_SCHEMA_CHARACTERS} characters`);
  const used = REFUSED.find((word) => text.includes(`"${word}":`));
  if (used) throw refuse(`uses ${used}, which is not offered`);
  if (/"\$ref":"(?!#)/.test(text)) throw refuse('refers to another document');
  try {
    return new Ajv2020({ allErrors: true, strict: false }).compile(schema);
  } catch (fault) {
    throw refuse('is not a JSON Schema', fault);
  }
}
