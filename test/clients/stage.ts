import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateSync } from 'otplib';
import { version30 } from '../../api/http/openapi/version-3-0.js';
import { root } from '../support/environment.js';
import { admin, goodPassword, unique, user } from '../support/http.js';
import { service } from '../support/service.js';

/** What every client prints after the ten steps. */
export const TEN_STEPS = {
  login: true,
  consent: 'signed',
  anchor: '2026-01-12',
  due: ['2026-02-09'],
  override: ['pending_approval', 'applied', '2026-01-14'],
  session: ['accepted', 2, 'completed'],
  exported: 2,
  event: 'ENROLLMENT_DATE_OVERRIDE_GRANTED',
  missing: [404, 'NOT_FOUND'],
};

/** Runs a program to its end. @throws Error with all that it said where it fails */
export const output = (
  program: string,
  args: string[],
  options: { cwd?: string; env?: object } = {},
): Promise<string> =>
  new Promise((resolve, reject) =>
    execFile(
      program,
      args,
      { cwd: options.cwd ?? root, env: { ...process.env, ...options.env }, maxBuffer: 50_000_000 },
      (fault, stdout, stderr) =>
        fault
          ? reject(
              new Error(
                `${program} ${args.slice(0, 3).join(' ')}: ${fault.message.slice(0, 500)}\n${stdout}\n${stderr}`.slice(
                  0,
                  8_000,
                ),
              ),
            )
          : resolve(stdout),
    ),
  );

/**
 * What a client is given: an account with a second factor and the code that its authenticator shows, and an approver.
 */
export async function input(): Promise<string> {
  const { api } = await service();
  const by = await admin();
  const me = await user(by, 'researcher');
  const { secret } = await me.expect<{ secret: string }>(200, 'POST', '/api/auth/mfa/setup');
  const code = (steps: number) => generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + steps * 30 });
  // The next one is good already, and for a minute at least: it is left for the login.
  await me.expect(200, 'POST', '/api/auth/mfa/verify', { code: code(0) });
  const approver = { email: `${unique('approver')}@example.org`, password: goodPassword };
  await by.expect(201, 'POST', '/api/auth/register', { ...approver, name: 'An approver', role: 'admin' });
  return JSON.stringify({ api, email: me.email, password: goodPassword, code: code(1), approver });
}

/** The contract as a generator reads it: its bytes in a file. */
export async function contractIn(folder: string, version: '3.0' | '3.1'): Promise<string> {
  const text = await readFile(join(root, 'docs', 'openapi.json'), 'utf8');
  const file = join(folder, `openapi-${version}.json`);
  await writeFile(
    file,
    version === '3.1' ? text : JSON.stringify(version30(JSON.parse(text) as Record<string, unknown>)),
  );
  return file;
}

/**
 * A folder in .cache with a client that was generated and compiled from the present contract and program. It is made
 * again where one of them has changed since.
 * @param make fills the folder, in which the program's own files are already
 */
export async function built(client: string, tools: string, make: (folder: string) => Promise<void>): Promise<string> {
  const source = join(root, 'test', 'clients', client);
  const hash = createHash('sha256').update(tools);
  hash.update(await readFile(join(root, 'docs', 'openapi.json')));
  hash.update(await readFile(join(root, 'api', 'http', 'openapi', 'schema-3-0.ts')));
  hash.update(await readFile(join(root, 'api', 'http', 'openapi', 'version-3-0.ts')));
  for (const name of (await readdir(source)).sort()) hash.update(name).update(await readFile(join(source, name)));
  const folder = join(root, '.cache', 'clients', client);
  const stamp = join(folder, 'built.txt');
  const key = hash.digest('hex');
  if ((await readFile(stamp, 'utf8').catch(() => '')) === key) return folder;
  const beside = `${folder}.new`;
  await rm(beside, { recursive: true, force: true });
  await mkdir(beside, { recursive: true });
  await cp(source, beside, { recursive: true });
  await make(beside);
  await writeFile(join(beside, 'built.txt'), key);
  await rm(folder, { recursive: true, force: true });
  await rename(beside, folder);
  return folder;
}

/** How many files of an ending a folder has, and how many lines these have together. */
export async function sizeOf(folder: string, ending: string): Promise<{ files: number; lines: number }> {
  const size = { files: 0, lines: 0 };
  for (const name of await readdir(folder, { recursive: true })) {
    const path = join(folder, name);
    if (!name.endsWith(ending) || !(await stat(path)).isFile()) continue;
    size.files += 1;
    size.lines += (await readFile(path, 'utf8')).split('\n').length;
  }
  return size;
}
