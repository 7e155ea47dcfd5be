import { readFileSync, readdirSync } from 'node:fs';

/** The unit of times in /proc, on every Linux that Node.js supports. */
const TICKS_PER_SECOND = 100;

interface Process {
  parent: number;
  ticks: number;
}

/**
 * Processor time of processes and their descendants so far, including ended descendants, milliseconds. Undefined if the
 * system has no /proc.
 */
export function processorMs(pids: readonly number[]): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const all = processes();
  const counted = new Set(pids);
  // A parent may have a higher pid than its child: repeat until no more are found.
  for (let before = -1; before !== counted.size;) {
    before = counted.size;
    for (const [pid, { parent }] of all) if (counted.has(parent)) counted.add(pid);
  }
  let ticks = 0;
  for (const pid of counted) ticks += all.get(pid)?.ticks ?? 0;
  return (ticks / TICKS_PER_SECOND) * 1000;
}

function processes(): Map<number, Process> {
  const found = new Map<number, Process>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    let stat: string;
    try {
      stat = readFileSync(`/proc/${name}/stat`, 'utf8');
    } catch (fault) {
      // It has ended since the folder was listed.
      if (['ENOENT', 'ESRCH'].includes((fault as NodeJS.ErrnoException).code ?? '')) continue;
      throw fault;
    }
    // After the name in parentheses: state, parent, …; the 12th to 15th are the times, its own and of ended children.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    found.set(Number(name), { parent: Number(fields[1]), ticks });
  }
  return found;
}
