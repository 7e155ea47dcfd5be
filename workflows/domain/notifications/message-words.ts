/** The kinds of message about a visit, which a study may word itself, as it may that of a link to the portal. */
export const WORDED = ['visit_reminder', 'visit_missed'] as const;

export type Worded = (typeof WORDED)[number];

/** The kinds of message that a participant gets. */
export type ParticipantMessage = Worded | 'magic_link';

export interface Words {
  subject: string;
  body: string;
}
