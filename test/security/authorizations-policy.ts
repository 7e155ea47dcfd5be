/** Who may set a date, ask for another and approve it. */
export const POLICY = {
  sources: [{ type: 'manual_entry' }],
  prerequisites: { require_consent_signed: false },
  permissions: {
    can_set: ['admin', 'coordinator'],
    can_override: ['admin', 'coordinator', 'researcher'],
    override_requires_approval: true,
    override_approver_roles: ['researcher'],
    participant_can_set: true,
  },
};
