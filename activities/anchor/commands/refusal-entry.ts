import type { AuditEntry } from '../../../db/audit/audit.js';
import type { Sender } from '../../../workflows/contract.js';
import type { AnchorCommand } from './commands.js';
import type { CommandResult } from './outcome.js';

/** The audit record of a refused command. Its fields may be malformed. */
export function refusalEntry(command: AnchorCommand, { refused, errors }: CommandResult): AuditEntry {
  const decision = command.kind === 'decide_override' ? command.message : undefined;
  const sender = decision ? decision.approver_user_id : (command.message as Sender).actor_user_id;
  return {
    study_id: command.study_id,
    user_id: asUuid(sender),
    action: decision ? 'override_decision_refused' : `anchor_${command.kind}_refused`,
    resource_type: 'participant',
    resource_id: command.participant_id,
    request_id: asText(decision ? decision.http_request_id : (command.message as Sender).request_id, 36),
    metadata: {
      code: refused!.code,
      errors: errors.map((e) => e.code),
      command_id: command.id,
      ...(decision && {
        override_request_id: asText(decision.request_id, 100),
        decision: asText(decision.decision, 20),
        sent_as_user: asText(sender, 100),
      }),
    },
  };
}

const asUuid = (value: unknown): string | null =>
  typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value) ? value : null;
const asText = (value: unknown, maxLength: number): string | null =>
  typeof value === 'string' ? value.slice(0, maxLength) : null;
