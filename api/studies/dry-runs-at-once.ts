import { problem } from '../http/errors.js';

/** Those of a user in a process: each holds a connection for as long as it computes. */
const MAX_AT_ONCE = 3;
const atOnce = new Map<string, number>();

/**
 * Begins a dry run of a study's change for a user, by REST or in the console.
 * @returns what ends it @throws 429 QUOTA_EXCEEDED for one who waits for some already
 */
export function beginDryRun({ id }: { id: string }): () => void {
  const others = atOnce.get(id) ?? 0;
  if (others >= MAX_AT_ONCE)
    throw problem('QUOTA_EXCEEDED', {
      detail: `You wait for ${MAX_AT_ONCE} dry runs already: ask again once one is done.`,
      headers: { 'Retry-After': '5' },
    });
  atOnce.set(id, others + 1);
  return () => {
    const left = atOnce.get(id)! - 1;
    if (left > 0) atOnce.set(id, left);
    else atOnce.delete(id);
  };
}

/** Computes a dry run for a user who waits for it. @throws 429 QUOTA_EXCEEDED as above */
export async function dryRunFor<T>(user: { id: string }, compute: () => Promise<T>): Promise<T> {
  const end = beginDryRun(user);
  try {
    return await compute();
  } finally {
    end();
  }
}
