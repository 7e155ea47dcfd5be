import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { brokenInvariants } from '../anchor/invariants.js';
import { Stage } from '../anchor/stage.js';
import { testEnvironment } from '../support/environment.js';
import { ran } from '../support/program.js';
import { startService, temporaryDataDir, until } from '../support/service.js';
import type { Service } from '../support/service.js';
import { backupFolder, baseBackups } from '../../scripts/backup/folder.js';

const WITHOUT_ELIGIBILITY = { prerequisites: { require_eligibility_confirmed: false } };

describe('Back-up and restore to a moment', function suite() {
  this.timeout(300_000);
  // Its name has what shells and servers read as their own.
  const backups = `${temporaryDataDir()} Größe $HOME 5 % o'clock`;
  let service: Service;
  let restored: Service | undefined;
  const program = (name: string, args: string[], settings: Record<string, string>) =>
    ran(['scripts/run.mjs', `scripts/${name}`, ...args], testEnvironment(settings));

  before(async () => {
    service = await startService({ BACKUP_DIR: backups });
  });
  after(async () => {
    await restored?.stop();
    await service.stop();
  });

  it('is not begun with a folder of checkpoints that is not there', async () => {
    const [into, missing] = [temporaryDataDir(), join(temporaryDataDir(), 'audit-checkpoints')];
    const { code, output } = await program(
      'restore',
      ['--into', into, '--keys', join(service.dataDir, 'keys'), '--checkpoints', missing],
      { BACKUP_DIR: backups },
    );
    expect(code, output).to.equal(1);
    expect(output.trim()).to.equal(
      `There is no folder ${missing}: --checkpoints is the AUDIT_CHECKPOINT_DIR of the former service. ` +
        'Leave it out if none was signed yet.',
    );
    expect(existsSync(into)).to.equal(false);
  });

  it('brings back what was committed before the moment, nothing after it; Temporal is filled from the database; the audit verifies', async () => {
    const stage = await Stage.open(service.run);
    const study = await stage.study(WITHOUT_ELIGIBILITY);
    const before = await study.person();
    await before.consent('2024-03-01T09:00:00Z');
    await before.becomes({ status: 'finalized' });
    // One that was killed has left a part.
    const { base } = backupFolder(backups);
    const part = '20260101T000000Z.new';
    mkdirSync(join(base, part, 'postgres'), { recursive: true });
    const backup = () => program('backup', [], { DATA_DIR: service.dataDir, BACKUP_DIR: backups });
    await stage.database.transaction(async (other) => {
      await other.raw(`select pg_advisory_xact_lock(hashtext('npm run backup'))`);
      const refused = await backup();
      expect([refused.code, refused.output.trim()]).to.deep.equal([
        1,
        'Another "npm run backup" of this service is under way: begin when it has ended.',
      ]);
    });
    expect(readdirSync(base)).to.deep.equal([part]);
    const taken = await backup();
    expect(taken.code, taken.output).to.equal(0);
    expect(taken.output).to.contain(`Removed what back-ups that were broken off had left: ${part}.`);
    expect(readdirSync(base)).to.deep.equal(baseBackups(backups).map(({ name }) => name));
    expect(taken.output).to.match(/\d+ files, [\d.]+ MB; a restore may stop at \d{4}-/);

    // In the log alone, not in the base backup: one who is final, one who waits for a consent.
    const [between, waiting] = [await study.person(), await study.person()];
    await between.consent('2024-04-01T09:00:00Z');
    await between.becomes({ status: 'finalized' });
    await until(async () => (await stage.sql('select id from outbox')).length === 0, {
      what: 'the outbox to be empty',
    });
    // A restore comes later than a minute after: the sweep leaves alone who was made just now.
    await stage.sql(`update participants set created_at = created_at - interval '5 minutes' where study_id = ?`, [
      study.id,
    ]);
    await stage.admin.expect(201, 'POST', '/api/audit/checkpoints');
    // Its records are older than the restored state; they are signed only afterwards.
    const quiet = await stage.study(WITHOUT_ELIGIBILITY);
    const [{ moment }] = (await stage.sql<{ moment: string }>(
      `select to_char((clock_timestamp() + interval '1 millisecond') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as moment`,
    )) as [{ moment: string }];
    const after = await study.person();
    await stage.admin.expect(201, 'POST', '/api/audit/checkpoints');
    // The log is archived a minute later by itself.
    const [{ file }] = (await stage.sql<{ file: string }>('select pg_walfile_name(pg_switch_wal()) as file')) as [
      { file: string },
    ];
    await until(() => existsSync(join(backupFolder(backups).log, file)), { what: 'the log to be archived' });
    await stage.close();
    await service.kill('everything');

    const into = temporaryDataDir();
    const came = await program(
      'restore',
      [
        '--into',
        into,
        '--keys',
        join(service.dataDir, 'keys'),
        '--to',
        moment,
        '--checkpoints',
        join(service.dataDir, 'audit-checkpoints'),
      ],
      { BACKUP_DIR: backups },
    );
    expect(came.code, came.output).to.equal(0);
    expect(came.output)
      .to.contain('3 participants')
      .and.match(/[1-9]\d* checkpoints were signed after that moment/);
    const second = await program('restore', ['--into', into, '--keys', join(service.dataDir, 'keys')], {
      BACKUP_DIR: backups,
    });
    expect([second.code, second.output]).to.satisfy(
      ([code, said]: [number, string]) => code === 1 && said.includes('holds a database already'),
      'nothing is overwritten',
    );

    restored = await startService({ DATA_DIR: into });
    const there = await Stage.open(restored.run);
    try {
      const rows = await there.sql<{ participant_id: string; status: string }>(
        'select participant_id, status from anchor_dates where study_id = ?',
        [study.id],
      );
      expect(
        new Map(rows.map((row) => [row.participant_id, row.status])),
        'those from before the moment',
      ).to.deep.equal(
        new Map([
          [before.id, 'finalized'],
          [between.id, 'finalized'],
          [waiting.id, 'unset'],
        ]),
      );
      expect(rows.map((row) => row.participant_id)).not.to.include(after.id);
      // Temporal began empty: the sweep at the worker's start compares it with the database.
      for (const { id } of [before, between, waiting]) {
        await until(async () => (await there.handle(id).describe()).status.name === 'RUNNING', {
          timeout: 90_000,
          what: 'its workflow to be started from the database',
        });
      }
      const path = `/api/studies/${study.id}/participants/${waiting.id}`;
      await there.admin.expect(201, 'POST', `${path}/consents`, {
        status: 'signed',
        signed_at: '2024-05-01T09:00:00Z',
      });
      await until(
        async () =>
          (await there.admin.expect<{ status: string }>(200, 'GET', `${path}/anchor-date`)).status === 'finalized',
        { what: 'a decision on the restored service' },
      );
      expect(await brokenInvariants(there, study.id)).to.deep.equal([]);
      const signed = await there.admin.expect<{ items: { chain: string }[] }>(201, 'POST', '/api/audit/checkpoints');
      expect(
        signed.items.map(({ chain }) => chain),
        'what the checkpoint after the moment had signed is signed again',
      ).to.include(quiet.id);
    } finally {
      await there.close();
    }
    const verified = await program('audit-verify', [], { DATA_DIR: into });
    expect(verified.code, verified.output).to.equal(0);
    expect(verified.output, 'held against checkpoints from outside')
      .to.match(/[1-9]\d* checkpoints, head [0-9a-f]{64}/)
      .and.contain('chains are valid');
  });

  const restoreTo = (into: string, ...more: string[]) =>
    program('restore', ['--into', into, '--keys', join(service.dataDir, 'keys'), ...more], { BACKUP_DIR: backups });
  /** One restore that fails when all of the log is read: what it leaves, and what it says. */
  let tooLate: Promise<{ into: string; code: number; output: string }> | undefined;
  const restoredTooLate = () =>
    (tooLate ??= (async () => {
      const into = temporaryDataDir();
      return { into, ...(await restoreTo(into, '--to', '2099-01-01T00:00:00Z')) };
    })());

  it('that fails leaves nothing in the way of the next one; what one that was killed left is named', async () => {
    const { into, ...failed } = await restoredTooLate();
    expect(failed.code, failed.output).to.equal(1);
    expect(failed.output)
      .to.contain('ends before the moment that was asked for')
      .and.contain(`Nothing of the database is left in ${into}: a restore into it can begin again.`)
      .and.not.contain('the database system is');
    const draft = join(into, 'postgres.restoring');
    if (!existsSync(draft)) mkdirSync(draft);
    const refused = await restoreTo(into);
    rmSync(draft, { recursive: true });
    expect([refused.code, refused.output.trim()]).to.deep.equal([
      1,
      `${draft} is of a restore that did not end: unless it still runs, remove that folder and begin again.`,
    ]);
    const again = await restoreTo(into);
    expect(again.code, again.output).to.equal(0);
    expect(again.output).to.contain('Restored into');
  });

  it('refuses in words: no back-up of that time, a damaged file, a log that ends before, no keys', async () => {
    const keys = join(service.dataDir, 'keys');
    const inWords = ({ code, output }: { code: number; output: string }) => {
      expect(code, output).to.equal(1);
      expect(output, 'no stack').not.to.match(/^\s+at /m);
      return output;
    };
    const tried = async (args: string[], settings: Record<string, string> = { BACKUP_DIR: backups }) =>
      inWords(await program('restore', args, settings));
    expect(await tried(['--into', temporaryDataDir()])).to.contain('Usage: npm run restore');
    expect(await tried(['--into', temporaryDataDir(), '--keys', keys], {})).to.contain('BACKUP_DIR is not set');
    expect(await tried(['--into', temporaryDataDir(), '--keys', temporaryDataDir()])).to.contain('POSTGRES_PASSWORD');
    expect(await tried(['--into', temporaryDataDir(), '--keys', keys, '--to', '2020-01-01T00:00:00Z'])).to.contain(
      'a restore can stop there or later',
    );
    expect(await tried(['--into', temporaryDataDir(), '--keys', keys, '--to', '2026-01-31 12:00'])).to.contain(
      'an instant with its zone',
    );
    expect(inWords(await restoredTooLate())).to.contain('ends before the moment that was asked for');
    appendFileSync(join(baseBackups(backups)[0]!.path, 'postgres', 'PG_VERSION'), 'x');
    expect(await tried(['--into', temporaryDataDir(), '--keys', keys])).to.contain(
      'PG_VERSION is missing or not what the back-up wrote',
    );
    rmSync(backups, { recursive: true });
    expect(await tried(['--into', temporaryDataDir(), '--keys', keys])).to.contain('holds no complete back-up');
    expect(readdirSync(backupFolder(backups).base)).to.deep.equal([]);
  });
});
