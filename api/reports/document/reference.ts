import type { TaskReport } from '../../../db/reports/study.queries.js';
import type { Locale } from './words.js';

/** The range of the study's middle half. */
export const reference = (modules: readonly TaskReport[], task: string, metric: string, speech: Locale): string => {
  const found = modules.find((m) => m.task === task)?.metrics[metric];
  return found && found.n > 0 ? `${speech.number(found.p25)} – ${speech.number(found.p75)}` : '–';
};
