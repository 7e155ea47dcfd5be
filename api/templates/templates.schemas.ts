import { taskNames } from '../../workflows/domain/assessment/tasks.js';
import {
  nameText,
  Code,
  Instant,
  Json,
  Language,
  Type,
  Uuid,
  nullable,
  oneOf,
  text,
  named,
  record,
  input,
  extended,
  TextMap,
  Rows,
} from '../http/common.schemas.js';

const Slug = Type.String({ pattern: '^[a-z0-9]+(-[a-z0-9]+)*$', maxLength: 100 });
const Day = Type.Integer({ minimum: -36_500, maximum: 36_500 });
const Days = Type.Integer({ minimum: 0, maximum: 3_650 });
const Event = nullable(text(200, 1));
const Battery = nullable(Code);
const closed = { additionalProperties: false };

const planned = {
  name: text(300, 1),
  battery: Battery,
  target_day: Day,
  window_before: Days,
  window_after: Days,
  is_baseline: Type.Boolean(),
  datacapture_event: Event,
  sort_order: Type.Integer(),
};
const Module = named(
  'TemplateModule',
  Type.Object(
    {
      task: oneOf(...taskNames),
      name: Type.Optional(text(300, 1)),
      settings: Type.Optional(Json),
      required: Type.Optional(Type.Boolean()),
      estimated_minutes: Type.Optional(Type.Number({ minimum: 0, maximum: 1_000 })),
    },
    closed,
  ),
);

/** The design: the parts of a study, without ids; batteries are named by their codes. */
export const Design = named(
  'StudyDesign',
  Type.Object(
    {
      languages: Type.Array(Language, { description: 'of the texts for participants' }),
      study: Type.Object(
        {
          description: Type.Optional(nullable(text(10_000))),
          timezone: Type.Optional(Type.String()),
          consent_mode: oneOf('none', 'external', 'econsent'),
          config: Json,
        },
        closed,
      ),
      batteries: Type.Array(
        Type.Object(
          {
            code: Code,
            name: text(300, 1),
            description: Type.Optional(nullable(text(10_000))),
            modules: Type.Array(Module, { maxItems: 100 }),
          },
          closed,
        ),
      ),
      visit_windows: Type.Array(Type.Object({ code: Code, ...planned }, closed)),
      event_definitions: Type.Array(
        Type.Object(
          {
            event_oid: text(200, 1),
            ...planned,
            repeating: nullable(
              Type.Object(
                {
                  count: Type.Integer({ minimum: 1, maximum: 366 }),
                  every_days: Type.Integer({ minimum: 1, maximum: 3_650 }),
                },
                closed,
              ),
            ),
          },
          closed,
        ),
      ),
      holiday_calendars: Type.Optional(Rows),
      capture: nullable(
        named(
          'TemplateCapture',
          Type.Object(
            {
              enrollment_instrument: nullable(text(200)),
              enrollment_event: nullable(text(4_000)),
              participant_field_mapping: TextMap,
              event_battery_mapping: Type.Record(
                Type.String(),
                Type.Object({ battery: Battery, target_day: Day, window_before: Days, window_after: Days }, closed),
              ),
              data_field_mapping: Json,
            },
            closed,
          ),
        ),
      ),
    },
    closed,
  ),
);

const about = { id: Slug, name: text(300, 1), category: Slug, description: text(10_000) };
/** A template file of api/templates. */
export const TemplateFile = Type.Object({ ...about, ...Design.properties }, closed);

const source = { source: oneOf('built_in', 'study'), study_id: nullable(Uuid) };
export const TemplateSummary = record('TemplateSummary', {
  ...about,
  languages: Type.Array(Type.String()),
  ...source,
  batteries: Type.Integer(),
  visit_windows: Type.Integer(),
  duration_days: Type.Integer({ description: 'from the first to the last target day' }),
});
export const Template = record('Template', { ...about, ...Design.properties, ...source });
export const Category = record('TemplateCategory', {
  category: Type.String(),
  name: Type.String(),
  templates: Type.Integer(),
});

/** Everything that applying the template would create, with every default filled in. */
export const TemplatePreview = record('TemplatePreview', {
  template_id: Type.String(),
  study: Json,
  batteries: Type.Array(Json),
  visit_windows: Type.Array(Json),
  event_definitions: Type.Array(Json),
  holiday_calendars: Type.Optional(Rows),
  enrollment_date_policy: Json,
  notifications: nullable(Json),
  event_battery_mapping: Json,
  batteries_created: Type.Integer(),
  visit_windows_created: Type.Integer(),
});
export const ApplyQuery = Type.Object({
  study_code: { ...Code, description: 'of the new study' },
  study_name: Type.Optional({ ...nameText(300), description: 'default: the template’s name' }),
});
/** Interface, "Template application result". */
export const TemplateApplied = record('TemplateApplied', {
  study_id: Uuid,
  study_code: Type.String(),
  study_name: Type.String(),
  message: Type.String(),
  batteries_created: Type.Integer(),
  visit_windows_created: Type.Integer(),
});
export const SaveTemplate = input('TemplateSave', {
  template_id: Slug,
  name: nameText(300),
  category: Type.Optional(Slug),
  description: Type.Optional(text(10_000)),
});
export const TemplateSaved = extended('TemplateSaved', Template, { created_at: Instant });
