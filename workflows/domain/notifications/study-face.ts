import Type from 'typebox';
import type { Static } from 'typebox';
import { textIn } from '../assessment/titles.js';
import { directionOf, isolated } from '../util/text-direction.js';

const closed = { additionalProperties: false };
const Name = Type.String({ minLength: 1, maxLength: 300, pattern: '^(?=.*\\S)[^\\u0000-\\u001f\\u007f]+$' });
const LANGUAGE = '^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$';

/** A study's `config.public_name`: its name for participants, one for all or one for each language. */
export const PublicName = Type.Union(
  [Name, Type.Record(Type.String({ pattern: LANGUAGE }), Name, { ...closed, minProperties: 1, maxProperties: 100 })],
  { description: 'what participants call the study: a text, or texts by language; default: study_name' },
);
/** A study's `config.contact`: the contact for participants. */
export const Contact = Type.Object(
  {
    name: Type.Optional(Name),
    email: Type.Optional(Type.String({ maxLength: 320, pattern: '^[^\\s@<>,;]+@[^\\s@<>,;]+$' })),
    phone: Type.Optional(Type.String({ minLength: 1, maxLength: 40, pattern: '^\\+?[0-9 ()./-]+$' })),
  },
  { ...closed, minProperties: 1 },
);
export type Contact = Static<typeof Contact>;

/** A study's public texts for participants, as stored. */
export interface StudyFace {
  study_name: string;
  public_name?: unknown;
  contact?: unknown;
  /** `config.notifications.default_language`: for readers in whose language it has no name. */
  default_language?: string | null | undefined;
}

/** The study's name for participants in a language, else in the study's default language, else in English. */
export const publicName = (
  { study_name, public_name, default_language = null }: StudyFace,
  language: string | null,
): string => textIn(public_name, language, { default_language }) ?? study_name;

/** The contact for participants; undefined: none. Invalid values were stored before the schema existed. */
export function contactOf({ contact }: StudyFace): Contact | undefined {
  if (typeof contact !== 'object' || contact === null) return undefined;
  const { name, email, phone } = contact as Record<string, unknown>;
  const known = Object.entries({ name, email, phone }).filter(([, text]) => typeof text === 'string' && text !== '');
  return known.length > 0 ? (Object.fromEntries(known) as Contact) : undefined;
}

/** The variables of a message about the study. */
export function faceValues(study: StudyFace, language: string | null) {
  const { name = '', email = '', phone = '' } = contactOf(study) ?? {};
  const direction = directionOf(language ?? 'en');
  return {
    public_name: publicName(study, language),
    contact_name: name,
    contact_email: email,
    contact_phone: phone,
    contact: [isolated(name, direction), email, isolated(phone, direction)].filter((one) => one !== '').join(', '),
  };
}
