import { isTask } from './tasks.js';

/** What a session's battery knows of tasks, module by module in their order; null: the session has no battery. */
export interface KnownModules {
  tasks: readonly string[];
  names: readonly string[];
  ids: readonly string[];
}

/** A task of the registry, or a module of the battery by its task or name (a study's own task is told by its name). */
export const isKnownTask = (task: string, modules: KnownModules | null): boolean =>
  isTask(task) || (modules !== null && (modules.tasks.includes(task) || modules.names.includes(task)));

/** In how many modules of the battery a task is. */
export const modulesWith = (task: string, modules: KnownModules | null): number =>
  modules?.tasks.filter((one) => one === task).length ?? 0;

export interface ModuleFault {
  code: 'UNKNOWN_MODULE' | 'TASK_OF_OTHER_MODULE';
  message: string;
}

/** The longest name of a task. */
const MAX_LENGTH = 64;

/**
 * Under what the results of a module are kept, and by the rules of which task. Where the task is in one module alone
 * that is the task as it was sent, else the module's name or, where that tells nothing apart, the task with its number.
 */
export function modulePath(
  sent: { task: string; module_id: string },
  modules: KnownModules | null,
): { task: string; kind: string } | ModuleFault {
  const at = modules?.ids.indexOf(sent.module_id.toLowerCase()) ?? -1;
  if (!modules || at < 0) return { code: 'UNKNOWN_MODULE', message: 'the session’s battery has no such module' };
  const [kind, name] = [modules.tasks[at]!, modules.names[at]!];
  if (sent.task !== kind && sent.task !== name)
    return {
      code: 'TASK_OF_OTHER_MODULE',
      message: `the module is of the task ${kind}, the results are of ${sent.task}`,
    };
  if (modulesWith(kind, modules) === 1) return { task: sent.task, kind };
  const telling =
    modules.names.filter((one) => one === name).length === 1 && !isTask(name) && name.length <= MAX_LENGTH;
  const number = modules.tasks.slice(0, at + 1).filter((one) => one === kind).length;
  return { task: telling ? name : `${kind}#${number}`, kind };
}
