import { createHash } from 'node:crypto';
import { forgetPushToken } from '../../../db/notifications/reminders.queries.js';
import type { ReminderRow } from '../../../db/notifications/reminders.queries.js';
import { withStudyScope } from '../../../db/client/transaction.js';
import { addressesOf } from '../../../workflows/domain/notifications/reminder-state.js';
import { RefusedMessage, unconfiguredReasons } from '../provider.js';
import type { Channels, Provider } from '../provider.js';
import { reminderMessage } from './message.js';
import type { MessageSettings } from './message.js';
import type { Database } from '../../../db/client/database.js';

/**
 * Sends a reminder through its channel's provider; push goes to each of the participant's devices, and one success is
 * enough.
 * @throws RefusedMessage for a permanent refusal; another Error for a retry
 */
export async function sendReminder(
  deps: { database: Database; channels: Channels; messages: MessageSettings },
  row: ReminderRow,
  now: string,
): Promise<void> {
  const provider = deps.channels[row.channel];
  if (!provider) throw new RefusedMessage(unconfiguredReasons[row.channel]);
  const message = reminderMessage(row, deps.messages, now);
  if (row.channel !== 'push') return provider.send({ ...message, to: addressesOf(row)[0]! });
  await toDevices(deps.database, provider, row, message);
}

/** From the device itself, not its index in a list that shrinks when a device is removed. */
const deviceKey = (token: string): string => createHash('sha256').update(token).digest('base64url').slice(0, 16);

async function toDevices(
  database: Database,
  provider: Provider,
  row: ReminderRow,
  message: ReturnType<typeof reminderMessage>,
): Promise<void> {
  // Together: devices whose provider does not answer, one after another, would outlast the claim.
  const outcomes = await Promise.allSettled(
    row.push_tokens.map((to) => provider.send({ ...message, key: `${message.key}.${deviceKey(to)}`, to })),
  );
  const faults: unknown[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') continue;
    const fault: unknown = outcome.reason;
    faults.push(fault);
    if (fault instanceof RefusedMessage && fault.addressIsGone)
      await forgetDevice(database, row, row.push_tokens[index]!);
  }
  if (faults.length < row.push_tokens.length) return;
  throw faults.find((fault) => !(fault instanceof RefusedMessage)) ?? faults[0];
}

async function forgetDevice(database: Database, row: ReminderRow, token: string): Promise<void> {
  await withStudyScope(database, row.study_id, async ({ tx, audit }) => {
    await forgetPushToken(tx, row.participant_id, token);
    audit.record({
      study_id: row.study_id,
      user_id: null,
      action: 'push_token_removed',
      resource_type: 'participant',
      resource_id: row.participant_id,
      metadata: { reason: 'unregistered' },
    });
  });
}
