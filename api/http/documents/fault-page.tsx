import { smallPage, smallPagePolicy } from '../../../activities/html/small-page.js';
import { acceptedLanguage } from '../../../workflows/domain/notifications/built-in.js';
import type { BuiltInLanguage } from '../../../workflows/domain/notifications/built-in.js';

interface Words {
  nothing: { title: string; says: string };
  /** Of any other error. */
  later: { title: string; says: string };
}
const words: Record<BuiltInLanguage, Words> = {
  en: {
    nothing: {
      title: 'There is no page at this address',
      says: 'Check the address, or open the link again that led here.',
    },
    later: { title: 'That did not work', says: 'Please try again later.' },
  },
  de: {
    nothing: {
      title: 'Unter dieser Adresse gibt es keine Seite',
      says: 'Prüfen Sie die Adresse, oder öffnen Sie den Link, der hierher führte, noch einmal.',
    },
    later: { title: 'Das hat nicht funktioniert', says: 'Bitte versuchen Sie es später noch einmal.' },
  },
  es: {
    nothing: {
      title: 'No hay ninguna página en esta dirección',
      says: 'Compruebe la dirección o vuelva a abrir el enlace que le trajo aquí.',
    },
    later: { title: 'No ha funcionado', says: 'Inténtelo de nuevo más tarde.' },
  },
  fr: {
    nothing: {
      title: 'Il n’y a pas de page à cette adresse',
      says: 'Vérifiez l’adresse, ou ouvrez de nouveau le lien qui vous a mené ici.',
    },
    later: { title: 'Cela n’a pas fonctionné', says: 'Veuillez réessayer plus tard.' },
  },
};

export const FAULT_POLICY = smallPagePolicy("'none'");

/** The page of an error, in the browser's language: nobody is logged in where no page is. */
export function faultPage(status: number, acceptLanguage: string): string {
  const language = acceptedLanguage(acceptLanguage);
  const { title, says } = words[language][status === 404 ? 'nothing' : 'later'];
  return smallPage(language, title, <p>{says}</p>);
}
