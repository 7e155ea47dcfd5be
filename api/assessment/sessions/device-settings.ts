import { isZone } from '../../../workflows/domain/util/dates.js';
import { LANGUAGE } from '../../../workflows/domain/capture/participant.js';
import type { DeviceSetting } from '../../../workflows/domain/assessment/times.js';
import { invalidTextIn } from '../../http/body/json.js';

const isLanguage = (text: string): boolean => text.length <= 35 && new RegExp(LANGUAGE).test(text);
const KNOWN: readonly [DeviceSetting, (text: string) => boolean][] = [
  ['timezone', isZone],
  ['language', isLanguage],
];

/**
 * A session item without the settings of its device that have no meaning here (`Etc/Unknown`, `GMT+02:00`,
 * `en_US@rg=gbzzzz`): the device can't help them, and they are no reason to lose results.
 */
export function withKnownSettings(raw: unknown): { item: unknown; unknown: DeviceSetting[] } {
  // An item with what cannot be stored is refused as it was sent.
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw) || invalidTextIn(raw) !== undefined)
    return { item: raw, unknown: [] };
  const given = raw as Record<string, unknown>;
  const unknown = KNOWN.flatMap(([name, isKnown]) => {
    const text = given[name];
    return typeof text === 'string' && !isKnown(text) ? [name] : [];
  });
  const item = unknown.length === 0 ? raw : { ...given, ...Object.fromEntries(unknown.map((name) => [name, null])) };
  return { item, unknown };
}
