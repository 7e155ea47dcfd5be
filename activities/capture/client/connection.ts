import { SecretBox, SecretUnreadable } from '../../../db/client/crypto.js';
import { findConfig, noteConnection, tokenPlace, trialPlace } from '../../../db/capture/datacapture-configs.queries.js';
import type { DatacaptureConfigRow } from '../../../db/capture/datacapture-configs.queries.js';
import { withStudyScope, readInScope } from '../../../db/client/transaction.js';
import { encryptionKeyBytes } from '../../../settings.js';
import type { CaptureQuestion } from '../../../workflows/domain/capture/query.js';
import { CaptureClient } from './client.js';
import type { ClientLimits } from './client.js';
import type { CaptureDeps } from '../deps.js';
import { CaptureFailure } from './failure.js';

export interface CaptureConnection {
  config: DatacaptureConfigRow;
  client: CaptureClient;
}

/**
 * Opens a study's capture system. @throws CaptureFailure `configuration` when there is none or its token cannot be
 * decrypted
 */
export async function openConnection(
  deps: CaptureDeps,
  studyId: string,
  limits: ClientLimits = {},
): Promise<CaptureConnection> {
  const config = await readInScope(deps.database, studyId, (tx) => findConfig(tx, studyId));
  if (!config) throw new CaptureFailure('configuration', 'The study has no capture-system configuration.');
  return { config, client: await clientOf(deps, config, limits) };
}

/**
 * The client of a configuration; a token that no longer decrypts is stored as its fault, so that its status shows it.
 */
export async function clientOf(
  deps: CaptureDeps,
  config: DatacaptureConfigRow,
  limits: ClientLimits = {},
): Promise<CaptureClient> {
  try {
    const token = boxOf(deps).open(config.api_token_encrypted, tokenPlace(config.study_id));
    return clientAt(deps, config.api_url, token, limits);
  } catch (fault) {
    if (!(fault instanceof SecretUnreadable)) throw fault;
    await withStudyScope(deps.database, config.study_id, ({ tx }) =>
      noteConnection(tx, config.study_id, fault.message),
    );
    throw new CaptureFailure('configuration', fault.message, { cause: fault, forbidden: true });
  }
}

/**
 * The client of an unsaved connection. A token sealed for another address does not decrypt; the stored token is only
 * sent to its own server.
 * @throws CaptureFailure `configuration` if no token can be sent there
 */
export async function openTrial(
  deps: CaptureDeps,
  { study_id, api_url, sealed_token }: Extract<CaptureQuestion, { kind: 'try-connection' }>,
  limits: ClientLimits = {},
): Promise<CaptureClient> {
  if (sealed_token === undefined) {
    const config = await readInScope(deps.database, study_id, (tx) => findConfig(tx, study_id));
    if (!config || new URL(config.api_url).origin !== new URL(api_url).origin)
      throw new CaptureFailure('configuration', 'There is no token for this address.');
    return clientOf(deps, { ...config, api_url }, limits);
  }
  try {
    return clientAt(deps, api_url, boxOf(deps).open(sealed_token, trialPlace(study_id, api_url)), limits);
  } catch (fault) {
    if (!(fault instanceof SecretUnreadable)) throw fault;
    throw new CaptureFailure('configuration', fault.message, { cause: fault, forbidden: true });
  }
}

function boxOf({ settings: { DATACAPTURE_ENCRYPTION_KEY: key } }: CaptureDeps): SecretBox {
  return new SecretBox(key === undefined ? undefined : encryptionKeyBytes(key));
}

const clientAt = ({ settings }: CaptureDeps, apiUrl: string, token: string, limits: ClientLimits): CaptureClient =>
  new CaptureClient(
    { apiUrl, token, allowPrivate: settings.ALLOW_PRIVATE_URLS ?? !settings.production },
    { timeoutMs: settings.DATACAPTURE_TIMEOUT_SECONDS * 1000, ...limits },
  );
