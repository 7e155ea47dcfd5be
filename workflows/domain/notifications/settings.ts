import Type from 'typebox';
import type { Static } from 'typebox';
import { unknownVariables } from './words.js';
import { WORDED } from './message-words.js';

const closed = { additionalProperties: false };
const clock = (description: string) =>
  Type.String({
    pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
    description: `${description}, HH:MM, the participant's local time`,
  });
const LANGUAGE = '^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$';
export const CHANNELS = ['email', 'sms', 'push'] as const;
export type Channel = (typeof CHANNELS)[number];
const Channels = Type.Array(Type.Enum([...CHANNELS]), { uniqueItems: true, maxItems: CHANNELS.length });

export const MessageTemplate = Type.Object(
  {
    subject: Type.String({ minLength: 1, maxLength: 300, pattern: '^(?=.*\\S)[^\\u0000-\\u001f\\u007f]+$' }),
    body: Type.String({ minLength: 1, maxLength: 20_000, pattern: '\\S' }),
  },
  closed,
);

/** A study's `config.notifications`; every field is optional. */
export const NotificationSettings = Type.Object(
  {
    channels: Type.Optional({ ...Channels, description: 'each rule is sent on each of them; default email' }),
    fallback: Type.Optional({
      ...Channels,
      description: 'tried in this order where a channel has no address, is not wanted or refuses for good',
    }),
    days_before: Type.Optional(
      Type.Array(Type.Integer({ minimum: 0, maximum: 365 }), {
        uniqueItems: true,
        maxItems: 20,
        description: 'a reminder for each; default 1',
      }),
    ),
    send_at: Type.Optional(clock('default 09:00')),
    quiet_hours: Type.Optional(Type.Object({ from: clock('nothing is sent from'), to: clock('until before') }, closed)),
    default_language: Type.Optional(
      Type.String({
        pattern: LANGUAGE,
        description: 'for participants in whose language there are no words, neither own nor built-in; default en',
      }),
    ),
    languages: Type.Optional(
      Type.Record(
        Type.String({ pattern: LANGUAGE }),
        Type.Object(
          {
            visit_reminder: Type.Optional(MessageTemplate),
            visit_missed: Type.Optional(MessageTemplate),
            magic_link: Type.Optional(MessageTemplate),
            daily_summary: Type.Optional(MessageTemplate),
            override_pending: Type.Optional(MessageTemplate),
            trigger_override_required: Type.Optional(MessageTemplate),
          },
          {
            ...closed,
            description:
              'messages to staff (daily_summary, override_pending, trigger_override_required) keep their ' +
              'built-in words',
          },
        ),
        { ...closed, maxProperties: 100 },
      ),
    ),
  },
  closed,
);
export type NotificationSettings = Static<typeof NotificationSettings>;

export interface SettingsFault {
  path: string;
  code: string;
  message: string;
}

/** The faults of settings that fit their schema: unknown variables in templates. */
export function settingsFaults(settings: NotificationSettings): SettingsFault[] {
  return Object.entries(settings.languages ?? {}).flatMap(([language, kinds]) =>
    ([...WORDED, 'magic_link'] as const).flatMap((kind) =>
      (['subject', 'body'] as const).flatMap((part) => {
        const path = `languages.${language}.${kind}.${part}`;
        return unknownVariables(kinds[kind]?.[part] ?? '', kind).map((name) => ({
          path,
          code: 'UNKNOWN_VARIABLE',
          message: `${path} names a variable that there is not: ${name}`,
        }));
      }),
    ),
  );
}
