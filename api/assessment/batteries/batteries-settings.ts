import { configValue } from '../../../db/studies/study-config.queries.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import { TASKS, taskDefinition } from '../../../workflows/domain/assessment/tasks.js';
import type { TaskName } from '../../../workflows/domain/assessment/tasks.js';
import { invalid, invalidFields } from '../../http/errors.js';
import type { FaultEntry } from '../../http/errors.js';
import { customSchemaFaults } from './custom-schema.js';
import type { SettingsFault } from './custom-schema.js';
import type { Tx } from '../../../db/client/database.js';

const ajv = new Ajv2020({ allErrors: true, strict: false });
const compiled = new Map<string, ValidateFunction>();
const MAX_SETTINGS_CHARACTERS = 50_000;

export interface TaskSettings {
  task: TaskName;
  settings: Record<string, unknown>;
  /** Of the settings in the request, for the error. */
  path: string;
}

/**
 * Merges the settings of each module over its task's defaults, for storing.
 * @throws 422 with each fault by its field; 400 CUSTOM_SCHEMA_INVALID when the study's own schema is invalid
 */
export async function acceptSettings(
  tx: Tx,
  studyId: string,
  modules: readonly TaskSettings[],
): Promise<Record<string, unknown>[]> {
  const merged = modules.map(({ task, settings, path }) => ({
    task,
    path,
    settings: { ...TASKS[task].defaults, ...settings },
  }));
  for (const { task, settings, path } of merged) {
    if (JSON.stringify(settings).length > MAX_SETTINGS_CHARACTERS)
      throw invalid(path, 'TOO_LARGE', 'is too large for settings');
    report(validatorOf(task), settings, path);
  }
  const custom = merged.filter(({ task }) => task === 'custom');
  const schema = custom.length > 0 ? await customSchema(tx, studyId) : undefined;
  if (schema) {
    const faults = await customSchemaFaults(
      schema,
      custom.map(({ settings }) => settings),
    );
    for (const [i, { path }] of custom.entries()) refuse(faults[i]!, path);
  }
  return merged.map(({ settings }) => settings);
}

function validatorOf(task: TaskName): ValidateFunction {
  let validate = compiled.get(task);
  if (!validate) compiled.set(task, (validate = ajv.compile(taskDefinition(task).settings as object)));
  return validate;
}

function report(validate: ValidateFunction, settings: unknown, path: string): void {
  if (validate(settings)) return;
  const faults = (validate.errors ?? []).slice(0, 20).map(({ instancePath, message, params }) => ({
    instancePath,
    message,
    missing: (params as { missingProperty?: string }).missingProperty,
  }));
  refuse(faults, path);
}

function refuse(faults: readonly SettingsFault[], path: string): void {
  if (faults.length === 0) return;
  const errors: FaultEntry[] = faults.map((fault) => ({
    path: fieldOf(fault, path),
    code: 'SETTINGS',
    message: `${fieldOf(fault, path)} ${fault.message ?? 'is not valid'}`,
  }));
  throw invalidFields(errors);
}

const fieldOf = ({ instancePath, missing }: SettingsFault, path: string): string =>
  [path, ...instancePath.split('/').slice(1), ...(missing === undefined ? [] : [missing])].join('.');

/** The study's own schema of custom tasks: `config.custom_task_schema`. */
async function customSchema(tx: Tx, studyId: string): Promise<object | undefined> {
  return ((await configValue(tx, studyId, 'custom_task_schema')) as object | null) ?? undefined;
}
