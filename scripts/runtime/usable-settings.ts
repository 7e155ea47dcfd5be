import { accessSync, constants } from 'node:fs';
import { suggestion } from '../../api/http/validation/suggestion.js';
import { SettingsError, readSettings, settingDefinitions, type Settings } from '../../settings.js';

/** A program's requirements for its settings. */
export interface Demands {
  /** Further faults, one sentence each. */
  further?: (settings: Settings) => string[];
  /** Only these servers are checked; default: all. */
  servers?: (settings: Settings) => Settings;
}

/**
 * The settings of a start. In production one start reports every fault.
 * @throws SettingsError naming every fault; in production including external servers that do not answer, and a schema
 * that is too new
 */
export async function usableSettings({
  further = () => [],
  servers = (settings) => settings,
}: Demands = {}): Promise<Settings> {
  const { settings, faults } = read();
  if (settings !== undefined) faults.push(...further(settings));
  if (settings !== undefined && faults.length === 0) return settings;
  if (!settings?.production) throw new SettingsError(faults);
  // Imported late: the clients of four servers take memory that a supervisor otherwise does not need.
  const { lookAtOwnServers } = await import('./own-servers.js');
  const found = await lookAtOwnServers(servers(settings));
  throw new SettingsError([...faults, ...found.faults, ...found.warnings]);
}

/** The readable settings, and their faults. */
function read(): { settings: Settings | undefined; faults: string[] } {
  try {
    return { settings: readSettings(), faults: [] };
  } catch (fault) {
    if (!(fault instanceof SettingsError)) throw fault;
    return { settings: fault.read, faults: [...fault.faults] };
  }
}

/** A program that is named and cannot be run, in a sentence: the service runs without it. */
export function unusablePrograms({ CHROMIUM_PATH }: Pick<Settings, 'CHROMIUM_PATH'>): string[] {
  try {
    if (CHROMIUM_PATH !== undefined) accessSync(CHROMIUM_PATH, constants.X_OK);
    return [];
  } catch {
    return [`CHROMIUM_PATH ${CHROMIUM_PATH} is no program that can be run: no report is printed`];
  }
}

/** The environment has many names that are none of ours: only one that hardly differs from a setting is meant as it. */
const LARGEST_DIFFERENCE = 0.15;
/** Short names resemble each other by chance (`PORT`, `POST`). */
const SHORTEST = 8;

/**
 * Names in the environment that are no setting and look like one, a sentence each: their values count for nothing,
 * which nobody would notice.
 */
export function misspeltSettings(env: Readonly<Record<string, string | undefined>> = process.env): string[] {
  const known = Object.keys(settingDefinitions);
  return Object.keys(env)
    .filter((name) => name.length >= SHORTEST && !Object.hasOwn(settingDefinitions, name))
    .map((name) => ({ name, meant: suggestion(name, known, LARGEST_DIFFERENCE) }))
    .filter(({ meant }) => meant !== '')
    .map(({ name, meant }) => `${name} is no setting and counts for nothing${meant}`);
}
