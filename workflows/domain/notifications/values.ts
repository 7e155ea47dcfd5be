import { dateIn, daysBetween } from '../util/dates.js';
import type { ReminderFacts } from './reminder-state.js';
import { visitTitle } from '../scheduling/visit-title.js';
import { faceValues } from './study-face.js';
import type { Values } from './words.js';

/** The values of a template's variables for a reminder written at `now` in a language; its visit must exist. */
export function placeholderValues(
  of: ReminderFacts,
  urls: { portal_url: string; unsubscribe_url: string },
  now: string,
  language: string | null = of.preferred_language,
): Values {
  const visit = of.visit!;
  return {
    ...urls,
    ...faceValues(of, language),
    participant_code: of.participant_code,
    study_code: of.study_code,
    study_name: of.study_name,
    site_code: of.site_code ?? '',
    site_name: of.site_name ?? of.site_code ?? '',
    visit_name: visitTitle(visit.name),
    target_date: visit.target_date,
    window_open: visit.window_open,
    window_close: visit.window_close,
    days_before: String(of.days_before ?? ''),
    days_left: String(daysBetween(dateIn(now, of.zone), visit.target_date)),
  };
}
