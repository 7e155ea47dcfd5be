/**
 * `npm run statements`: counts the call sites of database statements in db/, api/ and activities/ by their notation.
 * `--list` names each. `--check` fails when they are worse than `REACHED` (test/lint/statements.test.ts).
 */
import { join, relative } from 'node:path';
import ts from 'typescript';

const KINDS = ['objection', 'builder', 'sql', 'outside'] as const;
type Kind = (typeof KINDS)[number];
const MEANING: Record<Kind, string> = {
  objection: 'Objection models',
  builder: 'Knex query builder',
  sql: 'SQL through the front (db/client/query.ts)',
  outside: 'SQL outside the front',
};

/**
 * The present state: the least share of models and builder, in percent, and the most call sites outside of the front. A
 * change that improves them updates these numbers.
 */
const REACHED = { share: 61, outside: 3 };

/** The functions that take SQL text, by the file that declares them. */
const FRONT: Record<string, readonly string[]> = {
  'db/client/query.ts': ['query', 'execute', 'prepared', 'queryAll', 'queryAllAsPlanned'],
  'db/client/one-trip.ts': ['queryInSingleRoundTrip', 'queriesInSingleRoundTrip', 'writeInSingleRoundTrip'],
  'db/client/sets/bulk-insert.ts': ['insertRows', 'insertMany'],
  'db/client/transaction.ts': ['readOneInScope', 'writeInScope'],
  'db/client/request.ts': ['listAsCaller', 'queryAsCaller'],
};
/** The implementation of the front, and code that runs before there is a schema. */
const LEFT_OUT = [
  ...Object.keys(FRONT),
  'db/client/connection/connection.ts',
  'db/client/opening.ts',
  'db/migrate.ts',
  'db/schema-dump.ts',
];
const FOLDERS = ['db', 'api', 'activities'];

/** Names that begin a statement, or that denote a pool or transaction. */
const STARTS =
  /^(raw|query|\$?relatedQuery|\$query|\$?fetchGraph|select|with|from|into|insert|table|queryBuilder|database|tx|db|lock)$/;

interface CallSite {
  kind: Kind;
  file: string;
  line: number;
}

/** Finds each call site that runs a statement; a part of another statement counts with that one. */
function callSites(root: string): CallSite[] {
  const config = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile).config,
    ts.sys,
    root,
  );
  // With what they import, without the tests.
  const roots = config.fileNames.filter((name) =>
    FOLDERS.some((folder) => relative(root, name).replaceAll('\\', '/').startsWith(`${folder}/`)),
  );
  const program = ts.createProgram(roots, { ...config.options, incremental: false });
  const checker = program.getTypeChecker();
  const sites: CallSite[] = [];
  for (const source of program.getSourceFiles()) {
    const file = relative(root, source.fileName).replaceAll('\\', '/');
    const counted = FOLDERS.some((folder) => file.startsWith(`${folder}/`)) && !file.startsWith('db/migrations/');
    if (!counted || LEFT_OUT.includes(file)) continue;
    const visit = (node: ts.Node): void => {
      const kind = ts.isCallExpression(node) ? kindOf(node) : undefined;
      if (kind && !isPart(node)) {
        const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
        sites.push({ kind, file, line: line + 1 });
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return sites;

  function kindOf(call: ts.CallExpression): Kind | undefined {
    const { expression: callee } = call;
    // Types are only resolved for possible names: resolving all takes a minute.
    if (ts.isPropertyAccessExpression(callee) ? !STARTS.test(callee.name.text) : !ts.isIdentifier(callee))
      return undefined;
    const declared = declarationOf(call);
    if (!declared) return undefined;
    const from = relative(root, declared.getSourceFile().fileName).replaceAll('\\', '/');
    const name = ts.isPropertyAccessExpression(callee) ? callee.name.text : ts.isIdentifier(callee) ? callee.text : '';
    if (FRONT[from]?.includes(name)) return 'sql';
    if (from.includes('node_modules/objection/')) {
      return /^(\$?query|\$?relatedQuery|\$fetchGraph|fetchGraph)$/.test(name) ? 'objection' : undefined;
    }
    if (from.includes('node_modules/knex/')) {
      if (!isKnex(ts.isPropertyAccessExpression(callee) ? callee.expression : callee)) return undefined;
      if (name === 'raw') return 'outside';
      return ['transaction', 'ref', 'destroy', 'savepoint', 'acquireConnection'].includes(name) ? undefined : 'builder';
    }
    if (/node_modules\/@types\/(pg|pg-copy-streams)\//.test(from)) return name === 'query' ? 'outside' : undefined;
    return undefined;
  }

  function declarationOf(call: ts.CallExpression): ts.Node | undefined {
    return checker.getResolvedSignature(call)?.declaration;
  }

  /** Whether it is a pool or a transaction, not a query under construction. */
  function isKnex(expression: ts.Expression): boolean {
    const type = checker.getTypeAtLocation(expression);
    return type.getProperty('batchInsert') !== undefined || type.getProperty('schema') !== undefined;
  }

  /** Whether a call is an argument of a call that builds a statement: a fragment, a subquery, an inner table. */
  function isPart(call: ts.Node): boolean {
    for (let node = call; node.parent; node = node.parent) {
      const { parent } = node;
      if (ts.isStatement(parent) || ts.isVariableDeclaration(parent) || ts.isFunctionLike(parent)) return false;
      // A column's value.
      if (ts.isPropertyAssignment(parent)) return true;
      if (ts.isCallExpression(parent) && parent.expression !== node) {
        const from = declarationOf(parent)?.getSourceFile().fileName ?? '';
        if (/node_modules\/(knex|objection)\//.test(from)) return true;
      }
    }
    return false;
  }
}

const sites = callSites(process.cwd());
const count = (kind: Kind) => sites.filter((site) => site.kind === kind).length;
const percent = (part: number) => (100 * part) / sites.length;
for (const kind of KINDS)
  console.log(`${String(count(kind)).padStart(4)} ${percent(count(kind)).toFixed(1).padStart(5)} %  ${MEANING[kind]}`);
if (process.argv.includes('--list')) for (const { kind, file, line } of sites) console.log(`${kind} ${file}:${line}`);

const share = percent(count('objection') + count('builder'));
console.log(`models and builder: ${share.toFixed(1)} % (at least ${REACHED.share} %)`);
console.log(`outside the front: ${count('outside')} (at most ${REACHED.outside})`);
if (process.argv.includes('--check') && (share < REACHED.share || count('outside') > REACHED.outside)) {
  console.error('A statement is written by a model, by the builder, or goes through db/client/query.ts.');
  process.exitCode = 1;
}
