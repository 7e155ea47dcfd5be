import { problem } from '../errors.js';

/** The base words of most guessed passwords, also with digits and signs around them. */
const COMMON = new Set([
  'password',
  'passwort',
  'passphrase',
  'passwordpassword',
  'administrator',
  'adminadmin',
  'adminpassword',
  'letmein',
  'letmeinplease',
  'welcome',
  'welcomewelcome',
  'changeme',
  'changemeplease',
  'changethis',
  'secret',
  'secretsecret',
  'mysecret',
  'mypassword',
  'thepassword',
  'newpassword',
  'qwerty',
  'qwertyuiop',
  'qwertzuiop',
  'qwertyqwerty',
  'qwertyuiopasdfghjkl',
  'azertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  'qazwsxedc',
  'qazwsxedcrfv',
  'oneqaztwowsx',
  'iloveyou',
  'iloveyouforever',
  'monkey',
  'dragon',
  'sunshine',
  'princess',
  'football',
  'baseball',
  'basketball',
  'superman',
  'batman',
  'starwars',
  'trustno',
  'master',
  'shadow',
  'michael',
  'jennifer',
  'computer',
  'internet',
  'whatever',
  'freedom',
  'summer',
  'winter',
  'spring',
  'autumn',
  'correcthorsebatterystaple',
  'research',
  'researchstudy',
  'research-platform',
  'testtest',
  'testpassword',
  'abcdefghijkl',
  'abcdefghijklmnopqrstuvwxyz',
  'nopassword',
  'default',
  'defaultpassword',
  'admin',
  'test',
  'abc',
  'hello',
  'user',
  'login',
  'guest',
  'root',
  'qwe',
]);
const RUNS = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890123456789',
  'qwertyuiopasdfghjklzxcvbnm',
  'qwertzuiopasdfghjklyxcvbnm',
];
const LEET: Record<string, string> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
};

const undecorated = (lower: string): string => lower.replaceAll(/^[^a-z]+|[^a-z]+$/g, '');

/** A listed word with digits and signs around it, between its letters or in place of them. */
function isCommonWord(lower: string): boolean {
  const spelled = [...lower.replaceAll(/[^a-z]+$/g, '')]
    .map((c) => LEET[c] ?? c)
    .join('')
    .replaceAll(/[^a-z]/g, '');
  return [undecorated(lower), spelled, lower.replaceAll(/[^a-z]/g, '')].some((word) => COMMON.has(word));
}

/**
 * Whether attackers try it early: a common word with decoration, few distinct characters, a keyboard run, the user's
 * email.
 */
export function isCommonPassword(password: string, email?: string): boolean {
  const lower = password.toLowerCase();
  if (new Set(lower).size < 5) return true;
  if (isCommonWord(lower)) return true;
  const both = [...RUNS, ...RUNS.map((run) => [...run].reverse().join(''))];
  if (both.some((run) => run.includes(lower))) return true;
  const repeated = /^(.+?)\1+$/.exec(lower)?.[1];
  if (repeated !== undefined && (repeated.length <= 6 || isCommonWord(repeated))) return true;
  const bare = undecorated(lower);
  const local = email?.toLowerCase().split('@')[0];
  return local !== undefined && local.length >= 4 && (bare === local || lower === email?.toLowerCase());
}

/** @throws 400 PASSWORD_TOO_COMMON. The schema checks the length (at least 12). */
export function requireUncommon(password: string, email: string, path: string): void {
  if (!isCommonPassword(password, email)) return;
  const message = `${path} is too common: it would be guessed early`;
  throw problem('PASSWORD_TOO_COMMON', { detail: message, errors: [{ path, code: 'PASSWORD_TOO_COMMON', message }] });
}
