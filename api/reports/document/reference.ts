import type { TaskReport } from '../../../db/reports/study.queries.js';
import type { Locale } from './words.js';

/** The range of the study's middle half. */
export const reference = (modules: readonly TaskReport[], task: string, metric: string, speech: Locale): string => {
  const found = modules.find((m) => m.task === task)?.metrics[metric];
  return found && found.n > 0 ? `${speech.number(found.p25)} – ${speech.number(found.p75)}` : '–';
};

/** The day of an instant. */
export const day = (speech: Locale, instant: string | null): string =>
  instant === null ? '–' : speech.date(instant.slice(0, 10));
