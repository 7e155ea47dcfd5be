import { h } from 'preact';
import { differences } from '../../assessment/batteries/authoring-diff.js';
import { configNotFound, saveConfig, configVersion } from '../../capture/datacapture.service.js';
import { unknownNames } from '../../capture/unknown-names.service.js';
import { inStudy } from '../../http/access.js';
import type { DatacaptureConfigRow } from '../../../db/capture/datacapture-configs.queries.js';
import type { Problem } from '../../http/errors.js';
import { assertFormVersion, versionOf } from '../routing/form-version.js';
import { consoleForm, consolePage } from '../routing/page.js';
import { redirect } from '../routing/render.js';
import { readJson } from '../studies/edit/edit.js';
import { configurerRoles, loadMapping } from './capture.service.js';
import type { MappingView } from './capture.service.js';
import { changeTo, draftOf, draftOfJson, mergedDraft, rowsOf, storedMapping, typedRows } from './mapping-form.js';
import type { MappingDraft } from './mapping-form.js';
import { MappingEditPage } from './mapping-edit.page.js';
import type { MappingEdit } from './mapping-edit.page.js';

const path = '/console/capture/{study_id}/mapping/edit';
const configurer = inStudy(...configurerRoles);
/** Empty rows of each kind, and how many the button adds. */
const EMPTY = 2;
const MORE = 5;

const firstEdit = (config: DatacaptureConfigRow): MappingEdit => {
  const stored = storedMapping(config);
  return { rows: rowsOf(stored), version: versionOf(configVersion(config)), seen: stored, more: EMPTY };
};

/** The typed form, with its original initial values. */
function typedEdit(config: DatacaptureConfigRow, form: URLSearchParams, more: Partial<MappingEdit> = {}): MappingEdit {
  const first = firstEdit(config);
  const json = form.get('json') ?? undefined;
  const isStale = more.fault?.code === 'STALE';
  const seen = (readJson(form.get('seen') ?? '') as Required<MappingDraft> | undefined) ?? first.seen;
  const isTyped = json === undefined;
  return {
    rows: !isTyped ? first.rows : isStale ? rowsOf(overtaken(form, seen, first.seen)) : typedRows(form),
    ...(json !== undefined && { json: json.replaceAll('\r\n', '\n') }),
    more: EMPTY,
    version: isStale ? first.version : (form.get('version') ?? first.version),
    seen: isStale ? first.seen : seen,
    changed: isStale ? differences(seen, first.seen) : undefined,
    ...more,
  };
}

/**
 * The typed rows, with what somebody else has changed of those that were left alone. A mapping is compared with the
 * stored one only after its rows have been accepted.
 */
const overtaken = (form: URLSearchParams, seen: Required<MappingDraft>, now: Required<MappingDraft>) =>
  mergedDraft(draftOf(typedRows(form), seen), asRows(seen), asRows(now));
/** A stored mapping as its rows would be sent: with the usual windows. */
const asRows = (stored: Required<MappingDraft>) => draftOf(rowsOf(stored), stored);

const draftIn = (form: URLSearchParams, stored: Required<MappingDraft>): MappingDraft => {
  const json = form.get('json');
  return json === null ? draftOf(typedRows(form), stored) : draftOfJson(json);
};

const page = (view: MappingView, edit: MappingEdit | undefined, title: string, fault?: Problem) => ({
  title,
  content: h(MappingEditPage, { view, edit, fault, stored: view.config && storedMapping(view.config) }),
});

export const mappingEditPages = [
  consolePage({
    path,
    summary: 'Show the mapping of the capture system as a form',
    access: configurer,
    transaction: 'read',
    view: async ({ tx, params, ui }) => {
      const view = await loadMapping(tx, params.study_id.toLowerCase());
      return page(view, view.config && firstEdit(view.config), ui.words.mapping.title);
    },
  }),
  consoleForm({
    path,
    summary: 'Compare a mapping with the capture system before it is saved, or save it',
    access: configurer,
    submit: async ({ services, actor, context, params, form, read, ui }) => {
      const studyId = params.study_id.toLowerCase();
      const view = await read((tx) => loadMapping(tx, studyId));
      if (!view.config) throw configNotFound();
      if (form.get('do') === 'more')
        return page(view, typedEdit(view.config, form, { more: MORE }), ui.words.mapping.title);
      const stored = storedMapping(view.config);
      const change = changeTo(draftIn(form, stored), stored);
      if (form.get('do') !== 'save') {
        const warnings = await unknownNames({ services, studyId }, change);
        return page(view, typedEdit(view.config, form, { warnings }), ui.words.mapping.title);
      }
      const strict = form.get('anyway') === null;
      const assertIfMatch = (record: object | undefined) => assertFormVersion(form)(record ?? {});
      await saveConfig({ services, actor, context, studyId, strict, assertIfMatch }, change);
      return redirect(`/console/capture/${studyId}/mapping?said=saved`);
    },
    again: async ({ read, params, form, fault, ui }) => {
      const view = await read((tx) => loadMapping(tx, params.study_id.toLowerCase()));
      return page(view, view.config && typedEdit(view.config, form, { fault }), ui.words.mapping.title, fault);
    },
  }),
];
