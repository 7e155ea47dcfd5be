import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { root } from '../support/environment.js';
import { checkoutFiles } from '../support/sources.js';

const MAX_LINES = 400;

/** Longer files, each with the reason why it is one. A file that fits again leaves the list. */
const LONGER: Record<string, string> = {
  'settings.ts': 'the one reader of the environment, with the reason of each setting',
  'test/anchor/decisions.test.ts': 'each row of the table of decisions, in its order',
  'test/anchor/edc.test.ts': 'one capture study, told in order',
  'test/anchor/errors.test.ts': 'each error of the anchor date, in the contract’s order',
  'test/anchor/evaluation.test.ts': 'each source and mode of a policy',
  'test/anchor/policy.test.ts': 'each rule of a policy document',
  'test/anchor/signals.test.ts': 'each message a workflow takes',
  'test/anchor/transitions.test.ts': 'each arrow between anchor states',
  'test/api/caregiver-portal.test.ts': 'one household, told in order',
  'test/api/conventions.test.ts': 'each convention of the contract',
  'test/api/participants.test.ts': 'each operation on a participant',
  'test/api/portal-page.test.ts': 'each thing that a participant does on the page, in one browser',
  'test/api/v1.test.ts': 'each operation of /api/v1',
  'test/assessment/sessions.test.ts': 'one session from start to end, and each way in between',
  'test/assessment/sync.test.ts': 'each rule of offline sync, over one device',
  'test/capture/config.test.ts': 'each field of a capture configuration',
  'test/capture/push.test.ts': 'each thing a capture system may answer to a push',
  'test/capture/trigger.test.ts': 'each outcome of a trigger',
  'test/data/export.test.ts': 'each format of each export',
  'test/data/import.test.ts': 'each rule of a file of participants',
  'test/notifications/providers.test.ts': 'each thing a mail, SMS or push provider may answer',
  'test/notifications/sending.test.ts': 'each state of a notification',
};

const MAX_FILES = 20;

/** Folders with more sources, each with the reason why. Tests lie by guarantee, whatever their number. */
const FULLER: Record<string, string> = {
  'db/migrations': 'one file for each change of the schema, forever',
  scripts: 'one file for each command of package.json, and what the commands begin with',
};

const MAX_COLUMNS = 120;

/** Sources with longer lines, each with the reason why. The formatter breaks code; this is about texts. */
const WIDER: Record<string, string> = {
  'api/console/users/access-fields.tsx': 'the formatter writes a space in JSX behind the line',
  'api/events/event-subscriptions.routes.ts': 'paragraphs of Markdown',
  'api/events/events.routes.ts': 'paragraphs of Markdown',
  'api/http/documents/pages.tsx': 'the formatter writes a space in JSX behind the line',
  'api/http/openapi/document.ts': 'paragraphs of Markdown',
  'api/http/openapi/permissions.ts': 'paragraphs of Markdown',
  'api/imports/files/rows.ts': 'regular expressions',
  'api/reports/document/style.ts': 'rules of CSS',
  'db/client/connection/driver-faults.ts': 'a regular expression',
  'scripts/console/work-in-progress.ts': 'JSON inside a statement',
  'scripts/contract/allowed.ts': 'a regular expression',
  'scripts/runtime/mail/mail-page.tsx': 'a rule of CSS',
  'scripts/statement-counts.ts': 'a regular expression',
  'settings.ts': 'a regular expression',
};

describe('files stay small', () => {
  const files = checkoutFiles().filter((path) => /\.(tsx?|mjs|cjs|js|py|css|html)$/.test(path));
  const lines = new Map(files.map((path) => [path, readFileSync(join(root, path), 'utf8').split('\n').length - 1]));

  it(`none of the sources has more than ${MAX_LINES} lines without a reason`, () => {
    expect(files.length).to.be.greaterThan(500);
    const unexplained = [...lines].filter(([path, count]) => count > MAX_LINES && !(path in LONGER));
    expect(unexplained).to.deep.equal([]);
  });

  it(`no line outside of tests and migrations has more than ${MAX_COLUMNS} columns without a reason`, () => {
    const wide = files
      .filter((path) => /^((api|workflows|activities|db|scripts)\/|settings\.ts)/.test(path))
      .filter((path) => !path.startsWith('db/migrations/') && /\.(tsx?|mjs)$/.test(path))
      .filter((path) =>
        readFileSync(join(root, path), 'utf8')
          .split('\n')
          .some((line) => line.length > MAX_COLUMNS),
      );
    expect(wide.sort()).to.deep.equal(Object.keys(WIDER).sort());
  });

  it('no reason is kept for a file that is gone or fits', () => {
    expect(Object.keys(LONGER).filter((path) => (lines.get(path) ?? 0) <= MAX_LINES)).to.deep.equal([]);
  });

  it(`no folder outside of the tests has more than ${MAX_FILES} sources without a reason`, () => {
    const folders = new Map<string, number>();
    for (const path of files) folders.set(dirname(path), (folders.get(dirname(path)) ?? 0) + 1);
    const full = [...folders].filter(([folder, count]) => count > MAX_FILES && !/^test(\/|$)/.test(folder));
    expect(full.map(([folder]) => folder).sort()).to.deep.equal(Object.keys(FULLER));
  });
});
