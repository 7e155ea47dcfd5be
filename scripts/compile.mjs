/**
 * Builds dist/: every .ts and .tsx file becomes JavaScript with a source map, every other file is copied, the workflows
 * become one bundle, and the API, the worker and the program of each of their threads become one file each (join.mjs).
 * `npm run typecheck` checks the types, not this script: `isolatedModules` makes file-by-file translation safe, and it
 * takes a fraction of the time of a checked build. Only changed files are built.
 */
import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { copyFile, mkdir, readFile, readdir, rm } from 'node:fs/promises';
import { dirname, extname, join, relative, sep } from 'node:path';
import { SERVERS, THREADS, joinServers, joinThreads, writeWhole } from './join.mjs';
import { step } from './progress.mjs';

const SOURCES = ['settings.ts', 'api', 'workflows', 'activities', 'db', 'scripts', 'test'];
const SKIPPED = new Set(['node_modules', 'dist', '__pycache__']);
const NOT_COPIED = new Set(['.md', '.mjs', '.cjs', '.pyc']);
const COMPILED = /\.tsx?$/;
const WORKFLOW_BUNDLE = 'workflow-bundle.js';
const JOINED = new Set([...SERVERS, ...THREADS].map((program) => `${program}.ts`));
const OF_SERVERS = /^(settings\.ts$|(api|workflows|activities|db)\/)/;

/**
 * @param {string} root the checkout
 * @returns {Promise<boolean>} whether anything had to be built
 */
