import type { TimelineRow } from '../../../../db/timeline/timeline.queries.js';
import { germanTitleOf } from '../../../timeline/titles-de.js';
import { titleOf } from '../../../timeline/titles.js';
import { dateText } from '../../html/dates.js';
import { isSaid, phrase } from '../service/phrases.js';
import type { Language } from '../words.js';

/** Isolated user input, which stays as it is, or a date. */
const OWN_OR_DATE = /\u2068[^\u2069]*\u2069|\b\d{4}-\d{2}-\d{2}\b/g;
const readable = (part: string): string => (part.startsWith('\u2068') ? part : dateText('en', part));
const inGerman = (sentence: string): string | undefined =>
  isSaid('de', sentence) ? phrase('de', sentence) : undefined;

/** A timeline entry as one line, in the reader's language. */
export const entryTitle = (language: Language, row: TimelineRow): string =>
  language === 'de' ? germanTitleOf(row, inGerman) : titleOf(row).replaceAll(OWN_OR_DATE, readable);
