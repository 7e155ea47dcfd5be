import type { Policy } from './policy-schema.js';

/** The roles that approve: `override_approver_roles`, or `can_override` if that is empty. */
export function approverRoles({ permissions }: Pick<Policy, 'permissions'>): string[] {
  const named = permissions.override_approver_roles ?? [];
  return named.length > 0 ? named : permissions.can_override;
}
