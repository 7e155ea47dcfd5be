import { accountGuards } from './accounts.js';
import { credentialGuards } from './credentials.js';
import { dataGuards } from './data.js';
import { dateGuards } from './dates.js';
import { fileGuards } from './files.js';
import type { Guard } from './guard.js';
import { limitGuards } from './limits.js';
import { messageGuards } from './messages.js';
import { outwardGuards } from './outward.js';
import { recordGuards } from './records.js';
import { sessionGuards } from './sessions.js';
import { settingGuards } from './settings.js';
import { stateGuards } from './states.js';

/** Every guard that `npm run test:guards` takes out. */
export const guards: readonly Guard[] = [
  ...messageGuards,
  ...accountGuards,
  ...credentialGuards,
  ...dataGuards,
  ...sessionGuards,
  ...dateGuards,
  ...fileGuards,
  ...outwardGuards,
  ...limitGuards,
  ...recordGuards,
  ...settingGuards,
  ...stateGuards,
];
