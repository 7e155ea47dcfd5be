import { h } from 'preact';
import type { Tx } from '../../../../db/client/database.js';
import {
  addModule,
  changeModule,
  removeModule,
  reorderModules,
} from '../../../assessment/batteries/batteries-modules.service.js';
import { ModuleChange, NewModule } from '../../../assessment/batteries/batteries.schemas.js';
import type { TaskName } from '../../../../workflows/domain/assessment/tasks.js';
import { staff } from '../../../http/access.js';
import { Type, oneOf } from '../../../http/common.schemas.js';
import { check } from '../../../http/validation/validation.js';
import { getStudyOrThrow } from '../../../studies/studies.service.js';
import { assertFormVersion } from '../../routing/form-version.js';
import { consoleForm, consolePage } from '../../routing/page.js';
import { batteryAgain, batteryPath, toBattery } from './batteries.routes.js';
import { batteryOf, moduleEdit, moduleIn, moduleOf } from './batteries.service.js';
import { ModulePage } from './module.page.js';

const one = `${batteryPath}/modules/{module_id}` as const;

async function loadModule(tx: Tx, params: { study_id: string; battery_id: string; module_id: string }) {
  const battery = await batteryOf(tx, params);
  const study = await getStudyOrThrow(tx, battery.study_id);
  return { view: { study, battery }, module: moduleOf(battery, params.module_id) };
}

export const modulePages = [
  consoleForm({
    path: `${batteryPath}/modules`,
    summary: 'Add a task to a battery',
    access: staff.configure,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const battery = await batteryOf(tx, params, true);
      // The same form sent twice adds one task.
      assertFormVersion(form)(battery);
      const given = { task: (form.get('task') ?? '') as TaskName };
      check(NewModule, given, 'body');
      await addModule({ tx, audit, actor, context }, battery.id, given);
      return toBattery(battery, 'added');
    },
    again: batteryAgain,
  }),
  consolePage({
    path: one,
    summary: 'Show a task of a battery as a form',
    access: staff.configure,
    transaction: 'read',
    view: async ({ tx, params }) => {
      const { view, module } = await loadModule(tx, params);
      const content = h(ModulePage, { view, module, edit: moduleEdit(view.battery, module) });
      return { title: module.name, content };
    },
  }),
  consoleForm({
    path: one,
    summary: 'Change a task of a battery',
    access: staff.configure,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const battery = await batteryOf(tx, params);
      const given = moduleIn(form, moduleOf(battery, params.module_id));
      check(ModuleChange, given, 'body');
      await changeModule({ tx, audit, actor, context }, battery.id, params.module_id, given, assertFormVersion(form));
      return toBattery(battery, 'saved');
    },
    again: ({ read, params, form, fault }) =>
      read(async (tx) => {
        const { view, module } = await loadModule(tx, params);
        const content = h(ModulePage, { view, module, edit: moduleEdit(view.battery, module, { form, fault }) });
        return { title: module.name, content };
      }),
  }),
  consoleForm({
    path: `${one}/move`,
    summary: 'Move a task of a battery up or down',
    access: staff.configure,
    transaction: 'change',
    fields: Type.Object({ to: oneOf('up', 'down') }),
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const battery = await batteryOf(tx, params);
      const { id } = moduleOf(battery, params.module_id);
      const ids = battery.modules.map((module) => module.id);
      const from = ids.indexOf(id);
      const to = from + (form.get('to') === 'up' ? -1 : 1);
      ids.splice(from, 1);
      ids.splice(Math.max(0, to), 0, id);
      await reorderModules({ tx, audit, actor, context }, battery.id, ids, assertFormVersion(form));
      return toBattery(battery, 'saved');
    },
    again: batteryAgain,
  }),
  consoleForm({
    path: `${one}/remove`,
    summary: 'Take a task out of a battery',
    access: staff.configure,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const battery = await batteryOf(tx, params);
      await removeModule({ tx, audit, actor, context }, battery.id, params.module_id, assertFormVersion(form));
      return toBattery(battery, 'saved');
    },
    again: batteryAgain,
  }),
];
