import type { Tx } from '../client/database.js';

/** More persons than that are no list to choose from. */
const MAX_NAMES = 300;

export interface AuditNames {
  users: { id: string; name: string }[];
  studies: { id: string; study_code: string }[];
}

/** The studies in reach and the users by name: of `userIds` each, of the others as many as a list can hold. */
export async function auditNames(tx: Tx, userIds: readonly string[]): Promise<AuditNames> {
  const known = () => tx('users').select('id', 'name', tx.raw(`'user' as kind`));
  const rows = (await known()
    .whereIn('id', [...userIds])
    .union([known().orderBy('name').limit(MAX_NAMES)], true)
    .unionAll([tx('studies').select('id', 'study_code as name', tx.raw(`'study' as kind`))])) as {
    id: string;
    name: string;
    kind: 'user' | 'study';
  }[];
  const of = (wanted: 'user' | 'study') =>
    rows.filter(({ kind }) => kind === wanted).sort((a, b) => a.name.localeCompare(b.name) || (a.id < b.id ? -1 : 1));
  return {
    users: of('user').map(({ id, name }) => ({ id, name })),
    studies: of('study').map(({ id, name }) => ({ id, study_code: name })),
  };
}
