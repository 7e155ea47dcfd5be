import { expect } from 'chai';
import { ESLint } from 'eslint';

/** It reads its rules and the types of all sources: once for both. */
const eslint = new ESLint();

/** Each line: a file that must not be able to import another. The rule is tried on text, so nothing is written. */
const refused: [file: string, imports: string][] = [
  ['db/client/knex.ts', '../../api/http/errors.js'],
  ['db/client/knex.ts', '../../workflows/contract.js'],
  ['db/client/knex.ts', '../../activities/index.js'],
  ['activities/index.ts', '../api/http/errors.js'],
  ['activities/index.ts', '../workflows/anchor/participant-anchor.workflow.js'],
  ['api/app.ts', '../activities/index.js'],
  ['api/app.ts', '../workflows/anchor/participant-anchor.workflow.js'],
  ['workflows/anchor/participant-anchor.workflow.ts', '../../db/client/knex.js'],
  ['workflows/anchor/participant-anchor.workflow.ts', '../../api/http/errors.js'],
  ['workflows/anchor/participant-anchor.workflow.ts', '../../activities/index.js'],
  ['workflows/domain/anchor/decide.ts', '../../contract.js'],
  ['workflows/domain/anchor/decide.ts', '@temporalio/workflow'],
  ['settings.ts', './db/client/knex.js'],
];
const allowed: [file: string, statement: string][] = [
  [
    'workflows/anchor/participant-anchor.workflow.ts',
    `import type { AnchorActivities } from '../../activities/index.js';\nexport type A = AnchorActivities;`,
  ],
  [
    'api/server.ts',
    `import { participantAnchorId } from '../workflows/contract.js';\nexport const a = participantAnchorId('x');`,
  ],
  [
    'activities/outbox/outbox-relay.ts',
    `import { evaluate } from '../../workflows/domain/anchor/decide.js';\nexport const a = evaluate;`,
  ],
];

describe('lint keeps the direction of imports', function () {
  const faultsOf = async (file: string, code: string) =>
    (await eslint.lintText(code, { filePath: file }))[0]!.messages
      .filter((m) => /import/.test(m.ruleId ?? ''))
      .map((m) => m.ruleId);

  for (const [file, imports] of refused) {
    it(`${file} must not import ${imports}`, async () => {
      expect(
        await faultsOf(file, `import * as other from '${imports}';\nexport const used = other;\n`),
      ).not.to.deep.equal([]);
    });
  }
  it('a circle of imports is found', async () => {
    expect(
      await faultsOf(
        'db/audit/canonical-json.ts',
        `import { checkpointHash } from './audit-signing.js';\nexport const canonicalJson = checkpointHash;\n`,
      ),
    ).to.deep.equal(['import-x/no-cycle']);
  });
  for (const [file, statement] of allowed) {
    it(`${file} may: ${statement.split('\n')[0]}`, async () => {
      expect(await faultsOf(file, `${statement}\n`)).to.deep.equal([]);
    });
  }
});

/** Each line: a file, and code that it must not have. The rule is tried on text, so nothing is written. */
const unescaped: [file: string, code: string][] = [
  ['api/timeline/page.tsx', 'export const page = (name: string) => `<h1>${name}</h1>`;'],
  ['api/portal/portal.service.ts', 'export const open = \'<p class="x">\';'],
  ['api/simulation/plots.ts', 'export const bar = (x: number) => `<rect x="${x}"/>`;'],
  ['activities/notifications/mail.tsx', "export const end = 'one<br>two';"],
  ['workflows/domain/notifications/words.ts', "export const strong = ['<b>', '</b>'];"],
  ['scripts/runtime/mail/mail-page.tsx', "export const own = (text: string) => text.replaceAll('<', '&lt;');"],
  [
    'activities/html/html-document.tsx',
    'export const Raw = ({ html }: { html: string }) => <p dangerouslySetInnerHTML={{ __html: html }} />;',
  ],
  [
    'api/console/html/table.tsx',
    'export const Raw = (of: object) => <p dangerouslySetInnerHTML={{ ...of, __html: "" }} />;',
  ],
];
const escaped: [file: string, code: string][] = [
  ['api/timeline/page.tsx', 'export const Page = ({ name }: { name: string }) => <h1>{name}</h1>;'],
  ['api/http/route.ts', "export const about = 'a map<string, text>, and <code> of a record';"],
  ['activities/capture/client/redact.ts', "export const plain = (text: string) => text.replaceAll('&quot;', 'x');"],
];

describe('lint keeps HTML to components, which escape by themselves', () => {
  const faultsOf = async (file: string, code: string) =>
    (await eslint.lintText(`${code}\n`, { filePath: file }))[0]!.messages
      .filter(({ ruleId }) => ruleId === 'no-restricted-syntax' || ruleId === null)
      .map(({ ruleId, message }) => ruleId ?? message);

  for (const [file, code] of unescaped)
    it(`${file} must not have ${code}`, async () => {
      expect(await faultsOf(file, code)).to.include('no-restricted-syntax');
    });
  for (const [file, code] of escaped)
    it(`${file} may have ${code}`, async () => {
      expect(await faultsOf(file, code)).to.deep.equal([]);
    });
});
