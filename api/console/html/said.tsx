import { isSaid, phrase } from '../words/service/phrases.js';
import { useUi } from './ui.js';

/** A sentence of the service in the reader's language; an untranslated one is marked as English for screen readers. */
export function TranslatedText({ text }: { text: string }) {
  const { language } = useUi();
  return (
    <span dir="auto" {...(!isSaid(language, text) && { lang: 'en' })}>
      {phrase(language, text)}
    </span>
  );
}