export async function build(root) {
  const dist = join(root, 'dist');
  const before = await readManifest(dist);
  const tools = await hashOf(root, ['tsconfig.json', 'package-lock.json', 'scripts/compile.mjs', 'scripts/join.mjs']);
  const stamps = {};
  const sources = await sourceHashes(root, before, stamps);
  const bundle = keyOf(tools, sources, /^workflows\//);
  const servers = keyOf(tools, sources, OF_SERVERS);
  const reusable = before.tools === tools ? before.sources : {};
  const changed = Object.keys(sources).filter(
    (path) => reusable[path] !== sources[path] || !existsSync(outputOf(dist, path)),
  );
  const gone = Object.keys(before.sources).filter((path) => !(path in sources));
  const bundled = before.bundle === bundle && existsSync(join(dist, WORKFLOW_BUNDLE));
  const joined =
    before.servers === servers &&
    [...SERVERS.map((server) => `${server}.js`), ...before.chunks].every((file) => existsSync(join(dist, file)));
  let { chunks, threads = {} } = before;
  const manifest = () =>
    writeWhole(join(dist, '.build.json'), JSON.stringify({ tools, sources, stamps, bundle, servers, chunks, threads }));
  if (changed.length === 0 && gone.length === 0 && bundled && joined) {
    // Written again with the same text, as by a checkout of another branch and back.
    if (Object.keys(stamps).some((path) => before.stamps?.[path] !== stamps[path])) await manifest();
    return false;
  }
  await step(`building (${changed.length} of ${Object.keys(sources).length} files)`, async () => {
    const outputs = await translate(root, dist, changed);
    // The manifest is written last; without it the content of dist is unknown (a migration deleted since would still
    // run).
    if (Object.keys(before.sources).length === 0) await emptyFolder(dist);
    await Promise.all(
      gone
        .flatMap((path) => [outputOf(dist, path), `${outputOf(dist, path)}.map`])
        .map((file) => rm(file, { force: true })),
    );
    await write(outputs);
    if (!bundled) await bundleWorkflows(dist);
    if (!joined) chunks = await joinServers(root, dist, before.chunks);
    threads = await joinThreads(root, dist, threads, new Set([...changed, ...gone]));
    await manifest();
  });
  return true;
}

async function translate(root, dist, paths) {
  const { default: ts } = await import('typescript');
  const config = ts.parseConfigFileTextToJson(
    'tsconfig.json',
    await readFile(join(root, 'tsconfig.json'), 'utf8'),
  ).config;
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  // A single file does not see package.json: state that all of them are ES modules.
  const { rootDir, outDir, incremental, tsBuildInfoFile, ...language } = options;
  const compilerOptions = {
    ...language,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  };
  const faults = [];
  const outputs = [];
  for (const [index, path] of paths.entries()) {
    const from = join(root, path);
    const to = outputOf(dist, path);
    if (!COMPILED.test(path)) {
      outputs.push({ from, to });
      continue;
    }
    const { outputText, sourceMapText, diagnostics } = ts.transpileModule(await readFile(from, 'utf8'), {
      fileName: from,
      reportDiagnostics: true,
      compilerOptions,
    });
    if (diagnostics?.length)
      faults.push(
        ts.formatDiagnostics(diagnostics, {
          getCanonicalFileName: (name) => name,
          getCurrentDirectory: () => root,
          getNewLine: () => '\n',
        }),
      );
    if (JOINED.has(path)) continue;
    const map = { ...JSON.parse(sourceMapText), sources: [relative(dirname(to), from).split(sep).join('/')] };
    outputs.push({ to, text: outputText, map: JSON.stringify(map) });
    // Lets timers run: progress lines and the heartbeat of the lock.
    if (index % 20 === 19) await new Promise((resolve) => setImmediate(resolve));
  }
  // Before anything is written: a program that runs from dist, or is restarted, keeps its old version.
  if (faults.length > 0) throw new Error(`The sources do not compile:\n${faults.join('\n').trim()}`);
  return outputs;
}

async function write(outputs) {
  for (const { from, to, text, map } of outputs) {
    await mkdir(dirname(to), { recursive: true });
    if (from !== undefined) {
      await copyFile(from, to);
      continue;
    }
    await writeWhole(`${to}.map`, map);
    await writeWhole(to, text);
  }
}

async function bundleWorkflows(dist) {
  const workflowsPath = join(dist, 'workflows', 'index.js');
  const converters = {
    payloadConverterPath: join(dist, 'workflows', 'util', 'payload-converter.js'),
    failureConverterPath: join(dist, 'workflows', 'util', 'failure-converter.js'),
  };
  // The bundler silently omits a missing converter, and every workflow fails.
  for (const path of Object.values(converters)) if (!existsSync(path)) throw new Error(`${path} is not built`);
  const { bundleWorkflowCode } = await import('@temporalio/worker');
  const lines = [];
  const keep = (level) => (message, meta) => {
    lines.push(`${level} ${message}${meta?.error ? ` ${meta.error}` : ''}`);
  };
  const logger = {
    log: (level, message, meta) => keep(level)(message, meta),
    trace: keep('trace'),
    debug: keep('debug'),
    info: keep('info'),
    warn: keep('warn'),
    error: keep('error'),
  };
  try {
    const { code } = await bundleWorkflowCode({
      workflowsPath,
      ...converters,
      logger,
    });
    await writeWhole(join(dist, WORKFLOW_BUNDLE), code);
  } catch (fault) {
    throw new Error(`The workflows could not be bundled: ${fault.message}\n${lines.join('\n')}`, { cause: fault });
  }
}

const outputOf = (dist, path) => join(dist, path.replace(COMPILED, '.js'));

/** The inputs of a bundle: its sources (they import nothing else of this project) and the packages. */
const keyOf = (tools, sources, which) =>
  createHash('sha256')
    .update(tools + JSON.stringify(Object.entries(sources).filter(([path]) => which.test(path))))
    .digest('hex');

/**
 * The hash of each source.
 * @param before the manifest of the last build: a file whose stamp is the same since has the same hash
 * @param stamps gets the stamp of each source
 */
async function sourceHashes(root, before, stamps) {
  const hashes = {};
  const add = async (path) => {
    // Before the file is read: a later change has another stamp.
    const stamp = stampOf(join(root, path));
    hashes[path] = before.stamps?.[path] === stamp ? before.sources[path] : await hashOf(root, [path]);
    stamps[path] = stamp;
  };
  const visit = async (folder) => {
    for (const { inside, entry } of await entriesOf(root, folder)) {
      if (entry.isDirectory()) await visit(inside);
      else if (!NOT_COPIED.has(extname(entry.name)) && !entry.name.endsWith('.d.ts')) await add(inside);
    }
  };
  for (const source of SOURCES) {
    if (source.endsWith('.ts')) await add(source);
    else await visit(source);
  }
  return hashes;
}

/** Changes with each write of the file: reading and hashing all sources takes a third of a second at each start. */
function stampOf(file) {
  const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
  return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

/** The folders whose files are built. */
export async function sourceFolders(root) {
  const below = async (folder) => {
    const folders = (await entriesOf(root, folder)).filter(({ entry }) => entry.isDirectory());
    return [folder, ...(await Promise.all(folders.map(({ inside }) => below(inside)))).flat()];
  };
  const tops = SOURCES.filter((source) => !source.endsWith('.ts') && existsSync(join(root, source)));
  return (await Promise.all(tops.map(below))).flat();
}

async function entriesOf(root, folder) {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((fault) => {
    if (fault.code === 'ENOENT') return [];
    throw fault;
  });
  return entries
    .filter(({ name }) => !name.startsWith('.') && !SKIPPED.has(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((entry) => ({ entry, inside: `${folder}/${entry.name}` }));
}

async function hashOf(root, paths) {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(await readFile(join(root, path)));
  return hash.digest('hex');
}

async function readManifest(dist) {
  try {
    return JSON.parse(await readFile(join(dist, '.build.json'), 'utf8'));
  } catch (fault) {
    if (fault.code !== 'ENOENT' && !(fault instanceof SyntaxError)) throw fault;
    return { sources: {} };
  }
}

async function emptyFolder(dist) {
  await mkdir(dist, { recursive: true });
  const names = (await readdir(dist)).filter((name) => name !== '.tsbuildinfo');
  await Promise.all(names.map((name) => rm(join(dist, name), { recursive: true, force: true })));
}

/** The hash of each source in dist, by path. */
export const builtSources = async (root) => (await readManifest(join(root, 'dist'))).sources;
