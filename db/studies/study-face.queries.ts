import { query } from '../client/query.js';
import type { Tx } from '../client/database.js';

/** What a study shows of itself to one of its participants, and the languages that decide how. */
export interface ShownStudy {
  study_name: string;
  public_name: unknown;
  contact: unknown;
  default_language: string | null;
  preferred_language: string | null;
}

/** The study as it is shown to a participant; undefined: there is no such participant in reach. */
export async function studyShownTo(tx: Tx, participantId: string): Promise<ShownStudy | undefined> {
  const rows = await query<ShownStudy>(
    tx,
    `select s.study_name, s.config -> 'public_name' as public_name, s.config -> 'contact' as contact,
       s.config #>> '{notifications,default_language}' as default_language, p.preferred_language
     from participants p join studies s on s.id = p.study_id where p.id = $1`,
    [participantId],
  );
  return rows[0];
}
