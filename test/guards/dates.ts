import type { Guard } from './guard.js';

/** Mistyped years, dates in the wrong order, and numbers that are no longer what was typed. */
export const dateGuards: readonly Guard[] = [
  {
    refuses: 'facts of a mistyped year',
    file: 'api/participants/participants.service.ts',
    text: 'if (at.toISOString() < FIRST_LIVED_DAY)',
    without: "if (at.toISOString() < '')",
    test: 'test/api/past-dates.test.ts',
    title: 'a year before the birth of all participants',
  },
  {
    refuses: 'dates of birth of a mistyped year',
    file: 'api/participants/participants.service.ts',
    text: 'if (born < FIRST_LIVED_DAY)',
    without: "if (born < '')",
    test: 'test/api/past-dates.test.ts',
    title: 'a date of birth is refused likewise',
  },
  {
    refuses: 'dates of birth of a mistyped year in files',
    file: 'api/imports/participant-import-plan.ts',
    text: 'return born < FIRST_LIVED_DAY ?',
    without: "return born < '' ?",
    test: 'test/api/past-dates.test.ts',
    title: 'a date of birth is refused likewise',
  },
  {
    refuses: 'dates of birth of a mistyped year in records',
    file: 'workflows/domain/capture/participant.ts',
    text: '(taken < FIRST_LIVED_DAY ||',
    without: "(taken < '' ||",
    test: 'test/api/past-dates.test.ts',
    title: 'a record of the capture system',
  },
  {
    refuses: 'days of a study of a mistyped year',
    file: 'api/studies/studies.service.ts',
    text: 'if (given[field] && given[field] < FIRST_LIVED_DAY)',
    without: "if (given[field] && given[field] < '')",
    test: 'test/api/past-dates.test.ts',
    title: 'so are days of a study',
  },
  {
    refuses: 'visits of a mistyped year',
    file: 'api/scheduling/visits.service.ts',
    text: 'if (target < FIRST_LIVED_DAY)',
    without: "if (target < '')",
    test: 'test/api/past-dates.test.ts',
    title: 'so are days of a study',
  },
  {
    refuses: 'a revocation before the signature',
    file: 'api/participants/consents.service.ts',
    text: "throw brokenRule('revoked_at', 'REVOKED_BEFORE_SIGNED', 'lies before signed_at');",
    without: '',
    test: 'test/api/past-dates.test.ts',
    title: 'a given revocation before the signature',
  },
  {
    refuses: 'numbers without decimals that a spreadsheet program has shortened',
    file: 'api/imports/files/rows.ts',
    text: String.raw`const SHORTENED = /^\d(?:[.,]\d+)?E\+\d{2,3}$/;`,
    without: String.raw`const SHORTENED = /^\d[.,]\d+E\+\d{2,3}$/;`,
    test: 'test/data/import-shown.test.ts',
    title: 'a text that a CSV file keeps as a formula',
  },
];
