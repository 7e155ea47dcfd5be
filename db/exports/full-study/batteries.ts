/** The keys of a battery's number, in rows and in what devices sent. It differs in every copy of a study. */
export const BATTERY_KEYS: ReadonlySet<string> = new Set(['battery_id', 'batteryId']);

/** Values whose own keys are chosen by users: a number in them is no battery's, whatever its name. */
export const KEYS_OF_USERS: ReadonlySet<string> = new Set([
  'items',
  'settings',
  'summary',
  'computed_summary',
  'summary_difference',
  'trials',
]);

/** The key of a study's configuration with a template's mappings, which name batteries too; its others are users'. */
export const CAPTURE_DEFAULTS = 'capture_defaults';
