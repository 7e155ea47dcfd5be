import { problem } from '../http/errors.js';
import { PlacesPerUser } from '../util/places-per-user.js';

/** Each holds a connection for as long as it computes. */
const places = new PlacesPerUser(3);

/**
 * Begins a dry run of a study's change for a user, by REST or in the console.
 * @returns what ends it @throws 429 QUOTA_EXCEEDED for one who waits for some already
 */
export function beginDryRun({ id }: { id: string }): () => void {
  const end = places.take(id);
  if (!end)
    throw problem('QUOTA_EXCEEDED', {
      detail: `You wait for ${places.each} dry runs already: ask again once one is done.`,
      headers: { 'Retry-After': '5' },
    });
  return end;
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
