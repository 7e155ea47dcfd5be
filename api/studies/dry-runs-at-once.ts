import { problem } from '../http/errors.js';

/** Requests of a user in a process that wait for one: each holds a connection for as long as it computes. */
const MAX_AT_ONCE = 3;
const atOnce = new Map<string, number>();

/** Computes a dry run of a study's change for a user. @throws 429 QUOTA_EXCEEDED for one who waits for some already */
export async function dryRunFor<T>({ id }: { id: string }, compute: () => Promise<T>): Promise<T> {
  const others = atOnce.get(id) ?? 0;
  if (others >= MAX_AT_ONCE)
    throw problem('QUOTA_EXCEEDED', {
      detail: `You wait for ${MAX_AT_ONCE} dry runs already: ask again once one is done.`,
      headers: { 'Retry-After': '5' },
    });
  atOnce.set(id, others + 1);
  try {
    return await compute();
  } finally {
    const left = atOnce.get(id)! - 1;
    if (left > 0) atOnce.set(id, left);
    else atOnce.delete(id);
  }
}
