import { eventOf, eventRepeats, formInEvent, instrumentRepeats } from './design.js';
import { LOCKED_FORM, LOCKED_RECORD } from './import.js';
import type { CaptureProject } from './project.js';
import { InputError, type SaveRequest } from './schemas.js';
import type { RowKey } from './store.js';
import type { TriggerFacts } from './triggers.js';
import { checkValue } from './validation.js';

/** The row of an instrument's values at an event; throws InputError where there can be none. */
export function formPlace(
  project: CaptureProject,
  instrument: string,
  event: string | undefined,
  instance: number | undefined,
): RowKey {
  const { design } = project;
  if (!design.instruments.some((form) => form.name === instrument))
    throw new InputError(`The project has no instrument "${instrument}".`);
  const unique = design.longitudinal ? (event ?? design.events[0]?.unique_event_name ?? '') : '';
  if (design.longitudinal && !eventOf(design, unique)) throw new InputError(`The project has no event "${unique}".`);
  if (!formInEvent(design, unique, instrument))
    throw new InputError(`The instrument "${instrument}" is not designated for the event "${unique}".`);
  if (instrumentRepeats(design, unique, instrument))
    return { event: unique, repeatInstrument: instrument, instance: instance ?? 1 };
  return { event: unique, repeatInstrument: '', instance: eventRepeats(design, unique) ? (instance ?? 1) : 0 };
}

function checkedValues(project: CaptureProject, request: SaveRequest): Map<string, string> {
  const values = new Map([[`${request.instrument}_complete`, request.complete as string]]);
  for (const [name, value] of Object.entries(request.values)) {
    const column = project.columns.get(name);
    if (!column || column.field.form_name !== request.instrument || name === project.key) {
      throw new InputError(`The instrument "${request.instrument}" has no field "${name}" that can be saved.`);
    }
    const checked =
      value === '' ? { value } : checkValue(column.field, column.code, value, project.design.missing_data_codes, 'YMD');
    if ('error' in checked) throw new InputError(`${name}: ${checked.error}`);
    values.set(name, checked.value);
  }
  return values;
}

export interface SavedForm {
  facts: TriggerFacts;
  key: RowKey;
  fields: string[];
  changed: boolean;
}

/**
 * Saves one form as a person at a data entry page does: what the page shows is what is stored, blanks erase, the
 * form's status goes with it. Values that the request does not name stay.
 */
export function saveForm(project: CaptureProject, request: SaveRequest): SavedForm {
  const { design, store } = project;
  const record = request.record ?? (design.record_autonumbering ? store.nextNumber() : '');
  if (record === '') throw new InputError('The form needs a record name: this project does not number its records.');
  const key = formPlace(project, request.instrument, request.event, request.repeat_instance);
  const locks = store.get(record)?.locks;
  if (locks?.has('*')) throw new InputError(LOCKED_RECORD);
  if (locks?.has(`${key.event}|${request.instrument}`)) throw new InputError(LOCKED_FORM);
  if (
    request.data_access_group &&
    !design.groups.some((group) => group.unique_group_name === request.data_access_group)
  ) {
    throw new InputError(`The project has no data access group "${request.data_access_group}".`);
  }
  const values = checkedValues(project, request);
  const changed = store.write(record, key, values);
  if (request.data_access_group !== undefined) store.setGroup(record, request.data_access_group || null);
  const username = request.survey ? '[survey respondent]' : (request.username ?? design.users[0]?.username ?? '');
  return {
    facts: {
      record,
      instrument: request.instrument,
      event: key.event,
      complete: request.complete,
      repeatInstance: key.instance,
      username,
    },
    key,
    fields: [...values.keys()],
    changed,
  };
}
