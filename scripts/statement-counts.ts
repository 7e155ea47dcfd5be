/**
 * `npm run statements`: counts the call sites of database statements in db/, api/ and activities/ by their notation.
 * `--list` names each. `--check` fails when they are worse than `REACHED` (test/lint/statements.test.ts).
 */
import { join, relative } from 'node:path';
import ts from 'typescript';
import { refuseUnknownArguments } from './runtime/program.js';

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
  'db/client/request.ts': ['lookUp', 'listAsCaller', 'queryAsCaller'],
};
/** The implementation of the front, and code that runs before there is a schema. */
const LEFT_OUT = [
  ...Object.keys(FRONT),
  'db/client/connection/connection.ts',
  'db/client/bound-knex.ts',
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
  const options = { ...config.options, incremental: false };
  // Comments are ignored.
  const host = { ...ts.createCompilerHost(options), jsDocParsingMode: ts.JSDocParsingMode.ParseNone };
  const program = ts.createProgram(roots, options, host);
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

  function kindOf({ expression: callee }: ts.CallExpression): Kind | undefined {
    // Types are only resolved for possible names: resolving all takes a minute.
    if (ts.isIdentifier(callee)) return kindOfName(callee);
    return ts.isPropertyAccessExpression(callee) && STARTS.test(callee.name.text) ? kindOfMethod(callee) : undefined;
  }

  /** Of a function of the front, or of a pool or transaction called with a table. */
  function kindOfName(callee: ts.Identifier): Kind | undefined {
    const from = fileOf(callee);
    if (from !== undefined && FRONT[from]?.includes(callee.text)) return 'sql';
    return STARTS.test(callee.text) && isKnex(callee) ? 'builder' : undefined;
  }

  function kindOfMethod(callee: ts.PropertyAccessExpression): Kind | undefined {
    const name = callee.name.text;
    const from = fileOf(callee.name);
    if (from === undefined) return undefined;
    if (FRONT[from]?.includes(name)) return 'sql';
    if (from.includes('node_modules/objection/')) {
      return /^(\$?query|\$?relatedQuery|\$fetchGraph|fetchGraph)$/.test(name) ? 'objection' : undefined;
    }
    if (from.includes('node_modules/knex/')) {
      if (!isKnex(callee.expression)) return undefined;
      return name === 'raw' ? 'outside' : 'builder';
    }
    if (/node_modules\/@types\/(pg|pg-copy-streams)\//.test(from)) return name === 'query' ? 'outside' : undefined;
    return undefined;
  }

  /**
   * The file that declares what a name means. The symbol has it; to resolve the signature of a call, all its
   * arguments would have to be checked, which takes three times as long.
   */
  function fileOf(name: ts.Node): string | undefined {
    const symbol = checker.getSymbolAtLocation(name);
    const meant = symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    const source = meant?.declarations?.[0]?.getSourceFile();
    return source && relative(root, source.fileName).replaceAll('\\', '/');
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
        const { expression: callee } = parent;
        const from = fileOf(ts.isPropertyAccessExpression(callee) ? callee.name : callee) ?? '';
        if (/node_modules\/(knex|objection)\//.test(from)) return true;
      }
    }
    return false;
  }
}

refuseUnknownArguments('npm run statements [-- --list] [--check]', ['--list', '--check']);
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
