import { readFileSync, readdirSync } from 'node:fs';
import type { Static } from 'typebox';
import {
  deleteTemplate,
  insertTemplate,
  savedTemplate,
  savedTemplateSummaries,
  settingsBytes,
  studyDesign,
} from '../../db/templates/templates.queries.js';
import type { SavedTemplate, SavedTemplateSummary } from '../../db/templates/templates.queries.js';
import { problem } from '../http/errors.js';
import { mapConstraintErrors } from '../http/to-problem.js';
import { auditActor } from '../http/audit-actor.js';
import { TemplateFile } from './templates.schemas.js';
import type { Design, SaveTemplate } from './templates.schemas.js';
import { check } from '../http/validation/validation.js';
import { CAPTURE_DEFAULTS } from '../capture/capture-defaults.js';
import { getStudyOrThrow as existingStudy } from '../studies/studies.service.js';
import type { RequestScope } from '../http/state.js';
import type { Tx } from '../../db/client/database.js';

export type StudyTemplate = Static<typeof TemplateFile> & { source: 'built_in' | 'study'; study_id: string | null };
const FOLDER = new URL('../templates/', import.meta.url);

let files: readonly StudyTemplate[] | undefined;

/**
 * The built-in templates, by id, read once.
 * @throws Error naming an invalid file
 */
export function builtInTemplates(): readonly StudyTemplate[] {
  return (files ??= readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => {
      const content: unknown = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'));
      try {
        check(TemplateFile, content, 'body');
      } catch (fault) {
        throw new Error(`api/templates/${name} is no template: ${(fault as Error).message}`, { cause: fault });
      }
      return { ...(content as Static<typeof TemplateFile>), source: 'built_in' as const, study_id: null };
    }));
}

const ofSaved = ({ id, study_id, name, category, description, content }: SavedTemplate): StudyTemplate => ({
  id,
  name,
  category,
  description,
  ...(content as Static<typeof Design>),
  source: 'study',
  study_id,
});

export type TemplateSummary = Omit<SavedTemplateSummary, 'study_id'> & Pick<StudyTemplate, 'source' | 'study_id'>;

/** All templates visible to the caller: built-in ones and those saved from their studies. */
export const templates = async (tx: Tx): Promise<TemplateSummary[]> => [
  ...builtInTemplates().map(summaryOf),
  ...(await savedTemplateSummaries(tx)).map((saved) => ({ ...saved, source: 'study' as const })),
];

/** @throws 404 */
export async function template(tx: Tx, id: string): Promise<StudyTemplate> {
  const known = builtInTemplates().find((one) => one.id === id);
  const saved = known ? undefined : await savedTemplate(tx, id);
  if (!known && !saved) throw problem('NOT_FOUND', { detail: 'There is no such template.' });
  return known ?? ofSaved(saved!);
}

function summaryOf({
  id,
  name,
  category,
  description,
  languages,
  source,
  study_id,
  batteries,
  visit_windows,
  event_definitions,
}: StudyTemplate): TemplateSummary {
  const days = [...visit_windows, ...event_definitions].map(({ target_day }) => target_day);
  return {
    id,
    name,
    category,
    description,
    languages,
    source,
    study_id,
    batteries: batteries.length,
    visit_windows: visit_windows.length,
    duration_days: days.length === 0 ? 0 : Math.max(...days) - Math.min(...days),
  };
}

/** Categories with how many templates each has, by name. */
export function categoriesOf(list: readonly { category: string }[]) {
  const counts = new Map<string, number>();
  for (const { category } of list) counts.set(category, (counts.get(category) ?? 0) + 1);
  return [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([category, count]) => ({ category, name: capital(category.replaceAll('-', ' ')), templates: count }));
}
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

/** A template is read, previewed and applied whole: its batteries have as much as one of them may have in a body. */
const MAX_SETTINGS_BYTES = 5 * 1024 * 1024;

/** Saves a study's present design under a new name. @throws 404, 409 TEMPLATE_ID_TAKEN, 413 for long batteries */
export async function saveTemplate(
  { tx, audit, actor, context }: RequestScope,
  studyId: string,
  input: Static<typeof SaveTemplate>,
): Promise<StudyTemplate & { created_at: string }> {
  const study = await existingStudy(tx, studyId);
  if (builtInTemplates().some(({ id }) => id === input.template_id)) throw problem('TEMPLATE_ID_TAKEN');
  if ((await settingsBytes(tx, studyId)) > MAX_SETTINGS_BYTES)
    throw problem('TOO_LARGE', {
      detail: `The settings of the study's batteries have more than ${MAX_SETTINGS_BYTES} bytes, a template's maximum.`,
    });
  const { description, timezone, consent_mode } = study;
  const { template_id: _made, [CAPTURE_DEFAULTS]: _mappings, ...config } = study.config;
  const notifications = config.notifications as { languages?: object } | undefined;
  const content: Static<typeof Design> = {
    languages: Object.keys(notifications?.languages ?? {}),
    study: { description, timezone, consent_mode, config },
    ...((await studyDesign(tx, studyId)) as Pick<
      Static<typeof Design>,
      'batteries' | 'visit_windows' | 'event_definitions' | 'holiday_calendars' | 'capture'
    >),
  };
  const { template_id: id, name, category = 'own', description: about = '' } = input;
  await mapConstraintErrors({ study_templates_pkey: 'TEMPLATE_ID_TAKEN' }, () =>
    insertTemplate(tx, { id, study_id: studyId, name, category, description: about, content, created_by_id: actor.id }),
  );
  audit.record({
    ...auditActor(actor, context),
    study_id: studyId,
    action: 'template_saved',
    resource_type: 'template',
    resource_id: id,
    metadata: { batteries: content.batteries.length, visit_windows: content.visit_windows.length },
  });
  const saved = await savedTemplate(tx, id);
  return { ...ofSaved(saved!), created_at: saved!.created_at };
}

/** Removes a saved template. @throws 404 also for a built-in one: only saved ones are records */
export async function removeTemplate(
  { tx, audit, actor, context }: RequestScope,
  id: string,
  assertIfMatch: (record: Record<string, unknown>) => void,
): Promise<void> {
  const saved = await savedTemplate(tx, id);
  if (!saved) throw problem('NOT_FOUND', { detail: 'There is no such saved template.' });
  assertIfMatch({ ...ofSaved(saved) });
  await deleteTemplate(tx, id);
  audit.record({
    ...auditActor(actor, context),
    study_id: saved.study_id,
    action: 'template_deleted',
    resource_type: 'template',
    resource_id: id,
  });
}
