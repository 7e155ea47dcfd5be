import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { SecretBox, SecretUnreadable } from '../../db/client/crypto.js';
import { rotateSecrets } from '../../db/capture/datacapture-configs.queries.js';
import { withStudyScope } from '../../db/client/transaction.js';
import { Stage } from './support.js';

describe('capture-system secrets (AES-256-GCM)', () => {
  const [key, other] = [randomBytes(32), randomBytes(32)];
  const reason = (work: () => unknown) => {
    try {
      work();
    } catch (fault) {
      if (fault instanceof SecretUnreadable) return fault.reason;
      throw fault;
    }
    return 'opened';
  };

  it('opens what it sealed, and seals the same text differently each time', () => {
    const box = new SecretBox(key);
    const [a, b] = [box.seal('tökên', 'x'), box.seal('tökên', 'x')];
    expect(a)
      .to.match(new RegExp(`^v1:${box.keyId}:`))
      .and.not.to.equal(b);
    expect(box.open(a, 'x')).to.equal('tökên');
  });
  it('says why it does not open: another key, another place, a changed text, no key', () => {
    const sealed = new SecretBox(key).seal('s', 'here');
    expect(reason(() => new SecretBox(other).open(sealed, 'here'))).to.equal('wrong_key');
    expect(reason(() => new SecretBox(key).open(sealed, 'there'))).to.equal('damaged');
    // Whatever the first letter of the cipher text was, another one.
    const [last, before] = [sealed.split(':').at(-1)!, sealed.slice(0, sealed.lastIndexOf(':') + 1)];
    expect(
      reason(() => new SecretBox(key).open(`${before}${last.startsWith('A') ? 'B' : 'A'}${last.slice(1)}`, 'here')),
    ).to.equal('damaged');
    expect(reason(() => new SecretBox(key).open('plain text', 'here'))).to.equal('damaged');
    expect(reason(() => new SecretBox(undefined).seal('s', 'here'))).to.equal('no_key');
  });

  describe('rotation', function () {
    let stage: Stage;
    before(async function () {
      this.timeout(240_000);
      stage = await Stage.set({ polls: false });
    });
    after(() => stage?.clear());

    it('encrypts every secret again or none, and does nothing the second time', async () => {
      // A scope of two studies only, rolled back: the shared service's own secrets stay under its key.
      const [one, two] = [await stage.study({ connect: false }), await stage.study({ connect: false })];
      const from = new SecretBox(key),
        to = new SecretBox(other);
      const undone = new Error('undone');
      const run = withStudyScope(stage.database, [one.id, two.id], async ({ tx }) => {
        for (const { id } of [one, two]) {
          await tx('datacapture_configs').insert({
            study_id: id,
            api_url: 'http://x/api/',
            api_token_encrypted: from.seal(`token of ${id}`, `datacapture_configs/${id}/api_token`),
          });
        }
        await tx('datacapture_configs')
          .where({ study_id: two.id })
          .update({ webhook_secret_encrypted: from.seal('w', `datacapture_configs/${two.id}/webhook_secret`) });
        expect(await rotateSecrets(tx, from, to)).to.deep.include({ rotated: 2, already: 0 });
        expect(await rotateSecrets(tx, from, to)).to.deep.include({ rotated: 0, already: 2 });
        const rows = await tx('datacapture_configs').whereIn('study_id', [one.id, two.id]);
        for (const row of rows)
          expect(to.open(row.api_token_encrypted, `datacapture_configs/${row.study_id}/api_token`)).to.equal(
            `token of ${row.study_id}`,
          );
        await tx('datacapture_configs').where({ study_id: one.id }).update({ api_token_encrypted: 'nonsense' });
        await rotateSecrets(tx, to, from).then(
          () => {
            throw new Error('a damaged secret was passed over');
          },
          (fault: unknown) => expect(fault).to.be.instanceOf(SecretUnreadable),
        );
        throw undone;
      });
      expect(await run.catch((fault: unknown) => fault)).to.equal(undone);
    });
  });
});
