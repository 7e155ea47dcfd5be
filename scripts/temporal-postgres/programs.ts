import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { StartError } from '../runtime/start-error.js';

const run = promisify(execFile);

/** The release in docker-compose.yml. */
export const SERVER_VERSION = '1.29.7';
const MODULE = 'go.temporal.io/server';
/** The Go package of each command. */
const COMMANDS = { server: `${MODULE}/cmd/server`, sql: `${MODULE}/cmd/tools/sql` };
/** A first build downloads some 400 modules and compiles for minutes. */
const BUILD_MS = 30 * 60_000;

/** The server, and the tool that makes and updates its schema. */
export interface ServerPrograms {
  server: string;
  sql: string;
}

/** @returns the programs if they were built before; else undefined */
export function builtServer(cacheDir: string): ServerPrograms | undefined {
  const folder = folderOf(cacheDir);
  return existsSync(folder) ? { server: join(folder, 'server'), sql: join(folder, 'sql') } : undefined;
}

/**
 * Builds the Temporal server of docker-compose.yml from its Go modules, unless it was built before: `go` verifies
 * downloads with the public checksum database.
 * @throws StartError without Go, or if the modules are unavailable
 */
export async function buildServer(cacheDir: string, cancelled: AbortSignal): Promise<ServerPrograms> {
  const built = builtServer(cacheDir);
  if (built) return built;
  await mkdir(cacheDir, { recursive: true });
  const draft = await mkdtemp(join(cacheDir, 'build-'));
  try {
    for (const command of Object.values(COMMANDS)) {
      await run('go', ['install', `${command}@v${SERVER_VERSION}`], {
        env: { ...process.env, GOBIN: draft, GOFLAGS: '', CGO_ENABLED: '0' },
        cwd: draft,
        timeout: BUILD_MS,
        maxBuffer: 64 * 1024 * 1024,
        signal: cancelled,
      });
    }
    // Only a complete build gets the name that the next start looks for.
    await rename(draft, folderOf(cacheDir));
  } catch (fault) {
    cancelled.throwIfAborted();
    throw new StartError(`The Temporal server ${SERVER_VERSION} could not be built: ${reasonOf(fault)}`);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return builtServer(cacheDir)!;
}

const folderOf = (cacheDir: string) =>
  join(cacheDir, `temporal-server-${SERVER_VERSION}-${process.platform}-${process.arch}`);

function reasonOf(fault: unknown): string {
  const { code, stderr, message } = fault as { code?: unknown; stderr?: string; message: string };
  if (code === 'ENOENT') return 'Go is not installed (https://go.dev/doc/install).';
  // `go` prints its downloads first; the reason of a failure comes last.
  return stderr?.trim().split('\n').slice(-5).join('\n') || message;
}
