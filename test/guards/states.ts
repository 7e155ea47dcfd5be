import type { Guard } from './guard.js';

const STATES = 'test/api/study-states.test.ts';
const PLAN = 'api/imports/participant-import-plan.ts';
const ENROLLS_NOBODY = 'one that has ended enrolls nobody, by hand or by a file; those who are enrolled are corrected';

/** What a study's status or an erasure does not allow any more. */
export const stateGuards: readonly Guard[] = [
  {
    refuses: 'an enrollment by hand into a study that has ended',
    file: 'api/participants/participants.service.ts',
    text: `if (await studyHasEnded(tx, studyId)) throw problem('STUDY_CLOSED');`,
    without: `if (studyId === '' && (await studyHasEnded(tx, studyId))) throw problem('STUDY_CLOSED');`,
    test: STATES,
    title: ENROLLS_NOBODY,
  },
  {
    refuses: 'an enrollment by a file into a study that has ended',
    file: PLAN,
    text: 'this.file.closed ? [studyClosed] : []',
    without: 'this.file.closed && known ? [studyClosed] : []',
    test: STATES,
    title: ENROLLS_NOBODY,
  },
  {
    refuses: 'what an erasure removed, from a file',
    file: PLAN,
    text: '(known ? erasedFaults(fields, known)',
    without: '(known && !known.erased ? erasedFaults(fields, known)',
    test: STATES,
    title: 'a file gives back nothing that an erasure removed, and says so by field; the rest of its rows counts',
  },
  {
    refuses: 'a participant’s own date in a study that has ended',
    file: 'activities/anchor/authority.ts',
    text: 'return own && (await studyHasEnded(tx, row.study_id))',
    without: `return own && row.study_id === '' && (await studyHasEnded(tx, row.study_id))`,
    test: STATES,
    title: 'participants of one that has ended do not set their date any more; its staff do',
  },
  {
    refuses: 'a participant’s session in a study that is paused',
    file: 'api/assessment/sessions/sessions.service.ts',
    text: `if (caller.participantId !== null) throw problem('VISIT_NOT_OPEN', { detail: warning.message });`,
    without: `if (caller.participantId !== null && phase === 'ended') throw problem('VISIT_NOT_OPEN');`,
    test: STATES,
    title: 'participants of one that is paused start nothing, staff are warned, and what devices have is kept',
  },
  {
    refuses: 'a reminder, sent again, of what is not to do any more',
    file: 'api/notifications/notifications.service.ts',
    text: 'if (not && !OF_THE_CHANNEL.includes(not.reason))',
    without: `if (not && not.reason === '' && !OF_THE_CHANNEL.includes(not.reason))`,
    test: 'test/notifications/resending.test.ts',
    title: 'not of a study that has ended or is paused, nor of a visit that is done',
  },
];
