import { Type } from '../../http/common.schemas.js';
import { check } from '../../http/validation/validation.js';
const InStudy = Type.Object({
  config: Type.Object({
    signatures: Type.Object({ reauthenticate: Type.Optional(Type.Boolean()) }, { additionalProperties: false }),
  }),
});

/** Validates a study's `config.signatures`. @throws 422 naming the path */
export function acceptSignatures(config: Record<string, unknown> | undefined): void {
  const signatures = config?.signatures;
  if (signatures !== undefined) check(InStudy, { config: { signatures } }, 'body');
}
