import { expect } from 'chai';
import { Site, trials } from './stage.js';
import type { Loose } from '../support/http.js';

describe('a session whose device has a zone or language of its own making', function () {
  this.timeout(240_000);
  let site: Site;
  before(async () => {
    site = await Site.open();
  });

  for (const [settings, flags] of [
    [{ timezone: 'Etc/Unknown' }, ['UNKNOWN_TIMEZONE']],
    [{ timezone: 'GMT+02:00', language: 'en_US@rg=gbzzzz' }, ['UNKNOWN_TIMEZONE', 'UNKNOWN_LANGUAGE']],
    [{ timezone: '', language: '' }, ['UNKNOWN_TIMEZONE', 'UNKNOWN_LANGUAGE']],
    [{ timezone: 'Europe/Kyiv', language: 'en_US' }, []],
  ] as const)
    it(`${JSON.stringify(settings)} is taken with all results, and sent again it is the same`, async () => {
      const id = JSON.stringify(settings);
      const sent = {
        sessions: [site.item(id, settings)],
        responses: [
          { id: `r ${id}`, sessionId: id, task: 'stroop', summary: { accuracy: 1 }, trials: trials('stroop', 2) },
        ],
      };
      const made = await site.bulk(sent);
      expect(made.results.map(({ status }) => status)).to.deep.equal(['created', 'created']);
      const { quality_flags: said = [] } = made.results[0] as { quality_flags?: { code: string }[] };
      expect(said.map(({ code }) => code)).to.deep.equal(flags);
      const kept = (await site.see(made.results[0]!.server_id!)) as Loose & { quality_flags: { code: string }[] };
      expect(kept.quality_flags.map(({ code }) => code)).to.deep.equal(flags);
      expect((await site.bulk(sent)).duplicates).to.equal(2);
    });

  for (const [settings, flags] of [
    [{ timezone: 'Etc/Unknown', language: 'en_US@rg=gbzzzz' }, ['UNKNOWN_TIMEZONE', 'UNKNOWN_LANGUAGE']],
    [{ timezone: 'GMT+02:00' }, ['UNKNOWN_TIMEZONE']],
    [{ timezone: 'America/Newcity', language: 'en_US.UTF-8' }, ['UNKNOWN_TIMEZONE', 'UNKNOWN_LANGUAGE']],
    [{ timezone: '', language: '' }, ['UNKNOWN_TIMEZONE', 'UNKNOWN_LANGUAGE']],
    [{ timezone: 'Europe/Kyiv', language: 'en_US' }, []],
  ] as const)
    it(`${JSON.stringify(settings)} starts a session on line with the same remarks`, async () => {
      const { status, body } = await site.start(settings);
      expect([status, body.warnings.map(({ code }) => code)]).to.deep.equal([201, flags]);
      const kept = (await site.see(body.sessionId)) as Loose & { quality_flags: { code: string }[] };
      expect(kept.quality_flags.map(({ code }) => code)).to.deep.equal(flags);
      if (flags.length > 0) expect(kept.timezone).to.equal(null);
      else expect(kept).to.include({ timezone: 'Europe/Kyiv', language: 'en_US' });
    });

  it('a zone that is no text is still a fault of the item', async () => {
    const { results } = await site.bulk({ sessions: [site.item('number', { timezone: 2 })] });
    expect(results[0]).to.include({ status: 'rejected', code: 'INVALID_ITEM' });
  });
});
