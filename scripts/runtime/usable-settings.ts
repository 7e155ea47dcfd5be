import { SettingsError, readSettings, type Settings } from '../../settings.js';

/** What a program asks of its settings. */
export interface Demands {
  /** What is wrong with them beside, a sentence each. */
  further?: (settings: Settings) => string[];
  /** Only these servers are asked; default: all. */
  servers?: (settings: Settings) => Settings;
}

/**
 * The settings of a start. In production one start tells everything that is to be mended.
 * @throws SettingsError naming every fault; in production with servers of your own that do not answer, and a schema
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
  // Only then: the clients of four servers are some memory that a supervisor otherwise does not need.
  const { lookAtOwnServers } = await import('./own-servers.js');
  const found = await lookAtOwnServers(servers(settings));
  throw new SettingsError([...faults, ...found.faults, ...found.warnings]);
}

/** What could be read, and what is wrong with it. */
function read(): { settings: Settings | undefined; faults: string[] } {
  try {
    return { settings: readSettings(), faults: [] };
  } catch (fault) {
    if (!(fault instanceof SettingsError)) throw fault;
    return { settings: fault.read, faults: [...fault.faults] };
  }
}
