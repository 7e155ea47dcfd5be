import { createPublicKey, verify } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { auditSigner, signedText } from '../../db/audit/audit-signing.js';
import type { Checkpoint } from '../../db/audit/audit-signing.js';
import { Http, admin, newParticipant, newStudy, user } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { service } from '../support/service.js';
import { until } from '../support/until.js';
import { Checkpointer } from '../../activities/audit/checkpoints.js';
import { Ledger, offline, signer } from './ledger.js';

interface Shown {
  id: string;
  chain: string;
  rows: number;
  head: string;
  root: string;
  key_id: string;
  public_key: string;
  signature: string;
  created_at: string;
}
interface Page {
  items: Shown[];
  total: number;
}

describe('Audit checkpoints', function suite() {
  let root: Http;
  let study: Loose;
  let folder: string;
  let first: Shown;
  let second: Shown;
  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'research-assessment-proof-'));
    root = await admin();
    study = await newStudy(root);
    for (let i = 0; i < 5; i += 1) await newParticipant(root, study.id);
    first = (await root.expect<Page>(201, 'POST', '/api/audit/checkpoints', { study_id: study.id })).items[0]!;
    for (let i = 0; i < 4; i += 1) await newParticipant(root, study.id);
    second = (await root.expect<Page>(201, 'POST', '/api/audit/checkpoints', { study_id: study.id })).items[0]!;
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('state head and row count, are listed, and lie outside the database', async () => {
    const verdict = await root.expect(200, 'GET', `/api/audit/verify?study_id=${study.id}`);
    expect(verdict).to.include({ valid: true, checkpoints: 2, rows: second.rows, head: second.head });
    expect(first.rows).to.be.lessThan(second.rows);
    const { items, total } = await root.expect<Page>(200, 'GET', `/api/audit/checkpoints?study_id=${study.id}`);
    expect(total).to.equal(2);
    expect(items.map(({ id }) => id)).to.deep.equal([second.id, first.id]);
    const kept = join((await service()).data_dir, 'audit-checkpoints', `${study.id}.ndjson`);
    const lines = readFileSync(kept, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Checkpoint);
    expect(lines.map(({ signature }) => signature)).to.deep.equal([first.signature, second.signature]);
    const key = await root.expect(200, 'GET', '/api/audit/public-key');
    for (const line of lines)
      expect(
        verify(
          null,
          Buffer.from(signedText(line)),
          createPublicKey(key.public_key as string),
          Buffer.from(line.signature, 'base64'),
        ),
      ).to.equal(true);
  });

  it('are not made of a chain that did not grow', async () => {
    const again = await root.expect<Page>(201, 'POST', '/api/audit/checkpoints', { study_id: study.id });
    expect(again).to.deep.equal({ items: [], total: 0 });
  });

  it('are made for everybody who asks, however many ask at once', async () => {
    const sql = new pg.Client({ connectionString: (await service()).database_url });
    await sql.connect();
    try {
      await sql.query(`begin; select pg_advisory_xact_lock(hashtext('audit-checkpoints'))`);
      const asked = Array.from({ length: 30 }, () => root.post('/api/audit/checkpoints', { study_id: study.id }));
      const recorded = async () => {
        const { rows } = await sql.query<{ n: number }>(
          `select count(*)::int as n from audit_log where action = 'audit_checkpoint_requested' and resource_id = $1
           and created_at > now()`,
          [study.id],
        );
        return rows[0]!.n;
      };
      await until(async () => (await recorded()) === asked.length, { what: 'all requests to wait for the lock' });
      await root.expect(200, 'GET', `/api/studies/${study.id}`);
      await sql.query('rollback');
      for (const { status, text } of await Promise.all(asked)) expect(status, text).to.equal(201);
    } finally {
      await sql.end();
    }
  });

  it('are outside again after the next run where their line was lost there, without new records', async () => {
    const kept = join((await service()).data_dir, 'audit-checkpoints', `${study.id}.ndjson`);
    const whole = readFileSync(kept, 'utf8');
    const linesOf = (text: string) =>
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown);
    expect(linesOf(whole)).to.have.length(2);
    // As a full disk or a crash leaves it: the commit is there, its line is not, or only a part of it.
    for (const left of [whole.indexOf('\n') + 1, whole.length - 20]) {
      writeFileSync(kept, whole.slice(0, left));
      const run = await root.expect<Page>(201, 'POST', '/api/audit/checkpoints', { study_id: study.id });
      expect(run.items).to.deep.equal([]);
      expect(linesOf(readFileSync(kept, 'utf8'))).to.deep.equal(linesOf(whole));
    }
  });

  it('are an admin’s; the public key is anybody’s', async () => {
    const other = await user(root, 'researcher', { study_ids: [study.id] });
    for (const [method, path] of [
      ['GET', '/api/audit'],
      ['GET', '/api/audit/checkpoints'],
      ['POST', '/api/audit/checkpoints'],
      ['GET', '/api/audit/export'],
      ['GET', '/api/audit/verify'],
      ['GET', '/api/audit/1/proof'],
    ] as const) {
      expect((await other.send(method, path, method === 'POST' ? {} : undefined)).status, path).to.equal(403);
    }
    const key = await new Http(root.base).get('/api/audit/public-key?format=pem');
    expect(key.text).to.match(/^-----BEGIN PUBLIC KEY-----/);
  });

  it('with an export and the public key alone everything can be checked', async () => {
    const pem = file('key.pem', (await root.get('/api/audit/public-key?format=pem')).text);
    const exported = await root.get(`/api/audit/export?study_id=${study.id}`);
    expect(exported.headers.get('content-type')).to.equal('application/x-ndjson');
    const good = await offline(folder, file('export.ndjson', exported.text), '--key', pem);
    expect([good.code, good.output]).to.satisfy(
      () => good.code === 0 && good.output.includes(`${study.id}  ${second.rows + 1} records, 2 checkpoints`),
    );
    const {
      items: [last],
    } = await root.expect(200, 'GET', `/api/audit?study_id=${study.id}&limit=1`);
    expect(last, 'who exports is recorded').to.include({ action: 'audit_exported', user_id: root.userId });

    const short = await offline(
      folder,
      file('short.ndjson', exported.text.split('\n').slice(0, 4).join('\n')),
      '--key',
      pem,
    );
    expect([short.code, short.output]).to.satisfy(
      () => short.code === 1 && short.output.includes('its last line is missing'),
    );
    const changed = exported.text.replace('"action":"participant_created"', '"action":"participant_deleted"');
    const forged = await offline(folder, file('forged.ndjson', changed), '--key', pem);
    expect([forged.code, forged.output]).to.satisfy(
      () =>
        forged.code === 1 && forged.output.includes(`FAULT record ${study.id}/2: its content is not what was sealed`),
    );
    const wrongKey = await offline(
      folder,
      join(folder, 'export.ndjson'),
      '--key',
      file('other.pem', auditSigner('another key than the service has').publicKey),
    );
    expect([wrongKey.code, wrongKey.output]).to.satisfy(
      () => wrongKey.code === 1 && /signature of the checkpoint .* does not hold/.test(wrongKey.output),
    );
    expect(wrongKey.output, 'a key that was changed is no forgery').to.match(
      /does not hold \(key \w+ is not among those given: name the former one by another --key\)/,
    );
  });

  it('every record is proven by a path to the signed root, and an older checkpoint to begin a newer', async () => {
    const pem = file('key.pem', (await root.get('/api/audit/public-key?format=pem')).text);
    const proofs: string[] = [];
    for (let seq = 1; seq <= second.rows; seq += 1) {
      const { text } = await root.get(
        seq % 2 === 0 ? `/api/audit/${study.id}%2F${seq}/proof` : `/api/audit/${seq}/proof?study_id=${study.id}`,
      );
      proofs.push('--proof', file(`${seq}.json`, text));
    }
    const older = await root.expect<Loose & { checkpoint: { id: string } }>(
      200,
      'GET',
      `/api/audit/2/proof?study_id=${study.id}&checkpoint=${first.id}`,
    );
    expect(older.checkpoint.id).to.equal(first.id);
    const consistency = await root.get(`/api/audit/checkpoints/${second.id}/consistency?from=${first.id}`);
    const all = await offline(
      folder,
      ...proofs,
      '--proof',
      file('older.json', JSON.stringify(older)),
      '--proof',
      file('consistency.json', consistency.text),
      '--key',
      pem,
    );
    expect([all.code, all.output]).to.satisfy(
      () => all.code === 0 && all.output.split('\n').filter((line) => line.startsWith('ok')).length === second.rows + 2,
    );

    const swapped = readFileSync(join(folder, '3.json'), 'utf8').replace(/"leaf_index":2/, '"leaf_index":3');
    const other = consistency.text.replace(/"first_size":\d+/, `"first_size":${first.rows - 1}`);
    const bad = await offline(
      folder,
      '--proof',
      file('swapped.json', swapped),
      '--proof',
      file('bad.json', other),
      '--key',
      pem,
    );
    expect([bad.code, bad.output]).to.satisfy(() => bad.code === 1 && bad.output.includes('2 faults.'));
  });

  it('refuses proofs of what is not there or not covered', async () => {
    expect((await root.get(`/api/audit/9999/proof?study_id=${study.id}`)).status).to.equal(404);
    expect((await root.get('/api/audit/nonsense/proof')).status).to.equal(404);
    expect(
      (await root.get(`/api/audit/${second.rows}/proof?study_id=${study.id}&checkpoint=${first.id}`)).body.code,
    ).to.equal('NOT_CHECKPOINTED');
    expect((await root.get(`/api/audit/checkpoints/${first.id}/consistency?from=${second.id}`)).status).to.equal(400);
    expect((await root.get(`/api/audit/checkpoints/${study.id}/consistency?from=${second.id}`)).status).to.equal(404);
  });

  it('are made by themselves, one at a time also when several processes sign at once', async () => {
    const ledger = await Ledger.make();
    const sweeps = [1, 2, 3].map(
      () => new Checkpointer({ database: ledger.app, log: silent, signer, folder: ledger.folder, everySeconds: 0.2 }),
    );
    try {
      await ledger.append(null, 3);
      sweeps.forEach((sweep) => sweep.start());
      await until(async () => (await ledger.folder.read('service')).at(-1)?.rows === 3, {
        what: 'the first checkpoint',
      });
      await ledger.append(null, 4);
      await until(async () => (await ledger.folder.read('service')).at(-1)?.rows === 7, {
        what: 'the next checkpoint',
      });
      await Promise.all(sweeps.map((sweep) => sweep.stop()));
      const rows = (await ledger.folder.read('service')).map((checkpoint) => checkpoint.rows);
      expect(new Set(rows).size).to.equal(rows.length);
      expect(existsSync(join(ledger.folder.path, 'keys', `${signer.keyId}.pem`))).to.equal(true);
      const verdict = await ledger.verify();
      expect([verdict.code, verdict.output]).to.satisfy(
        () => verdict.code === 0 && verdict.output.includes(`7 records, ${rows.length} checkpoints`),
      );
    } finally {
      await Promise.all(sweeps.map((sweep) => sweep.stop()));
      await ledger.clear();
    }
  });
});

const silent = { info: () => {}, warn: () => {}, error: () => {} } as never;
