import type { Tx } from '../client/database.js';

/** A longer list of persons is of no use as a choice. */
const MAX_NAMES = 300;

export interface AuditNames {
  users: { id: string; name: string }[];
  studies: { id: string; study_code: string }[];
}

/** The visible studies and the users by name: those of `userIds`, and others up to the limit. */
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
