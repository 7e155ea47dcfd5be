/** The kinds of message about a visit that a study may reword, like that of a portal link. */
export const WORDED = ['visit_reminder', 'visit_missed'] as const;

export type Worded = (typeof WORDED)[number];

/** The kinds of message that a participant gets. */
export type ParticipantMessage = Worded | 'magic_link';

export interface MessageWords {
  subject: string;
  body: string;
}
