import { execFile } from 'node:child_process';

/** Processes below `pid`, however deep, by command name. */
export async function descendants(pid: number): Promise<{ pid: number; command: string }[]> {
  const listed = await new Promise<string>((resolve, reject) => {
    execFile('ps', ['-eo', 'pid=,ppid=,stat=,args='], { maxBuffer: 1 << 24 }, (fault, out) => {
      if (fault) reject(fault);
      else resolve(out);
    });
  });
  const rows = listed.split('\n').flatMap((line) => {
    const m = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line);
    return m && !m[3]!.startsWith('Z') ? [{ pid: Number(m[1]), parent: Number(m[2]), command: m[4]! }] : [];
  });
  const below = (parent: number): { pid: number; command: string }[] =>
    rows.filter((row) => row.parent === parent).flatMap((row) => [row, ...below(row.pid)]);
  return below(pid);
}
