import type { Figure } from './figure.js';
import type { Batch, HttpRequest } from './load.js';
import { compared, inPairs } from './pairs.js';
import { enrollScheduled, plannedStudy } from './scheduled.js';
import type { Stage } from './stage.js';

const PARTICIPANTS = 200,
  VISITS = 20;

/** PREVIEW: what an override would do to 20 visits, compared with reading the same visits; one at a time. */
export async function previewFigures(stage: Stage, rounds: number): Promise<Figure[]> {
  const study = await plannedStudy(stage, VISITS, 'finalized');
  const participants = await enrollScheduled(stage, study, PARTICIPANTS, 'finalized');
  await assertAnswers(stage, study.id, participants[0]!);
  const asked = (of: (id: string) => Omit<HttpRequest, 'headers'>): Batch => ({
    kind: 'batch',
    url: stage.service.run.api,
    concurrency: 1,
    requests: participants.map((id) => ({ ...of(id), headers: stage.headers })),
  });
  const ours = asked((id) => ({
    method: 'POST',
    path: `/api/studies/${study.id}/participants/${id}/anchor-date/override/preview`,
    body: JSON.stringify(OVERRIDE),
  }));
  const plain = asked((id) => ({ method: 'GET', path: `/api/studies/${study.id}/participants/${id}/schedule` }));
  await stage.quiet();
  const pairs = await inPairs(
    rounds,
    () => stage.load.ask(ours),
    () => stage.load.ask(plain),
  );
  return [
    {
      name: 'PREVIEW',
      what: `the impact of an override on ${VISITS} visits, against a read of the schedule`,
      ...compared(pairs, (m) => m.p50),
      goal: { is: '<=', value: 1.5 },
      unit: 'ms',
    },
  ];
}

const OVERRIDE = { new_enrollment_date: '2024-04-02', reason: 'the form was misread' };

/** Both sides must speak of all visits, or the comparison says nothing. */
async function assertAnswers(stage: Stage, studyId: string, id: string): Promise<void> {
  const path = `/api/studies/${studyId}/participants/${id}`;
  const preview = await stage.call<{ visits: unknown[] }>('POST', `${path}/anchor-date/override/preview`, OVERRIDE);
  const schedule = await stage.call<{ visits: unknown[] }>('GET', `${path}/schedule`);
  if (preview.visits.length !== VISITS || schedule.visits.length !== VISITS)
    throw new Error(`the preview has ${preview.visits.length} visits, the schedule ${schedule.visits.length}`);
}
