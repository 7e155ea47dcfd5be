/** Joins the modules of a program to one file: to find, read and compile them one by one is most of its start. */
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';

/** Each becomes one file, with a shared one in chunks/: the API has 860 modules. */
export const SERVERS = ['api/main', 'activities/main'];
/** The programs of threads, which both start by their paths. Each becomes one file, with all of its packages. */
export const THREADS = [
  'activities/notifications/mail-thread/thread',
  'activities/simulation/thread',
  'api/assessment/batteries/custom-schema-thread',
  'api/exports/full-study/thread',
  'api/imports/files/csv-thread',
  'api/imports/files/workbook/thread',
  'api/notifications/bounces/thread',
  'api/reports/document/drawing.worker',
];
/**
 * The packages that servers join as well: of many files, which take a quarter of the remaining start to find and read.
 * All else stays outside: what has native parts or files of its own, what is loaded late, and what shares classes or
 * settings with another package outside (pg, Temporal's, OpenTelemetry's).
 */
const JOINED = new Set([
  ...[
    'knex',
    'objection',
    'typebox',
    'ajv',
    'ajv-formats',
    '@marcbachmann/cel-js',
    'temporal-polyfill',
    'csv-stringify',
  ],
  ...['koa', '@koa/router', 'koa-body', '@fastify/busboy', 'rate-limiter-flexible', 'ioredis', 'ipaddr.js'],
  ...['nodemailer', 'web-push'],
  ...['jose', 'jsonwebtoken', 'otplib', 'qrcode-generator', 'preact', 'preact-render-to-string'],
]);
/** What joined packages import of those outside, or only if it is installed. */
const OUTSIDE = new Set(['pg', 'pg-native', 'pg-query-stream', 'mysql', 'mysql2', 'sqlite3', 'better-sqlite3']);
for (const driver of ['mariadb', 'tedious', 'oracledb']) OUTSIDE.add(driver);
const CHUNKS = 'chunks';

/**
 * Writes the API and the worker as one file each, with the packages of JOINED.
 * @param {string[]} chunks of the build before: a server that still runs from it may need them later
 * @returns {Promise<string[]>} the chunks of this build, by their paths in dist
 */
export async function joinServers(root, dist, chunks = []) {
  const output = await joined(root, SERVERS, { external: isOutside }, { chunkFileNames: `${CHUNKS}/[name]-[hash].js` });
  await mkdir(join(dist, CHUNKS), { recursive: true });
  const inChunks = ({ fileName }) => fileName.startsWith(`${CHUNKS}/`);
  // Chunks first: a server that starts meanwhile finds what it imports.
  await write(dist, [...output.filter(inChunks), ...output.filter((file) => !inChunks(file))]);
  const names = output.filter(inChunks).map(({ fileName }) => fileName);
  const kept = new Set([...names, ...chunks]);
  for (const name of await readdir(join(dist, CHUNKS)))
    if (!kept.has(`${CHUNKS}/${name}`)) await rm(join(dist, CHUNKS, name));
  return names;
}

/**
 * Writes the programs of threads. Each is built by itself: a file that several share would bring each of them what it
 * does not need.
 * @param {Record<string, string[]>} before the sources of each thread, as the build before returned them
 * @param {Set<string>} changed the sources that were changed or removed since
 * @returns {Promise<Record<string, string[]>>} the sources of each thread
 */
export async function joinThreads(root, dist, before, changed) {
  const one = async (thread) => {
    const sources = before[thread];
    if (sources !== undefined && !sources.some((source) => changed.has(source))) return [thread, sources];
    const output = await joined(root, [thread], {}, { codeSplitting: false });
    await mkdir(dirname(join(dist, thread)), { recursive: true });
    await write(dist, output);
    return [thread, output.flatMap(({ moduleIds = [] }) => moduleIds.flatMap((file) => sourceOf(root, file)))];
  };
  return Object.fromEntries(await Promise.all(THREADS.map(one)));
}

const sourceOf = (root, file) => {
  const path = relative(root, file);
  return isAbsolute(path) || path.startsWith('..') || path.startsWith('node_modules')
    ? []
    : [path.split(sep).join('/')];
};

/** @param {string[]} programs by their paths in the checkout, without an extension */
async function joined(root, programs, input, output) {
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(programs.map((program) => [program, join(root, `${program}.ts`)])),
    platform: 'node',
    tsconfig: join(root, 'tsconfig.json'),
    // A package says `eval` once, in a message about deprecated functions.
    checks: { eval: false },
    resolve: { extensionAlias: { '.js': ['.ts', '.tsx', '.js'] } },
    plugins: [placeOfEachModule(root, programs)],
    ...input,
  });
  try {
    const { output: files } = await bundle.generate({
      format: 'esm',
      // The engine names classes in errors, and the database layer tells models by their names.
      keepNames: true,
      sourcemap: true,
      sourcemapExcludeSources: true,
      entryFileNames: '[name].js',
      ...output,
    });
    return files;
  } finally {
    await bundle.close();
  }
}

/** A module finds its files beside itself, where it would stand alone. All outputs are in folders of the same depth. */
function placeOfEachModule(root, programs) {
  const entries = programs.map((program) => join(root, `${program}.ts`));
  const dist = '../'.repeat(programs[0].split('/').length - 1);
  return {
    name: 'place-of-each-module',
    transform: {
      filter: { code: /import\.meta\.url/ },
      handler(code, file) {
        if (file.includes(`${sep}node_modules${sep}`) || entries.includes(file)) return undefined;
        const place = relative(root, file)
          .split(sep)
          .join('/')
          .replace(/\.tsx?$/, '.js');
        const url = `new URL(${JSON.stringify(dist + place)}, import.meta.url).href`;
        // Lines stay; columns right of it move.
        return { code: code.replaceAll('import.meta.url', url), map: null };
      },
    },
  };
}

/** Whether a server imports this at its start instead of containing it. */
function isOutside(id, importer) {
  if (id.startsWith('.') || id.startsWith('#') || isAbsolute(id)) return false;
  const [name] = /^(@[^/]+\/)?[^/]+/.exec(id);
  if (JOINED.has(name)) return false;
  return isBuiltin(id) || OUTSIDE.has(name) || !importer?.includes(`${sep}node_modules${sep}`);
}

async function write(dist, files) {
  for (const { type, fileName, code, source } of files)
    await writeWhole(join(dist, fileName), type === 'chunk' ? code : source);
}

/** Writes atomically: a service may be running from dist. */
export async function writeWhole(path, text) {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}
