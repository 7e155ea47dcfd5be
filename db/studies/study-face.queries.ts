import { raw } from 'objection';
import { Participant } from '../models/records.js';
import type { Tx } from '../client/database.js';

/** A study's public texts for one of its participants, and the languages to choose from. */
export interface ShownStudy {
  study_name: string;
  public_name: unknown;
  contact: unknown;
  default_language: string | null;
  preferred_language: string | null;
}

/** The study as shown to a participant; undefined: no such visible participant. */
export async function studyShownTo(tx: Tx, participantId: string): Promise<ShownStudy | undefined> {
  return Participant.query(tx)
    .alias('p')
    .joinRelated('study', { alias: 's' })
    .where('p.id', participantId)
    .select('s.study_name', 'p.preferred_language')
    .select(
      raw(`s.config -> 'public_name' as public_name`),
      raw(`s.config -> 'contact' as contact`),
      raw(`s.config #>> '{notifications,default_language}' as default_language`),
    )
    .first()
    .castTo<ShownStudy | undefined>();
}
