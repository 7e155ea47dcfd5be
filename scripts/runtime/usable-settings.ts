import { SettingsError, readSettings, type Settings } from '../../settings.js';

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
