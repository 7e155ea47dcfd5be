import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Client, Connection } from '@temporalio/client';
import { trialPlace } from '../../db/capture/datacapture-configs.queries.js';
import { SecretBox } from '../../db/client/crypto.js';
import { encryptionKeyBytes } from '../../settings.js';
import { datacaptureQueryId, datacaptureQueryType } from '../../workflows/domain/capture/query.js';
import { Stage } from '../capture/support.js';
import type { CaptureStudy } from '../capture/support.js';
import { readingSealed } from '../support/temporal.js';

interface Tested {
  user_id: string | null;
  request_id: string | null;
  audit_metadata: { via: string; result: string };
}

describe('A question to the capture system', function () {
  this.timeout(120_000);
  let stage: Stage, study: CaptureStudy, connection: Connection;
  before(async () => {
    stage = await Stage.set();
    study = await stage.study();
    connection = await Connection.connect({ address: stage.run.temporal });
  });
  after(async () => {
    await connection?.close();
    await stage?.clear();
  });

  const records = (): Promise<Tested[]> =>
    stage.sql(
      `select user_id, request_id, audit_metadata from audit_log where study_id = ? and action = 'datacapture_connection_tested' order by seq`,
      [study.id],
    );
  /** As somebody who reaches Temporal, and not the API. */
  const asked = (question: object): Promise<unknown> =>
    new Client({
      connection,
      namespace: stage.run.temporal_namespace,
      ...readingSealed(stage.run),
    }).workflow.execute(datacaptureQueryType, {
      taskQueue: stage.run.temporal_task_queue,
      workflowId: datacaptureQueryId(randomUUID()),
      args: [{ study_id: study.id, ...question }],
    });

  it('is recorded as that of the user whom the API let in, and by nobody’s name where it came another way', async () => {
    const { id, token } = await stage.user('researcher', [study.id]);
    const other = await stage.user('researcher', [study.id]);
    const before = (await records()).length;
    const tested = await stage.call('POST', `/api/datacapture/config/${study.id}/test-connection`, undefined, token);
    expect(tested.status).to.equal(200);
    const [own] = (await records()).slice(before);
    expect([own!.user_id, own!.audit_metadata]).to.deep.equal([id, { result: 'connected', via: 'rest' }]);

    const [{ id: used }] = (await stage.sql<{ id: string }>(
      'select id from capture_questions where study_id = ? and user_id = ?',
      [study.id, id],
    )) as [{ id: string }];
    const { id: ofEvents } = (
      await stage.sql<{ id: string }>(
        `insert into capture_questions (study_id, user_id, kind, request_id) values (?, ?, 'events', 'r') returning id`,
        [study.id, other.id],
      )
    )[0]!;
    for (const claimed of [
      { actor_user_id: other.id, request_id: 'claimed' },
      { actor_user_id: other.id, request_id: 'claimed', question_id: used },
      { actor_user_id: other.id, request_id: 'claimed', question_id: ofEvents },
      { actor_user_id: other.id, request_id: 'claimed', question_id: 'none' },
    ])
      await asked({ kind: 'test-connection', ...claimed });
    const claims = (await records()).slice(before + 1);
    expect(claims).to.have.length(4);
    for (const claim of claims)
      expect(claim).to.deep.equal({
        user_id: null,
        request_id: null,
        audit_metadata: { result: 'connected', via: 'workflow' },
      });
  });

  it('sends no token to an address that it is not for, no matter who asks', async () => {
    const elsewhere = 'http://127.0.0.1:9/api/';
    const stored = await asked({ kind: 'try-connection', api_url: elsewhere });
    expect(stored).to.deep.include({ ok: false, error_type: 'configuration' });
    const [config] = await stage.sql<{ api_token_encrypted: string }>(
      'select api_token_encrypted from datacapture_configs where study_id = ?',
      [study.id],
    );
    const moved = await asked({
      kind: 'try-connection',
      api_url: elsewhere,
      sealed_token: config!.api_token_encrypted,
    });
    expect(moved).to.deep.include({ ok: false, error_type: 'configuration' });
    // One that the API has sealed for a trial of its own server, as somebody at Temporal may copy it.
    const key = readFileSync(join(stage.run.data_dir, 'keys', 'DATACAPTURE_ENCRYPTION_KEY'), 'utf8').trim();
    const sealed_token = new SecretBox(encryptionKeyBytes(key)).seal(
      study.token,
      trialPlace(study.id, stage.simulator.apiUrl),
    );
    const copied = await asked({ kind: 'try-connection', api_url: elsewhere, sealed_token });
    expect(copied).to.deep.include({ ok: false, error_type: 'configuration' });
    for (const question of [{}, { sealed_token }]) {
      const own = await asked({ kind: 'try-connection', api_url: stage.simulator.apiUrl, ...question });
      expect(own).to.deep.include({ ok: true });
    }
  });
});
