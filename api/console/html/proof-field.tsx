import { Field } from './form.js';
import { useUi } from './ui.js';

/** Where a user types a password or a code to prove identity again. */
export function ProofField({ error }: { error: string | undefined }) {
  const { approval } = useUi().words;
  return (
    <Field
      name="proof_password"
      type="password"
      label={approval.proof}
      hint={approval.proofHint}
      error={error}
      autocomplete="current-password"
      required
      maxLength={1000}
    />
  );
}
