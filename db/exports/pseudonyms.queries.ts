import { randomBytes } from 'node:crypto';
import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** Creates the study's key if it has none; in a transaction that may write. */
export async function ensurePseudonymKey(tx: Tx, studyId: string): Promise<void> {
  await tx('study_pseudonym_keys')
    .insert({ study_id: studyId, key: randomBytes(32) })
    .onConflict()
    .ignore();
}

/** The study's key as hex. */
export async function pseudonymKey(tx: Tx, studyId: string): Promise<string> {
  const row = await tx('study_pseudonym_keys').where({ study_id: studyId }).first<{ key: Buffer }>('key');
  return row.key.toString('hex');
}

/** The pseudonym of a text in a study's de-identified exports, in a transaction that has its key. */
export async function pseudonymOf(tx: Tx, text: string): Promise<string> {
  return (await query<{ name: string }>(tx, 'select pseudonym($1) as name', [text]))[0]!.name;
}
