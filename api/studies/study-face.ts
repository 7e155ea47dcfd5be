import { Contact, PublicName } from '../../workflows/domain/notifications/study-face.js';
import { Type } from '../http/common.schemas.js';
import { check } from '../http/validation/validation.js';

const InStudy = Type.Object({
  config: Type.Object({ public_name: Type.Optional(PublicName), contact: Type.Optional(Contact) }),
});

/** Whether a change affects the study's public fields; values stored before the rule existed stay. */
export const changesFace = (before: Record<string, unknown>, after: Record<string, unknown>): boolean =>
  ['public_name', 'contact'].some((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));

/** Validates a study's `config.public_name` and `config.contact`. @throws 422 naming every fault with its path */
export function acceptStudyFace(config: Record<string, unknown> | undefined): void {
  const given = Object.entries(config ?? {}).filter(
    ([key, value]) => ['public_name', 'contact'].includes(key) && value !== undefined,
  );
  if (given.length > 0) check(InStudy, { config: Object.fromEntries(given) }, 'body');
}
