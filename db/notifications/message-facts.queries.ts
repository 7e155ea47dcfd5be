import { raw } from 'objection';
import { Participant, Study } from '../models/records.js';
import type { Tx } from '../client/database.js';

/** The study's facts for messages, and its settings for them. */
export interface StudyFacts<Settings> {
  study_code: string;
  study_name: string;
  public_name: unknown;
  contact: unknown;
  status: string;
  settings: Settings;
}

export const studyFacts = <Settings>(tx: Tx, studyId: string): Promise<StudyFacts<Settings>> =>
  Study.query(tx)
    .findById(studyId)
    .select('study_code', 'study_name', 'status')
    .select(
      raw(`config -> 'public_name' as public_name`),
      raw(`config -> 'contact' as contact`),
      raw(`coalesce(config -> 'notifications', '{}') as settings`),
    )
    .throwIfNotFound()
    .castTo<StudyFacts<Settings>>()
    .execute();

/** The time zone of a participant's reminders: its own, its site's, or the study's. */
export async function zoneOf(tx: Tx, participantId: string): Promise<string> {
  const { zone } = await Participant.query(tx)
    .alias('p')
    .joinRelated('study', { alias: 's' })
    .leftJoinRelated('site', { alias: 't' })
    .where('p.id', participantId)
    .select(raw('coalesce(p.timezone, t.timezone, s.timezone) as zone'))
    .first()
    .throwIfNotFound()
    .castTo<{ zone: string }>();
  return zone;
}
