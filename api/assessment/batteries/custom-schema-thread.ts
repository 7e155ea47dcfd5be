/** The thread that checks settings by a study's own schema, which may have it compile or compare for long. */
import '../../../db/client/process/traces.js';
import { parentPort, workerData } from 'node:worker_threads';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ErrorObject } from 'ajv/dist/2020.js';
import type { CustomSchemaAnswer, CustomSchemaQuestion, SettingsFault } from './custom-schema.js';

const MAX_FAULTS = 20;

function answerOf({ schema, settings }: CustomSchemaQuestion): CustomSchemaAnswer {
  let validate;
  try {
    validate = new Ajv2020({ allErrors: true, strict: false }).compile(schema);
  } catch (fault) {
    return { unusable: String(fault) };
  }
  return {
    faults: settings.map((one) => (validate(one) ? [] : (validate.errors ?? []).slice(0, MAX_FAULTS).map(faultOf))),
  };
}

const faultOf = ({ instancePath, message, params }: ErrorObject): SettingsFault => ({
  instancePath,
  message,
  missing: (params as { missingProperty?: string }).missingProperty,
});

parentPort!.postMessage(answerOf(workerData as CustomSchemaQuestion));
