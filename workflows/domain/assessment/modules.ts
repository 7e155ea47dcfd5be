import { isTask } from './tasks.js';

interface ModuleList {
  tasks: readonly string[];
  names: readonly string[];
  ids: readonly string[];
}
/**
 * The tasks of a session's battery, module by module in order; null: the session has no battery. `others`: modules that
 * other versions of the battery have: a device that was offline may have used one of these, and need not say which.
 */
export interface KnownModules extends ModuleList {
  others?: ModuleList;
}

/**
 * Whether a task is in the registry, or a module of the battery by its task or name (a study's own task has its
 * module's name).
 */
export const isKnownTask = (task: string, modules: KnownModules | null): boolean =>
  isTask(task) || [modules, modules?.others].some((list) => list?.tasks.includes(task) || list?.names.includes(task));

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

/**
 * The name under which a module's results are stored, and the task whose rules apply. If the task is in one module
 * only, that is the task as sent, else the module's name or, if that is not unique, the task with a number.
 */
export function modulePath(
  sent: { task: string; module_id: string },
  modules: KnownModules | null,
): { task: string; kind: string } | ModuleFault {
  const id = sent.module_id.toLowerCase();
  const list = [modules, modules?.others].find((one) => one?.ids.includes(id));
  if (!modules || !list) return { code: 'UNKNOWN_MODULE', message: 'the session’s battery has no such module' };
  const at = list.ids.indexOf(id);
  const [kind, name] = [list.tasks[at]!, list.names[at]!];
  const task = spelledTask(sent.task, modules);
  if (task !== kind && task !== name)
    return {
      code: 'TASK_OF_OTHER_MODULE',
      message: `the module is of the task ${kind}, the results are of ${sent.task}`,
    };
  if (list !== modules || modulesWith(kind, modules) === 1) return { task, kind };
  const telling =
    modules.names.filter((one) => one === name).length === 1 && !isTask(name) && name.length <= MAX_LENGTH;
  const number = modules.tasks.slice(0, at + 1).filter((one) => one === kind).length;
  return { task: telling ? name : `${kind}#${number}`, kind };
}
