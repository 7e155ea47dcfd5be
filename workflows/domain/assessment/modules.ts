import { isTask } from './tasks.js';

interface ModuleList {
  tasks: readonly string[];
  names: readonly string[];
  ids: readonly string[];
}
/**
 * A module as another version of the battery has it, or another battery of the study: how many modules of its task that
 * one has, its number among these, and how many have its name.
 */
export interface OtherModule {
  id: string;
  task: string;
  name: string;
  alike: number;
  number: number;
  namesakes: number;
}
/**
 * The tasks of a session's battery, module by module in order; null: the session has no battery. `others`: a device
 * that was offline may have used another version of the battery, or another battery, and need not say which; the
 * nearest version comes first. `none`: the session has no battery, `others` are those of the study.
 */
export interface KnownModules extends ModuleList {
  others?: readonly OtherModule[];
  none?: true;
}

/**
 * Whether a task is in the registry, or a module of the battery by its task or name (a study's own task has its
 * module's name).
 */
export const isKnownTask = (task: string, modules: KnownModules | null): boolean =>
  isTask(task) ||
  modules?.tasks.includes(task) === true ||
  modules?.names.includes(task) === true ||
  modules?.others?.some((other) => isOfModule(task, other)) === true;

const isOfModule = (task: string, { task: kind, name }: { task: string; name: string }): boolean =>
  task === kind || task === name;

/** A task as the battery names it: letters with marks have two spellings, and an app may have the other one. */
export function spelledTask(task: string, modules: KnownModules | null): string {
  if (isKnownTask(task, modules)) return task;
  const composed = task.normalize('NFC');
  return isKnownTask(composed, modules) ? composed : task;
}

/** The number of the battery's modules with a task. */
export const modulesWith = (task: string, modules: KnownModules | null): number =>
  modules?.tasks.filter((one) => one === task).length ?? 0;

export interface ModuleFault {
  code: 'UNKNOWN_MODULE' | 'TASK_OF_OTHER_MODULE';
  message: string;
}

/** The longest name of a task. */
const MAX_LENGTH = 64;

/** A module in the forms that it has: that of the session's battery comes first. */
function formsOf(id: string, modules: KnownModules | null): readonly OtherModule[] {
  if (!modules) return [];
  const { tasks, names, ids, others = [] } = modules;
  const at = ids.indexOf(id);
  const former = others.filter((other) => other.id === id);
  if (at < 0) return former;
  const [task, name] = [tasks[at]!, names[at]!];
  const number = tasks.slice(0, at + 1).filter((one) => one === task).length;
  const namesakes = names.filter((one) => one === name).length;
  return [{ id, task, name, alike: modulesWith(task, modules), number, namesakes }, ...former];
}

/** Whether results are of a task, or of a module, that these modules have. */
export const arePlaced = (
  { task, module_id }: { task: string; module_id?: string | null },
  modules: KnownModules | null,
) =>
  module_id == null
    ? isKnownTask(spelledTask(task, modules), modules)
    : !('code' in modulePath({ task, module_id }, modules));

/**
 * The name under which a module's results are stored, and the task whose rules apply. If the task is in one module
 * only, that is the task as sent, else the module's name or, if that is not unique, the task with a number: as the
 * session's version of the battery has it or, if that lacks the module, as the version does that has it.
 */
export function modulePath(
  sent: { task: string; module_id: string },
  modules: KnownModules | null,
): { task: string; kind: string } | ModuleFault {
  const forms = formsOf(sent.module_id.toLowerCase(), modules);
  const [present] = forms;
  if (!present) return { code: 'UNKNOWN_MODULE', message: 'the session’s battery has no such module' };
  const task = spelledTask(sent.task, modules);
  const form = forms.find((one) => isOfModule(task, one));
  if (!form)
    return {
      code: 'TASK_OF_OTHER_MODULE',
      message: `the module is of the task ${present.task}, the results are of ${sent.task}`,
    };
  const { task: kind, name, alike, number, namesakes } = form.task === present.task ? present : form;
  if (alike === 1) return { task, kind };
  const telling = namesakes === 1 && !isTask(name) && name.length <= MAX_LENGTH;
  return { task: telling ? name : `${kind}#${number}`, kind };
}
