import { rmSync } from 'node:fs';
import { writePrivate } from './files.js';

/** DATA_DIR/run.json: the addresses of the running service. */
export interface RunJson {
  api: string;
  docs: string;
  /** The staff console; null where ENABLE_CONSOLE is false. */
  console: string | null;
  /** With the owner's rights. */
  database_url: string;
  temporal: string;
  temporal_namespace: string;
  temporal_task_queue: string;
  /** The Web UI; null for an external server without TEMPORAL_UI_URL. */
  temporal_ui: string | null;
  /** The command that started the embedded server. */
  temporal_cli: string | null;
  /** Decrypts payloads for the Web UI and the CLI (`--codec-endpoint`). */
  temporal_codec: string;
  mail_ui: string | null;
  smtp: string | null;
  admin_email: string;
  /** null if the account has another one than the configured or stored one. */
  admin_password: string | null;
  data_dir: string;
  pids: { supervisor: number } & Partial<Record<'postgres' | 'temporal' | 'mail' | 'worker' | 'api', number>>;
}

export const writeRunJson = (path: string, run: RunJson): void =>
  writePrivate(path, `${JSON.stringify(run, null, 2)}\n`);
export const removeRunJson = (path: string): void => rmSync(path, { force: true });
