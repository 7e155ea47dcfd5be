import { raw } from 'objection';
import { Study } from '../models/records.js';
import type { Tx } from '../client/database.js';

/** The value of a name in a study's `config`; null: none. */
export async function configValue(tx: Tx, studyId: string, name: string): Promise<unknown> {
  const study = await Study.query(tx)
    .findById(studyId)
    .select(raw('config->? as value', [name]))
    .castTo<{ value: unknown } | undefined>();
  return study?.value ?? null;
}

export async function storeConfigValue(tx: Tx, studyId: string, name: string, value: object): Promise<void> {
  await Study.query(tx)
    .findById(studyId)
    .patch({ config: raw('jsonb_set(config, ?::text[], ?::jsonb)', [[name], JSON.stringify(value)]) });
}

export const studyExists = async (tx: Tx, studyId: string): Promise<boolean> =>
  (await Study.query(tx).findById(studyId).select('id')) !== undefined;
