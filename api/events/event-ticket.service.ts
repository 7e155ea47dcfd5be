import type { Settings } from '../../settings.js';
import type { Actor } from '../http/access.js';
import { signToken } from '../http/security/tokens.js';

const SECONDS = 60;

/** A ticket for a study's event stream: it identifies the caller, and is valid for nothing else. */
export const eventTicket = (
  settings: Settings,
  { id, role, session_epoch: epoch }: Actor,
  { study_id, login: sid }: { study_id: string; login: string | undefined },
): { ticket: string; expires_in: number } => ({
  ticket: signToken(settings, 'events', { id, role }, SECONDS, { study: study_id.toLowerCase(), sid, epoch }),
  expires_in: SECONDS,
});
