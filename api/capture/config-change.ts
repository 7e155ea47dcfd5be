import type { Static } from 'typebox';
import type { Actor } from '../http/access.js';
import type { ConfigPatch } from './datacapture.schemas.js';
import type { Dependencies } from '../dependencies.js';
import type { RequestContext } from '../http/request-context.js';

export type ConfigChangeRequest = Static<typeof ConfigPatch>;

export interface Saving {
  services: Dependencies;
  actor: Actor;
  context: RequestContext;
  studyId: string;
  strict: boolean;
  assertIfMatch: (record: Record<string, unknown> | undefined) => void;
}

export interface ConfigWarning {
  code: string;
  path?: string;
  message: string;
}
