/** Signatures of forms from a document that this service did not sign are marked as claimed. */
export const name = '0093-claimed-signatures';
export const up = `
update form_instances set signature = jsonb_set(signature, '{proved_by}', '"claimed"')
  where imported and signature is not null and signature_verified is not true;`;
