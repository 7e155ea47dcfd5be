import { h } from 'preact';
import { listBatteryOutlines } from '../../../../db/assessment/batteries.queries.js';
import type { BatteryRecord } from '../../../../db/assessment/batteries.queries.js';
import type { Tx } from '../../../../db/client/database.js';
import { BatteryChange, Duplicate, NewBattery } from '../../../assessment/batteries/batteries.schemas.js';
import {
  changeBattery,
  createBattery,
  duplicateBattery,
  removeBattery,
} from '../../../assessment/batteries/batteries.service.js';
import { inStudy, staff } from '../../../http/access.js';
import { Language, Type, oneOf } from '../../../http/common.schemas.js';
import { check } from '../../../http/validation/validation.js';
import { getStudyOrThrow } from '../../../studies/studies.service.js';
import { assertFormVersion } from '../../routing/form-version.js';
import { consoleForm, consolePage } from '../../routing/page.js';
import type { AgainInput } from '../../routing/page.js';
import { redirect } from '../../routing/render.js';
import type { View } from '../../routing/render.js';
import { editOf, orNull } from '../edit/edit.js';
import type { RefusedForm } from '../edit/edit.js';
import { BatteriesPage, BatteryPage, batteryNotices } from './batteries.page.js';
import type { BatteryNotice } from './batteries.page.js';
import { batteryOf, loadBattery } from './batteries.service.js';

const list = '/console/studies/{study_id}/batteries';
export const batteryPath = `${list}/{battery_id}` as const;
const MAX_LISTED = 1_000;
const said = Type.Optional(oneOf(...batteryNotices));

const newBattery = (sent?: RefusedForm) => editOf(undefined, { code: '', name: '' }, sent);
const batteryEdit = (battery: BatteryRecord, sent?: RefusedForm) =>
  editOf(battery, { code: battery.code, name: battery.name, description: battery.description ?? '' }, sent);

async function loadBatteries(tx: Tx, id: string) {
  const study = await getStudyOrThrow(tx, id.toLowerCase());
  const { items } = await listBatteryOutlines(tx, { studyId: study.id, skip: 0, limit: MAX_LISTED, sort: 'code' });
  return { study, batteries: items };
}

/** Redirects to a battery's page with the result. */
export const toBattery = ({ study_id, id }: BatteryRecord, notice: BatteryNotice) =>
  redirect(`/console/studies/${study_id}/batteries/${id}?said=${notice}`);

type Refused = Omit<AgainInput<string>, 'params'> & { params: { study_id: string; battery_id: string } };
/** The battery's page again, with the refusal. */
export const batteryAgain = ({ read, params, form, fault, ui }: Refused): Promise<View> =>
  read(async (tx) => {
    const view = await loadBattery(tx, params);
    // Only one of the page's forms has fields of the battery.
    const edit = form.has('name')
      ? batteryEdit(view.battery, { form, fault })
      : { ...batteryEdit(view.battery), fault };
    return { title: view.battery.name, content: h(BatteryPage, { view, edit, language: ui.language }) };
  });

export const batteryPages = [
  consolePage({
    path: list,
    summary: 'Show the batteries of a study',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({ said }),
    view: async ({ tx, params, query, ui }) => {
      const found = await loadBatteries(tx, params.study_id);
      const content = h(BatteriesPage, { ...found, edit: newBattery(), said: query.said });
      return { title: ui.words.studies.batteries, content };
    },
  }),
  consoleForm({
    path: list,
    summary: 'Create a battery as a draft in the console',
    access: staff.configure,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const given = {
        study_id: params.study_id.toLowerCase(),
        code: form.get('code')?.trim() ?? '',
        name: form.get('name')?.trim() ?? '',
      };
      check(NewBattery, given, 'body');
      return toBattery(await createBattery({ tx, audit, actor, context }, given.study_id, given), 'saved');
    },
    again: ({ read, params, form, fault, ui }) =>
      read(async (tx) => {
        const found = await loadBatteries(tx, params.study_id);
        const content = h(BatteriesPage, { ...found, edit: newBattery({ form, fault }) });
        return { title: ui.words.studies.batteries, content };
      }),
  }),
  consolePage({
    path: batteryPath,
    summary: 'Show a battery: its tasks, versions, and what a device is given',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({ said, language: Type.Optional(Language) }),
    view: async ({ tx, params, query, ui }) => {
      const view = await loadBattery(tx, params);
      const edit = batteryEdit(view.battery);
      const language = query.language ?? ui.language;
      return { title: view.battery.name, content: h(BatteryPage, { view, edit, said: query.said, language }) };
    },
  }),
  consoleForm({
    path: batteryPath,
    summary: 'Change code, name and description of a battery',
    access: staff.configure,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const text = (name: string) => form.get(name)?.replaceAll('\r\n', '\n').trim() ?? '';
      const given = {
        code: text('code'),
        name: text('name'),
        description: orNull(text('description'), text('description')),
      };
      check(BatteryChange, given, 'body');
      const { id } = await batteryOf(tx, params);
      return toBattery(await changeBattery({ tx, audit, actor, context }, id, given, assertFormVersion(form)), 'saved');
    },
    again: batteryAgain,
  }),
  consoleForm({
    path: `${batteryPath}/status`,
    summary: 'Publish or retire a battery',
    access: staff.configure,
    transaction: 'change',
    fields: Type.Object({ status: oneOf('published', 'retired') }),
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const { id } = await batteryOf(tx, params);
      const status = form.get('status') as 'published' | 'retired';
      return toBattery(
        await changeBattery({ tx, audit, actor, context }, id, { status }, assertFormVersion(form)),
        status,
      );
    },
    again: batteryAgain,
  }),
  consoleForm({
    path: `${batteryPath}/duplicate`,
    summary: 'Duplicate a battery as a draft in the console',
    access: staff.configure,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const { id, study_id } = await batteryOf(tx, params);
      const given = { study_id, code: form.get('copy_code')?.trim() ?? '' };
      check(Duplicate, given, 'body');
      return toBattery(await duplicateBattery({ tx, audit, actor, context }, id, given), 'copied');
    },
    again: ({ read, params, form, fault, ui }) =>
      read(async (tx) => {
        const view = await loadBattery(tx, params);
        const refusedCopy = { code: form.get('copy_code') ?? '', fault };
        const shown = { view, edit: batteryEdit(view.battery), language: ui.language, refusedCopy };
        return { title: view.battery.name, content: h(BatteryPage, shown) };
      }),
  }),
  consoleForm({
    path: `${batteryPath}/delete`,
    summary: 'Delete an unused battery in the console',
    access: staff.configure,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const { id, study_id } = await batteryOf(tx, params);
      await removeBattery({ tx, audit, actor, context }, id, assertFormVersion(form));
      return redirect(`/console/studies/${study_id}/batteries?said=removed`);
    },
    again: batteryAgain,
  }),
];
