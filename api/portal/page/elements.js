import { NAMES, WORDS, measured } from './words.js';

/** A paragraph. */
export function line(content, className = '') {
  const made = Object.assign(document.createElement('p'), { className });
  made.append(content);
  return made;
}

/** A name, of either direction, among words of the page. */
export const named = (name) => Object.assign(document.createElement('bdi'), { textContent: name });

/** The same within an option, which has no elements. */
export const placed = (text) => (/[\u0590-\u08ff\ufb1d-\ufefc]/.test(text) ? `\u2068${text}\u2069` : text);

/** How a study team is reached: its name, address and number, as far as they are known. */
export const waysTo = ({ name, email, phone }) =>
  [
    name && named(name),
    email && Object.assign(document.createElement('a'), { href: `mailto:${email}`, textContent: email }),
    phone &&
      Object.assign(document.createElement('a'), { href: `tel:${phone.replace(/[^+\d]/g, '')}`, textContent: phone }),
  ].filter(Boolean);

/** A part of a table with a name. */
export function cell(kind, text, scope) {
  const made = document.createElement(kind);
  made.append(named(text));
  if (scope) made.scope = scope;
  return made;
}

/** The bytes of a key as the browser's push messages take it. */
export const bytesOf = (base64url) =>
  Uint8Array.from(atob(base64url.replace(/-/g, '+').replace(/_/g, '/')), (letter) => letter.charCodeAt(0));

/** The label of something without a title: `own_measure` or `ownMeasure` in words, any other name unchanged. */
const inWords = (language, key) => {
  if (!/^[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*$/.test(key)) return key;
  const words = key
    .replaceAll('_', ' ')
    .replace(/([a-z0-9])([A-Z][a-z])/g, (_, end, start) => `${end} ${start.toLowerCase()}`);
  return words[0].toLocaleUpperCase(language) + words.slice(1);
};
/** By the study's own title, else as this page calls it. */
const nameOf = (language, key, titles = {}) =>
  Object.hasOwn(titles, key)
    ? titles[key]
    : Object.hasOwn(NAMES[language], key)
      ? NAMES[language][key]
      : inWords(language, key);

/** What a task gave, by name. */
export function taskTable(language, { task, title, metrics, metric_titles: titles }) {
  const table = document.createElement('table');
  table.append(cell('caption', title || nameOf(language, task)));
  const rows = Object.entries(metrics)
    .map(([metric, value]) => [nameOf(language, metric, titles), metric, value])
    .sort(([a], [b]) => a.localeCompare(b, language));
  for (const [name, metric, value] of rows) {
    const row = table.insertRow();
    row.append(cell('th', name, 'row'), cell('td', measured(language, metric, value)));
  }
  return table;
}

const MOMENTS = Object.values(WORDS).map(({ moment }) => moment);
/** Does some work; `tell` is called when it takes longer than a moment, and what it said goes when that is over. */
export async function watched(work, said, tell) {
  const timer = setTimeout(tell, 1000);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
    if (MOMENTS.includes(said.textContent)) said.textContent = '';
  }
}
