import { columnsOf } from './dictionary.js';
import { eventOf, instrumentRepeats } from './design.js';
import { ApiError, countAnswer, idsAnswer, isFormat, parseImportData, textAnswer, type Answer } from './formats.js';
import { LOCKED_RECORD, planImport } from './import.js';
import type { Journal } from './journal.js';
import type { Params } from './params.js';
import type { CaptureProject } from './project.js';
import type { CaptureUser, WriteEntry } from './types.js';
import type { DateFormat } from './validation.js';

/** Where a change is written down; `callId` is null where no API call made it. */
export interface WriteContext {
  journal: Journal;
  callId: number | null;
  via: WriteEntry['via'];
}

function choice<T extends string>(params: Params, name: string, allowed: readonly T[], fallback: T): T {
  const value = params.text(name) || fallback;
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw new ApiError(400, `The value of the parameter "${name}" is not valid`);
  return found;
}

/** `content=record` with `data`: all of it is written, or nothing. Answers what `returnContent` asks for. */
export function importRecords(
  project: CaptureProject,
  params: Params,
  user: CaptureUser,
  context: WriteContext,
): { answer: Answer; records: string[] } {
  const format = params.format();
  const returnContent = choice(params, 'returnContent', ['count', 'ids', 'auto_ids', 'nothing'] as const, 'count');
  const forceAutoNumber = params.flag('forceAutoNumber');
  if (returnContent === 'auto_ids' && !forceAutoNumber)
    throw new ApiError(400, 'The value "auto_ids" of the parameter "returnContent" needs forceAutoNumber to be true');
  const plan = planImport(project, user, parseImportData(params.text('data') ?? '', format, params.delimiter()), {
    type: choice(params, 'type', ['flat', 'eav'] as const, 'flat'),
    overwrite: choice(params, 'overwriteBehavior', ['normal', 'overwrite'] as const, 'normal') === 'overwrite',
    dateFormat: choice<DateFormat>(params, 'dateFormat', ['YMD', 'MDY', 'DMY'], 'YMD'),
    forceAutoNumber,
  });
  for (const write of plan.writes) {
    const changed = project.store.write(write.record, write.key, write.values);
    if (write.group !== undefined) project.store.setGroup(write.record, write.group);
    context.journal.addWrite({
      at: new Date().toISOString(),
      project_id: project.design.project_id,
      via: context.via,
      call_id: context.callId,
      record: write.record,
      event: write.key.event,
      repeat_instrument: write.key.repeatInstrument,
      repeat_instance: write.key.instance,
      fields: [...write.values.keys()],
      changed,
    });
  }
  const ids = [...plan.records.keys()];
  const answerFormat = isFormat(params.text('returnFormat')) ? params.answerFormat() : format;
  const answer = {
    count: () => countAnswer(ids.length, answerFormat),
    ids: () => idsAnswer(ids, answerFormat),
    auto_ids: () =>
      idsAnswer(
        [...plan.records].map(([id, provided]) => `${id},${provided}`),
        answerFormat,
      ),
    nothing: () => textAnswer(''),
  }[returnContent]();
  return { answer, records: ids };
}

/**
 * `content=record&action=delete`: whole records, or their part at an event, instrument or repeat. Answers a bare count.
 */
export function deleteRecords(
  project: CaptureProject,
  params: Params,
  context: WriteContext,
): { answer: Answer; records: string[] } {
  const { design, store } = project;
  const records = params.list('records');
  if (!records) throw new ApiError(400, 'The parameter "records" is missing');
  const unknown = records.filter((id) => !store.has(id));
  if (unknown.length > 0)
    throw new ApiError(
      400,
      'One or more of the records provided cannot be deleted because they do not exist in the project. The ' +
        `following records do not exist: ${unknown.join(', ')}`,
    );
  const locked = records.filter((id) => (store.get(id)?.locks.size ?? 0) > 0);
  if (locked.length > 0)
    throw new ApiError(400, `${LOCKED_RECORD} The following records are locked: ${locked.join(', ')}`);
  const event = params.text('event') ?? '';
  const instrument = params.text('instrument') ?? '';
  const instance = params.text('repeat_instance') ?? '';
  const arm = params.text('arm') ?? '';
  if (event !== '' && !eventOf(design, event))
    throw new ApiError(400, `The following values in the parameter "event" are not valid: '${event}'`);
  if (instrument !== '' && !design.instruments.some((form) => form.name === instrument))
    throw new ApiError(400, `The following values in the parameter "instrument" are not valid: '${instrument}'`);
  const columns =
    instrument === ''
      ? []
      : [
          ...design.fields
            .filter((field) => field.form_name === instrument && field.field_name !== project.key)
            .flatMap((field) => columnsOf(field, design.missing_data_codes).map(({ column }) => column)),
          `${instrument}_complete`,
          `${instrument}_timestamp`,
        ];
  for (const id of new Set(records)) {
    if (event === '' && instrument === '' && instance === '' && arm === '') store.delete(id);
    else {
      store.deletePart(
        id,
        (row) =>
          (event === '' || row.event === event) &&
          (arm === '' || eventOf(design, row.event)?.arm_num === Number(arm)) &&
          (instrument === '' ||
            row.repeatInstrument === (instrumentRepeats(design, row.event, instrument) ? instrument : '')) &&
          (instance === '' || row.instance === Number(instance)),
        columns,
      );
    }
    context.journal.addWrite({
      at: new Date().toISOString(),
      project_id: design.project_id,
      via: 'delete',
      call_id: context.callId,
      record: id,
      event,
      repeat_instrument: instrument,
      repeat_instance: Number(instance || 0),
      fields: columns,
      changed: true,
    });
  }
  return { answer: textAnswer(String(new Set(records).size)), records };
}
