import { expect } from 'chai';
import { ESLint } from 'eslint';

/** Each line: a file, and code that it must not have. The rule is tried on text, so nothing is written. */
const refused: [file: string, code: string][] = [
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
const allowed: [file: string, code: string][] = [
  ['api/timeline/page.tsx', 'export const Page = ({ name }: { name: string }) => <h1>{name}</h1>;'],
  ['api/http/route.ts', "export const about = 'a map<string, text>, and <code> of a record';"],
  ['activities/capture/client/redact.ts', "export const plain = (text: string) => text.replaceAll('&quot;', 'x');"],
];

describe('lint keeps HTML to components, which escape by themselves', () => {
  const eslint = new ESLint();
  const faultsOf = async (file: string, code: string) =>
    (await eslint.lintText(`${code}\n`, { filePath: file }))[0]!.messages
      .filter(({ ruleId }) => ruleId === 'no-restricted-syntax' || ruleId === null)
      .map(({ ruleId, message }) => ruleId ?? message);

  for (const [file, code] of refused)
    it(`${file} must not have ${code}`, async () => {
      expect(await faultsOf(file, code)).to.include('no-restricted-syntax');
    });
  for (const [file, code] of allowed)
    it(`${file} may have ${code}`, async () => {
      expect(await faultsOf(file, code)).to.deep.equal([]);
    });
});
