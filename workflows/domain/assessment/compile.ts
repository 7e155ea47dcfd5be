import { LOCALISED } from './tasks.js';

export interface BatteryModule {
  id: string;
  position: number;
  task: string;
  name: string;
  settings: Record<string, unknown>;
  required: boolean;
  estimated_minutes: number;
}
export interface CompiledBattery {
  battery_id: number;
  version: number;
  language: string;
  modules: BatteryModule[];
  estimated_minutes: number;
}

/**
 * The best available language of a text: the requested one, its base, English, else the first by name. `de_AT` is
 * `de-AT`.
 */
export function chooseLanguage(available: readonly string[], wanted: string): string | undefined {
  const tag = (language: string) => language.toLowerCase().replaceAll('_', '-');
  const base = tag(wanted).split('-')[0]!;
  const same = (a: string) => (b: string) => tag(a) === tag(b);
  return (
    [...available].sort().find(same(wanted)) ??
    [...available].sort().find(same(base)) ??
    available.find(same('en')) ??
    [...available].sort()[0]
  );
}

/**
 * Compiles a battery's version for a client: modules in order, each text in one language. The same version and language
 * give the same content, in any order of the stored rows.
 */
export function compileBattery(
  battery: { id: number; version: number },
  modules: readonly BatteryModule[],
  language: string,
): CompiledBattery {
  const ordered = [...modules]
    .sort((a, b) => a.position - b.position)
    .map((module, index) => ({
      id: module.id,
      position: index + 1,
      task: module.task,
      name: module.name,
      settings: inLanguage(module.settings, language),
      required: module.required,
      estimated_minutes: module.estimated_minutes,
    }));
  const minutes = ordered.reduce((sum, module) => sum + module.estimated_minutes, 0);
  return {
    battery_id: battery.id,
    version: battery.version,
    language,
    modules: ordered,
    estimated_minutes: Math.round(minutes * 100) / 100,
  };
}

function inLanguage(settings: Record<string, unknown>, language: string): Record<string, unknown> {
  const result = { ...settings };
  for (const key of LOCALISED) {
    const texts = settings[key];
    if (typeof texts !== 'object' || texts === null || Array.isArray(texts)) continue;
    const chosen = chooseLanguage(Object.keys(texts), language);
    if (chosen === undefined) delete result[key];
    else result[key] = (texts as Record<string, unknown>)[chosen];
  }
  return result;
}
