import type { Channel, NotificationSettings } from './settings.js';

/** Reasons specific to the channel: another one may work. */
export const OF_THE_CHANNEL = ['opted_out', 'no_address', 'address_dead'];

/** The fallback channel, by the study's order; channels in use have reminders of their own. Null: none. */
export function channelInstead(reminder: { channel: Channel; settings: unknown }): Channel | null {
  const { channels = ['email'], fallback = [] } = reminder.settings as NotificationSettings;
  const order = fallback.filter((channel) => !channels.includes(channel));
  return order[order.indexOf(reminder.channel) + 1] ?? null;
}
