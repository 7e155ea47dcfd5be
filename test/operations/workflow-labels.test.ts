import { expect } from 'chai';
import { Stage } from '../anchor/stage.js';
import { participantAnchorId } from '../../workflows/contract.js';
import { unique } from '../support/http.js';
import { until } from '../support/until.js';
import { attributes, details } from './labels.js';

describe('By what operators know a participant in Temporal', function () {
  this.timeout(180_000);

  async function found(stage: Stage, query: string): Promise<string[]> {
    const ids: string[] = [];
    for await (const { workflowId } of stage.temporal.workflow.list({ query })) ids.push(workflowId);
    return ids;
  }

  it('the study’s code, what is waited for, and the address of the timeline; no code of the participant', async () => {
    const stage = await Stage.open();
    try {
      const code = unique('S');
      const study = await stage.study({ sources: [{ type: 'manual_entry' }] }, { fields: { study_code: code } });
      const participant_code = unique('PSEUDONYM');
      const person = await study.person({ participant_code });
      await person.set('2024-03-10');
      await until(async () =>
        expect(await attributes(stage, person)).to.deep.include({ StudyCode: [code], WaitingFor: ['consent'] }),
      );
      await until(async () =>
        expect(await found(stage, `StudyCode = '${code}' AND WaitingFor = 'consent'`)).to.deep.equal([
          participantAnchorId(person.id),
        ]),
      );
      expect(JSON.stringify(await attributes(stage, person))).not.to.contain(participant_code);
      const shown = await details(stage, person);
      // A browser has no token of the API: its links lead to pages on which it can log in.
      expect(shown).to.contain(`[timeline](${stage.run.api}/console/participants/${person.id}?tab=timeline)`);
      expect(shown).not.to.contain('/api/');
      expect(shown).to.contain(`/console/participants/${person.id})`);
      expect(shown).not.to.contain(participant_code);
      await person.consent('2024-03-01T09:00:00Z');
      await person.becomes({ status: 'finalized' });
      await until(async () => expect((await attributes(stage, person)).WaitingFor ?? []).not.to.include('consent'));
    } finally {
      await stage.close();
    }
  });

  it('the site where the participant is now, and none where there is none', async () => {
    const stage = await Stage.open();
    try {
      const study = await stage.study({ sources: [{ type: 'manual_entry' }] });
      const [from, to] = await Promise.all(
        ['FROM', 'TO'].map((site_code) =>
          stage.admin.expect<{ id: string }>(201, 'POST', `/api/studies/${study.id}/sites`, { site_code }),
        ),
      );
      const person = await study.person({ site_code: 'FROM' });
      const isAt = (site: string | undefined) =>
        until(
          async () => {
            // Temporal tells an attribute that was taken back as a null.
            const shown = (await attributes(stage, person)).SiteId ?? [];
            return expect(shown.filter((one) => one !== null)).to.deep.equal(site ? [site] : []);
          },
          { what: `the participant to be found at ${site ?? 'no site'}` },
        );
      await isAt(from!.id);
      const moves = (site_code: string | null) =>
        stage.admin.expect(200, 'PATCH', `/api/participants/${person.id}`, { site_code });
      await moves('TO');
      await isAt(to!.id);
      await moves(null);
      await isAt(undefined);
    } finally {
      await stage.close();
    }
  });
});
