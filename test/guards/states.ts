import type { Guard } from './guard.js';

const STATES = 'test/api/study-states.test.ts';
const CLOSED_SITES = 'test/capture/closed-sites.test.ts';
const PLAN = 'api/imports/participant-import-plan.ts';
const ENROLLS_NOBODY = 'one that has ended enrolls nobody, by hand or by a file; those who are enrolled are corrected';
const SETTLED =
  'whoever completes or cancels one that somebody else settled otherwise meanwhile is told, and keeps what was typed';

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
    refuses: 'an enrollment by hand at a site that is closed',
    file: 'api/participants/participants.service.ts',
    text: `if (closed) throw problem('SITE_CLOSED');`,
    without: `if (closed && studyId === '') throw problem('SITE_CLOSED');`,
    test: CLOSED_SITES,
    title: 'takes no new participants by hand or by a file; those who are there stay',
  },
  {
    refuses: 'a move to a site that is closed',
    file: 'api/participants/participants.service.ts',
    text: `if (closed && changed.includes('site_id')) throw problem('SITE_CLOSED');`,
    without: `if (closed && changed.includes('id')) throw problem('SITE_CLOSED');`,
    test: CLOSED_SITES,
    title: 'takes no new participants by hand or by a file; those who are there stay',
  },
  {
    refuses: 'a row of a file at a site that is closed',
    file: PLAN,
    text: 'return site.closed && site.id !== known?.site_id ? [siteClosed] : [];',
    without: `return site.closed && site.id === '' ? [siteClosed] : [];`,
    test: CLOSED_SITES,
    title: 'takes no new participants by hand or by a file; those who are there stay',
  },
  {
    refuses: 'an enrollment from the capture system at a site that is closed',
    file: 'activities/capture/write-participants.ts',
    text: 'if (isClosed && !row) {',
    without: `if (isClosed && !row && origin.study_id === '') {`,
    test: CLOSED_SITES,
    title: 'takes no new participants from the capture system, which names the site, until it is active again',
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
  {
    refuses: 'another schedule for who withdraws while a change of the study is under way',
    file: 'workflows/domain/anchor/reanchoring.ts',
    text: `if (facts.participant.status === 'withdrawn') return null;`,
    without: '',
    test: 'test/anchor/study-changes.test.ts',
    title: 'who withdraws while a change is under way keeps the schedule as it was',
  },
  {
    refuses: 'visits ahead in the timeline of a participant whose study has ended',
    file: 'api/timeline/portal.ts',
    text: 'nothingAhead: subject.study_ended,',
    without: '',
    test: 'test/api/study-states.test.ts',
    title: 'participants of one that has ended see no visit ahead, in their list and in their timeline alike',
  },
  {
    refuses: 'a dry run of what a retired battery would refuse',
    file: 'api/v1/v1-authoring.service.ts',
    text: `const isRetired = before?.status === 'retired';`,
    without: `const isRetired = before?.status === 'retired' && code === '';`,
    test: 'test/api/v1.test.ts',
    title: 'a dry run is refused as the change would be',
  },
  {
    refuses: 'a window of two batteries',
    file: 'api/v1/v1-authoring.service.ts',
    text: 'if (battery_code && wanted.battery_id != null && wanted.battery_id !== batteryId)',
    without: 'if (battery_code && wanted.battery_id === 0 && wanted.battery_id !== batteryId)',
    test: 'test/api/v1.test.ts',
    title: 'makes a window, whose battery is named by its code, and schedules follow',
  },
  {
    refuses: 'a completion in the console for another day than the recorded one',
    file: 'api/console/today/visit.routes.ts',
    text: `if (day !== '' && dateIn(String(visit.completed_at), surroundings.zone) !== day) throw problem('STALE');`,
    without: `if (visit.id === '') throw problem('STALE');`,
    test: 'test/console/today.test.ts',
    title: SETTLED,
  },
  {
    refuses: 'a cancellation in the console for another reason than the recorded one',
    file: 'api/console/today/visit.routes.ts',
    text: `if (status === 'cancelled' && status_reason !== reason.slice(0, REASON_WIDTH)) throw problem('STALE');`,
    without: `if (status === 'cancelled' && status_reason === '' && REASON_WIDTH === 0) throw problem('STALE');`,
    test: 'test/console/today.test.ts',
    title: SETTLED,
  },
  {
    refuses: 'the summary of a morning on another day',
    file: 'activities/notifications/send.ts',
    text: `if (dateIn(row.created_at, 'UTC') < dateIn(nowIso(), 'UTC'))`,
    without: `if (dateIn(row.created_at, 'UTC') > dateIn(nowIso(), 'UTC'))`,
    test: 'test/notifications/staff-mails.test.ts',
    title: 'a morning’s summary that waited until another day is not sent: that day’s has its visits',
  },
];
