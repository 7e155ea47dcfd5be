import type { SyncDecision } from './sync.js';

/** A task of a session on the server. */
export interface KnownTask {
  content_hash: string;
  local_id: string | null;
}
export interface OfflineResponse {
  local_id: string;
  task: string;
  content_hash: string;
  /** Another device than its own may have sent responses of the session: each counts its ids by itself. */
  of_several_devices?: boolean;
}

/** Decides a response to a known session; `tasks` are that session's, and new ones are added to it. */
export function decideResponse(
  response: OfflineResponse,
  sessionId: string,
  tasks: Map<string, KnownTask>,
): Exclude<SyncDecision, { status: 'rejected' }> {
  const conflict = (message: string): Exclude<SyncDecision, { status: 'rejected' }> => ({
    status: 'conflict',
    server_id: sessionId,
    write: null,
    conflicts: [{ conflict_type: 'duplicate_response', resolution: 'server_wins', message, server_content: null }],
  });
  const known = tasks.get(response.task);
  if (known)
    return known.content_hash === response.content_hash
      ? { status: 'duplicate', server_id: sessionId }
      : conflict('the session has other values for this task');
  const taken = [...tasks].find(([, other]) => other.local_id === response.local_id);
  if (taken && !response.of_several_devices)
    return conflict(`a response with this id is there for the task ${taken[0]}`);
  // An id is of one response of its session: the other device's is known by its task.
  tasks.set(response.task, { content_hash: response.content_hash, local_id: taken ? null : response.local_id });
  return { status: 'created', server_id: sessionId, conflicts: [], write: null };
}

/** The decision for responses that were sent with a refused session. */
export const keptWithSession = (): SyncDecision => ({
  status: 'conflict',
  server_id: null,
  write: null,
  conflicts: [
    {
      conflict_type: 'duplicate_session',
      resolution: 'server_wins',
      message: 'its session is there with other content: the response is kept with the conflict of its session',
      server_content: null,
    },
  ],
});
