import { en as participant } from './participants/participant.js';
import { en as participants } from './participants/participants.js';
import { en as capture } from './capture/capture.js';
import { en as audit } from './audit.js';
import { en as auditCodes } from './service/audit-codes.js';
import { en as pager } from './pager.js';
import { en as users } from './users.js';
import { en as reports } from './reports.js';
import { refusals } from './service/refusals.js';
import { fields, kinds, rules } from './service/rules.js';
import { en as inbox } from './inbox.js';
import { en as today } from './today.js';

import { en as policy } from './studies/policy.js';
import { en as studies } from './studies/studies.js';
import { en as batteries } from './studies/batteries.js';
import { en as connection } from './capture/connection.js';
import { en as edit } from './studies/edit.js';
import { en as events } from './studies/events.js';
import { en as mapping } from './capture/mapping.js';
import { en as members } from './studies/members.js';
import { en as messages } from './studies/messages.js';
import { en as newStudy } from './studies/new-study.js';
import { en as sites } from './studies/sites.js';
import { en as templates } from './studies/templates.js';
interface ProblemWords {
  title: string;
  what: string;
}

/** The console's words. `Words` is their shape in every language. */
export const en = {
  product: 'Research Assessment Platform',
  participant,
  participants,
  batteries,
  connection,
  edit,
  events,
  mapping,
  members,
  messages,
  newStudy,
  sites,
  templates,
  skip: 'Skip to content',
  navigation: {
    label: 'Main',
    inbox: 'Inbox',
    today: 'Today',
    audit: 'Audit',
    reports: 'Reports',
    users: 'Users',
    waiting: 'waiting',
  },
  menu: {
    settings: 'Settings',
    theme: 'Theme',
    themes: { auto: 'As the device', light: 'Light', dark: 'Dark' },
    language: 'Language',
    languages: { en: 'English', de: 'Deutsch' },
    logout: 'Log out',
    logoutEverywhere: 'Log out everywhere',
  },
  roles: {
    admin: 'Admin',
    researcher: 'Researcher',
    coordinator: 'Coordinator',
    investigator: 'Investigator',
    data_manager: 'Data manager',
  },
  idle: {
    warn: 'You will be logged out soon because nothing was done for a while.',
    over: 'You have been logged out. What you typed is still here: log in in the new tab, then send this page again.',
    away:
      'The service is not reached. Nothing was sent, and what you typed is still here: try again when you are ' +
      'online.',
    stay: 'Stay logged in',
    login: 'Log in (opens a new tab)',
  },
  login: {
    title: 'Log in',
    email: 'Email',
    password: 'Password',
    submit: 'Log in',
    forgot: 'Forgotten password?',
    wrong: 'Email or password is wrong, or the account is locked for now.',
    ended: 'Your login has ended. Log in again to continue.',
    toApproval: 'After the login you see the request, and approve or deny it.',
    toPage: 'After the login you see the page of your link.',
    loggedOut: 'You are logged out.',
    passwordSaved: 'Your password is saved. Log in with it.',
    typedKept: 'What you typed was not sent. You get it back after the login.',
    resumed: 'You are logged in again',
    resumedWhat: 'What you typed was not sent. Copy it, then go back to the page.',
    resumedBack: 'Back to the page',
    codeTitle: 'Second factor',
    code: 'Code of your authenticator, or a recovery code',
    codeHint: 'Six digits, or a recovery code such as abcd-efgh-jkmn-pqrs.',
    codeSubmit: 'Continue',
    codeWrong: 'The code is wrong or was used already.',
    startOver: 'Start over',
    setupTitle: 'Set up a second factor',
    setupWhat:
      'Your role needs a second factor. Scan this code with an authenticator app, or type the key into it. Then type ' +
      'the code that the app shows.',
    setupCodeImage: 'QR code of the key below',
    setupKey: 'Key',
    setupOpen: 'Open in an authenticator app',
    setupRecovery: 'Recovery codes',
    setupRecoveryWhat: 'Keep these codes in a safe place. Each works once if you lose your device.',
    setupBegin: 'Show the key',
    setupCode: 'Code of the authenticator, six digits',
  },
  password: {
    forgotTitle: 'Forgotten password',
    forgotWhat: 'We send you a link by which you choose a new password.',
    forgotSubmit: 'Send the link',
    sent: 'If there is an account with this email, the link is on its way. It works once.',
    resetTitle: 'Choose a new password',
    acceptTitle: 'Choose your password',
    acceptWhat: 'Welcome. Choose a password to begin.',
    token: 'Code of your link',
    tokenHint:
      'It is filled in from the link in your mail. Without JavaScript, copy what follows “#token=” in the link.',
    new: 'New password',
    newHint: 'At least 12 characters.',
    repeat: 'New password once more',
    differ: 'The two are not the same.',
    revoke: 'End my access tokens (programs) too',
    submit: 'Save',
    invalid: 'The link is invalid, has expired, or was used already. Ask for a new one.',
    toLogin: 'Back to the login',
  },
  problems: {
    title: 'That did not work',
    back: 'Back',
    typed: 'What you typed',
    reference: 'If you ask for help, give this reference:',
    byStatus: {
      403: { title: 'Not allowed', what: 'Your role does not allow this.' },
      404: { title: 'Not found', what: 'There is nothing at this address, or you may not see it.' },
      405: { title: 'Not possible here', what: 'This address shows a page; it does not accept form data.' },
      409: { title: 'It has changed', what: 'Somebody changed this in the meantime. Open the page again.' },
      429: { title: 'Too many requests', what: 'Wait a minute, then try again.' },
      500: { title: 'Something went wrong', what: 'The error is recorded. Try again; if it persists, ask for help.' },
      503: { title: 'Not available right now', what: 'A part of the service does not answer. Try again in a moment.' },
    } as Record<number, ProblemWords>,
    refusals: refusals.en,
    rules: rules.en,
    fields: fields.en,
    kinds: kinds.en,
    unknown: (code: string) => `The service refused this: ${code}.`,
    byCode: {
      CSRF_REFUSED: {
        title: 'Nothing was saved',
        what: 'The form is out of date or was sent from another site. Open the page again and send it from there.',
      },
    } as Record<string, ProblemWords>,
  },
  inbox,
  today,
  approval: {
    title: 'Approval: enrollment date',
    lead: (code: string) => `Enrollment date of ${code}`,
    from: 'Now',
    to: 'Requested',
    /** Of a completed change. */
    was: 'Before',
    is: 'Now',
    days: (n: number) => `${Math.abs(n)} ${Math.abs(n) === 1 ? 'day' : 'days'} ${n < 0 ? 'earlier' : 'later'}`,
    sameDay: 'the same day',
    study: 'Study',
    participant: 'Participant',
    site: 'Site',
    noSite: 'None',
    askedBy: 'Requested by',
    reason: 'Reason',
    noReason: 'No reason was given',
    deadline: 'Decide by',
    deadlineWhat: 'Without a decision the request is denied.',
    warnings: 'Warnings',
    visits: 'What happens to the visits',
    visitsCaption: (n: number) => (n === 1 ? '1 visit' : `${n} visits`),
    noVisits: 'No visit is affected.',
    noSchedule: 'The schedule stays as it is: the request does not regenerate it.',
    visit: 'Visit',
    action: 'Action',
    before: 'From',
    after: 'To',
    notes: 'Note',
    actions: { keep: 'Keep', move: 'Move', supersede: 'Supersede', new: 'New' } as Record<string, string>,
    warningsByCode: {
      WINDOW_ALREADY_CLOSED: 'The new window of some visits is closed already',
      SCHEDULE_NOT_REGENERATED: 'The schedule is not regenerated',
      LARGE_SHIFT: 'The date moves by more days than the policy expects',
    } as Record<string, string>,
    changed: 'Changed',
    effect: (counts: string) => `Visits: ${counts}.`,
    counts: {
      move: (n: number) => `${n} ${n === 1 ? 'moves' : 'move'}`,
      new: (n: number) => `${n} ${n === 1 ? 'is' : 'are'} new`,
      supersede: (n: number) => `${n} ${n === 1 ? 'is' : 'are'} superseded`,
      keep: (n: number) => `${n} ${n === 1 ? 'stays' : 'stay'}`,
    },
    warningCount: (n: number) => (n === 1 ? 'See the warning.' : `See the ${n} warnings.`),
    decide: 'Your decision',
    decisionReason: 'Reason for the decision',
    decisionReasonHint: 'It is kept in the audit record.',
    reasonNeeded: 'Give a reason.',
    proof: 'Your password, or a six-digit code',
    proofHint: 'A decision is a signature: the study asks the signer to prove identity again.',
    approve: 'Approve',
    deny: 'Deny',
    own: 'You requested this change. Another person decides it.',
    notApprover: 'The study’s policy does not let your role decide this.',
    stale: 'The schedule has changed since this page was opened',
    staleWhat: 'Nothing was decided. Check the new preview: what differs is marked. Then decide again.',
    sinceRequest: 'The preview has changed since the request. What differs is marked.',
    removed: (names: string) => `No longer affected: ${names}.`,
    impossible: 'The change cannot be approved at present:',
    already: 'It is decided already',
    yours: 'Your first answer was carried out. This one changed nothing.',
    notYours: 'Your answer came second and changed nothing.',
    approved: 'Approved',
    denied: 'Denied',
    pending: 'Waiting',
    expired: 'Expired',
    expiredWhat: 'Nobody decided in time; the date stays as it was.',
    hasWithdrawn: 'The participant withdrew before anybody had decided.',
    decidedBy: 'Decided by',
    decidedAt: 'Decided on',
    decidedReason: 'Reason of the decision',
    nobody: 'The service, without a person',
    done: {
      approved: (date: string) => `Approved. The enrollment date is now ${date}, and the visits have moved.`,
      approvedAlone: (date: string) => `Approved. The enrollment date is now ${date}.`,
      denied: 'Denied. Nothing has changed.',
    },
    proofWrong: 'The password or code is wrong.',
    proofNeeded: 'This study asks for your password or a code again.',
    toInbox: 'Back to the inbox',
  },
  capture,
  audit,
  auditCodes,
  pager,
  reports,
  users,
  policy,
  studies,
};

export type Words = typeof en;
