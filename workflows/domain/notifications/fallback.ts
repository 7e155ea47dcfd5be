import type { Channel, NotificationSettings } from './settings.js';

/** Reasons of the channel, for which another one may serve. */
export const OF_THE_CHANNEL = ['opted_out', 'no_address', 'address_dead'];

/**
 * The channel to try instead, by the study's order; those that it uses anyway have reminders of their own. Null: there
 * is none.
 */
export function channelInstead(of: { channel: Channel; settings: unknown }): Channel | null {
  const { channels = ['email'], fallback = [] } = of.settings as NotificationSettings;
  const order = fallback.filter((channel) => !channels.includes(channel));
  return order[order.indexOf(of.channel) + 1] ?? null;
}
