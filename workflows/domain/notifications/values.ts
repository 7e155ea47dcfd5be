import { dateIn, daysBetween } from '../util/dates.js';
import type { ReminderFacts } from './reminder-state.js';
import { visitTitle } from '../scheduling/visit-title.js';
import type { NotificationSettings } from './settings.js';
import { faceValues } from './study-face.js';
import type { Values } from './words.js';

/** The values of a template's variables for a reminder written at `now` in a language; its visit must exist. */
export function placeholderValues(
  facts: ReminderFacts,
  urls: { portal_url: string; unsubscribe_url: string },
  now: string,
  language: string | null = facts.preferred_language,
): Values {
  const visit = facts.visit!;
  const { default_language } = facts.settings as NotificationSettings;
  return {
    ...urls,
    ...faceValues({ ...facts, default_language }, language),
    participant_code: facts.participant_code,
    study_code: facts.study_code,
    study_name: facts.study_name,
    site_code: facts.site_code ?? '',
    site_name: facts.site_name ?? facts.site_code ?? '',
    visit_name: visitTitle(visit.name),
    target_date: visit.target_date,
    window_open: visit.window_open,
    window_close: visit.window_close,
    days_before: String(facts.days_before ?? ''),
    days_left: String(daysBetween(dateIn(now, facts.zone), visit.target_date)),
  };
}
