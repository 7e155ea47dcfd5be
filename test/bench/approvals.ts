import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { overrideDecision, participantAnchorId } from '../../workflows/contract.js';
import type { OverrideDecision } from '../../workflows/contract.js';
import { readingSealed } from '../support/temporal.js';
import type { Figure } from './figure.js';
import { median } from './figure.js';
import { coordinatorOf } from './setting.js';
import type { Stage } from './stage.js';

/** Decisions of each kind in a round. */
const EACH = 25;
const KINDS = ['claimed', 'signed', 'fetched'] as const;
type Kind = (typeof KINDS)[number];

interface Pending {
  participant: string;
  request: string;
}

/**
 * What the proof of the approver costs: an override that is approved by a signal, from the signal to the decision in
 * the database, one at a time. `claimed`: the signal names the approver and proves nothing; `signed`: it has an
 * authorization that was fetched before; `fetched`: fetching it counts as well.
 */
export async function approvalFigures(stage: Stage, rounds: number): Promise<Figure[]> {
  const connection = await Connection.connect({ address: stage.service.run.temporal });
  const client = new Client({
    connection,
    namespace: stage.service.run.temporal_namespace,
    ...readingSealed(stage.service.run),
  });
  try {
    const study = await studyWithApprovals(stage);
    const asker = await coordinatorOf(stage, study);
    const medians: Record<Kind, number>[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const pending = await asked(stage, study, asker, EACH * KINDS.length);
      await stage.quiet();
      const times: Record<Kind, number[]> = { claimed: [], signed: [], fetched: [] };
      // In turn, so that a machine that becomes slower does so for all of them.
      for (const [i, one] of pending.entries()) {
        const kind = KINDS[(i + round) % KINDS.length]!;
        times[kind].push(await decided(stage, client, study, one, kind));
      }
      // The first round warms up.
      if (round > 0)
        medians.push({
          claimed: median(times.claimed),
          signed: median(times.signed),
          fetched: median(times.fetched),
        });
    }
    const figure = (name: string, kind: Kind, what: string): Figure => ({
      name,
      what,
      ratio: median(medians.map((of) => of[kind] / of.claimed)),
      ours: median(medians.map((of) => of[kind])),
      baseline: median(medians.map(({ claimed }) => claimed)),
      unit: 'ms',
    });
    return [
      figure('APPROVAL', 'signed', 'an approval by a signal with an authorization, against one that proves nothing'),
      figure('APPROVAL_FETCHED', 'fetched', 'the same with the request that gives the authorization'),
    ];
  } finally {
    await connection.close();
  }
}

async function studyWithApprovals(stage: Stage): Promise<string> {
  const { id } = await stage.call<{ id: string }>('POST', '/api/studies', {
    study_code: `BENCH-${randomUUID().slice(0, 8)}`,
    study_name: 'Bench',
    consent_mode: 'external',
    start_date: '2020-01-01',
    config: {
      enrollment_date_policy: {
        sources: [{ type: 'manual_entry' }],
        prerequisites: { require_consent_signed: false },
        permissions: {
          can_override: ['admin', 'coordinator'],
          override_requires_approval: true,
          override_approver_roles: ['admin'],
        },
      },
    },
  });
  for (let i = 0; i < 10; i += 1)
    await stage.call('POST', '/api/schedules/windows', {
      study_id: id,
      code: `W${i}`,
      name: `Visit ${i}`,
      target_day: i * 30,
      window_before: 3,
      window_after: 7,
    });
  return id;
}

/** Participants whose override waits for its approval. */
async function asked(stage: Stage, study: string, asker: Record<string, string>, count: number): Promise<Pending[]> {
  const pending: Pending[] = [];
  for (let i = 0; i < count; i += 1) {
    const { id: participant } = await stage.call<{ id: string }>('POST', `/api/studies/${study}/participants`, {
      participant_code: `P-${randomUUID().slice(0, 12)}`,
    });
    const path = `/api/studies/${study}/participants/${participant}/anchor-date`;
    await stage.call('POST', path, { enrollment_date: '2024-03-10' });
    const response = await fetch(`${stage.service.run.api}${path}/override`, {
      method: 'POST',
      headers: { ...asker, 'content-type': 'application/json' },
      body: JSON.stringify({ new_enrollment_date: '2024-03-17', reason: 'the form was misread' }),
    });
    const { override_request_id: request } = (await response.json()) as { override_request_id: string };
    if (response.status !== 202) throw new Error(`an override was answered ${response.status}`);
    pending.push({ participant, request });
  }
  return pending;
}

/** @returns the milliseconds until it is approved */
async function decided(
  stage: Stage,
  client: Client,
  study: string,
  { participant, request }: Pending,
  kind: Kind,
): Promise<number> {
  const fetched = () =>
    stage.call<{ authorization: string }>('POST', `/api/studies/${study}/approvals/${request}/authorization`, {
      decision: 'approve',
      reason: 'seen',
    });
  const message: OverrideDecision = {
    request_id: request,
    decision: 'approve',
    reason: 'seen',
    approver_user_id: stage.adminId,
  };
  const before = kind === 'signed' ? await fetched() : undefined;
  const began = performance.now();
  const given = kind === 'fetched' ? await fetched() : before;
  await client.workflow
    .getHandle(participantAnchorId(participant))
    .signal(overrideDecision, { ...message, ...(given && { authorization: given.authorization }) });
  while (performance.now() - began < 30_000) {
    const { rows } = await stage.sql.query<{ status: string }>('select status from override_requests where id = $1', [
      request,
    ]);
    if (rows[0]!.status === 'approved') return performance.now() - began;
    if (rows[0]!.status !== 'pending') throw new Error(`an override is ${rows[0]!.status}`);
    await sleep(1);
  }
  throw new Error('an approval was not carried out within 30 s');
}
