import type { TimelineLanguage } from './page-words.js';
import { germanTitleOf } from './titles-de.js';
import type { TimelineItem } from './timeline.service.js';

/** An entry's title in the language of its page. */
export const titleIn = (language: TimelineLanguage, { at, kind, title, data }: TimelineItem): string =>
  language === 'en'
    ? title
    : germanTitleOf({
        at,
        kind,
        what: String(data.what),
        id: String(data.id),
        planned: data.planned === true,
        data,
      });
