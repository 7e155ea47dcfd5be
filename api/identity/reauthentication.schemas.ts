import { Instant, Type, oneOf, text, record } from '../http/common.schemas.js';

/** Proof of identity in a request body; the header does the same. */
export const proof = {
  password: Type.Optional(
    Type.String({ minLength: 1, maxLength: 1000, description: 'proves identity again, as X-Reauthentication does' }),
  ),
  code: Type.Optional(Type.String({ pattern: '^[0-9]{6}$', description: 'the same by a code of the authenticator' })),
};
export const Reauthentication = Type.Object({
  'x-reauthentication': Type.Optional(
    Type.String({
      maxLength: 4000,
      'x-parameter': 'Reauthentication',
      description: 'the password, or a code of the authenticator (six digits): proves identity again',
    }),
  ),
});
/** A signer's fields besides the record. */
export const signerFields = { meaning: Type.Optional(text(200, 1)), ...proof };
export const Signature = record('Signature', {
  meaning: Type.String({ description: 'what the signature means: approval, review, responsibility …' }),
  name: Type.String({ description: 'the printed name of the signer' }),
  signed_at: Instant,
  proved_by: Type.Unsafe<'password' | 'totp' | 'session' | 'claimed'>({
    ...oneOf('password', 'totp', 'session', 'claimed'),
    description:
      'how identity was proved: password or code given for this signature, the login alone, or a message that ' +
      'only says so',
  }),
});
/** For the description of a signing route. */
export const asSignature =
  'a signature: where the study’s `config.signatures.reauthenticate` is true (default in production) the ' +
  'request proves identity again, by X-Reauthentication or by `password` or `code` (401 ' +
  'REAUTHENTICATION_REQUIRED).';
export const asksAgain = `It is ${asSignature}`;
