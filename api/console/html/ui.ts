import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { IncomingHttpHeaders } from 'node:http';
import type { Settings } from '../../../settings.js';
import type { Actor } from '../../http/access.js';
import type { Credential } from '../../http/request-context.js';
import { VISIT_COOKIE, cookieOf, formToken, idleSeconds, newVisit } from '../../http/security/console-login.js';
import { wordsOf } from '../words/words.js';
import type { Language, Words } from '../words/words.js';

export const LANGUAGE_COOKIE = 'console_language';
export const THEME_COOKIE = 'console_theme';
export const themes = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

/** The context of every component of a page: `useUi()`. */
export interface Ui {
  words: Words;
  language: Language;
  theme: Theme;
  /** Path and query of the page, for returning. */
  path: string;
  /** Proves that a page of this login sent the form. */
  formToken: string;
  /** The logged-in user. */
  user: Pick<Actor, 'id' | 'name' | 'role' | 'email'> | undefined;
  idleSeconds: number;
  /** By the path of the menu entry. */
  counts: Record<string, number>;
  /** A visit that starts with this answer: its cookie is set. */
  newVisit?: string;
}

const Context = createContext<Ui | undefined>(undefined);
export const UiProvider = Context.Provider;

/** @throws Error outside of a page */
export function useUi(): Ui {
  const ui = useContext(Context);
  if (!ui) throw new Error('useUi is called outside of a page');
  return ui;
}

/** The request data of a page. */
export interface UiRequest {
  settings: Settings;
  headers: IncomingHttpHeaders;
  path: string;
  actor?: Actor | undefined;
  credential?: Credential | undefined;
}

export function uiOf({ settings, headers, path, actor, credential }: UiRequest): Ui {
  const { language, words } = wordsOf(cookieOf(headers, LANGUAGE_COOKIE), headers['accept-language']);
  const chosen = cookieOf(headers, THEME_COOKIE);
  const login = actor && credential?.sid;
  const known = login ?? cookieOf(headers, VISIT_COOKIE);
  const visit = known ?? newVisit();
  return {
    words,
    language,
    theme: themes.find((one) => one === chosen) ?? 'auto',
    path,
    formToken: formToken(settings, visit),
    user: login ? actor : undefined,
    idleSeconds: idleSeconds(settings),
    counts: {},
    ...(known === undefined && { newVisit: visit }),
  };
}
