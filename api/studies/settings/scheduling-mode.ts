import { invalid } from '../../http/errors.js';

const MODES = ['legacy', 'edc'];

/** Validates a study's `config.scheduling_mode`; default `legacy`. @throws 422 naming the path */
export function acceptSchedulingMode(config: Record<string, unknown> | undefined): void {
  const mode = config?.scheduling_mode;
  if (mode !== undefined && !MODES.includes(mode as string))
    throw invalid('config.scheduling_mode', 'ENUM', `must be one of ${MODES.join(', ')}`);
}
