import { expect } from 'chai';
import { ESLint } from 'eslint';

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
  const eslint = new ESLint();
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
