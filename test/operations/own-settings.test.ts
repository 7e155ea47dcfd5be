import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { expect } from 'chai';
import { SMTPServer } from 'smtp-server';
import { parse } from 'yaml';
import { Stage } from '../anchor/stage.js';
import { Stage as CaptureStage } from '../capture/support.js';
import { freePort } from '../support/ports.js';
import { root } from '../support/environment.js';
import { Http, login, newParticipant, newStudy, unique } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { startService } from '../support/service.js';
import type { Service } from '../support/service.js';
import { until } from '../support/until.js';
import { CHOSEN, operatorsSettings } from './operators-settings.js';

interface Rule {
  alert: string;
  expr: string;
  annotations: { summary: string; runbook: string };
  labels: { severity: string };
}
interface Dashboard {
  panels: { id: number; title: string; targets: { expr: string }[] }[];
}

const TOKEN = 'a-metrics-token-of-operators.0123456789';
const read = (path: string): string => readFileSync(join(root, 'docs', path), 'utf8');
const rules = (parse(read('operations/prometheus-rules.yml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);
const dashboard = JSON.parse(read('operations/grafana-dashboard.json')) as Dashboard;
const expressions = [
  ...rules.map((rule) => [rule.alert, rule.expr] as const),
  ...dashboard.panels.flatMap((panel) => panel.targets.map(({ expr }) => [panel.title, expr] as const)),
];

/** What an expression names, by Prometheus' own grammar. @throws Error where it is none */
function namesIn(expression: string): { metrics: string[]; labels: string[] } {
  const found = { metrics: [] as string[], labels: [] as string[] };
  parser.parse(expression).iterate({
    enter: ({ type, from, to }) => {
      if (type.isError) throw new Error(`not PromQL at ${from}: ${expression}`);
      // A metric's name is the identifier of a selector; others name functions' parameters.
      if (type.name === 'Identifier') found.metrics.push(expression.slice(from, to));
      if (type.name === 'LabelName') found.labels.push(expression.slice(from, to));
    },
  });
  return found;
}
/** What Prometheus itself adds to every target. */
const OF_PROMETHEUS = { metrics: ['up'], labels: ['job', 'instance'] };

/** Eight at a time, each given up after ten seconds: anyone who waits behind them waits for most of a minute. */
const MAILS = 40;
/** No more than there are connections to the database: on a slow machine the others are refused. */
const AT_ONCE = 8;

/** What is held against settings that one service can have together. */
describe('A service with settings of its own', function suite() {
  this.timeout(300_000);
  let smtp: SMTPServer;
  let service: Service;
  let metricsPort: number;
  let begun = 0;
  let hangs = true;
  const letGo: (() => void)[] = [];
  before(async () => {
    smtp = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      closeTimeout: 100,
      onMailFrom: (_address, _session, done) => {
        begun += 1;
        if (!hangs) return done();
        letGo.push(() => {
          done();
        });
      },
      onData: (stream, _session, done) => {
        stream.resume().on('end', () => {
          done();
        });
      },
    });
    // What has been given up closes its connection in the middle.
    smtp.on('error', () => undefined);
    smtp.listen(0, '127.0.0.1');
    await once(smtp.server, 'listening');
    metricsPort = await freePort();
    service = await startService({
      ALLOW_PRIVATE_URLS: 'false',
      METRICS_TOKEN: TOKEN,
      SMTP_URL: `smtp://127.0.0.1:${(smtp.server.address() as AddressInfo).port}`,
      WORKER_METRICS_PORT: String(metricsPort),
      ...CHOSEN,
    });
  });
  after(async () => {
    await service?.stop();
    await new Promise<void>((resolve) => {
      smtp.close(resolve);
    });
  });

  describe('Alerts and dashboard of docs/operations', () => {
    it('are PromQL, and each alert has a runbook that is there', () => {
      expect(rules.length).to.be.greaterThan(10);
      const headings = [...read('OPERATIONS.md').matchAll(/^#+ (.*)$/gm)].map(([, text]) =>
        text!
          .toLowerCase()
          .replaceAll(/[^\w\s-]/g, '')
          .trim()
          .replaceAll(/\s+/g, '-'),
      );
      for (const { alert, labels, annotations } of rules) {
        expect(labels.severity, alert).to.be.oneOf(['page', 'warn']);
        expect(headings, `${alert}: ${annotations.runbook}`).to.include(
          annotations.runbook.replace('docs/OPERATIONS.md#', ''),
        );
      }
      for (const [of, expression] of expressions)
        expect(namesIn(expression).metrics, `${of}: ${expression}`).not.to.deep.equal([]);
      expect(() => namesIn('sum(rate(http_requests_total[5m])')).to.throw('not PromQL');
      expect(new Set(dashboard.panels.map(({ id }) => id)).size).to.equal(dashboard.panels.length);
    });

    it('see a count that grows in any process, and that nothing happens where nothing ever did', () => {
      for (const [of, expression] of expressions) {
        // Each process counts for itself, and from zero after a start: its counters are compared as increases alone.
        const grown = expression.replaceAll(/\b(?:rate|increase)\([^[\]]*\[\w+\]\)/g, '');
        expect(grown, of).not.to.match(/\w+_(?:total|count|sum|bucket)\b/);
        // A series without a value is no zero.
        if (/\bincrease\(.*== 0$/.test(expression)) expect(expression, of).to.match(/ or vector\(0\)\) == 0$/);
      }
    });

    it('name only what API and worker really expose', async () => {
      const { http } = await login(service.run.api, service.run.admin_email, service.run.admin_password ?? '');
      await newParticipant(http, (await newStudy(http)).id);
      await new Http(service.run.api).get('/api/studies');
      const scraper = { headers: { Authorization: `Bearer ${TOKEN}` } };
      const worker = await until(
        async () => {
          const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`, scraper)).text();
          // The sweep runs at the start; an alert and its outcome's label hang on it.
          return text.includes('activity="sweepReminders",outcome="completed"') ? text : undefined;
        },
        { timeout: 90_000, interval: 300, what: 'the first sweep to be counted' },
      );
      const exposed = `${await (await fetch(`${service.run.api}/api/metrics/prometheus`, scraper)).text()}\n${worker}`;
      const metrics = new Set([
        ...OF_PROMETHEUS.metrics,
        ...[...exposed.matchAll(/^([a-z_]\w*)(?:\{| )/gm)].map(([, name]) => name),
      ]);
      const labels = new Set([
        ...OF_PROMETHEUS.labels,
        ...[...exposed.matchAll(/[{,]([a-z_]\w*)="/g)].map(([, name]) => name),
      ]);
      for (const [of, expression] of expressions) {
        const named = namesIn(expression);
        for (const name of named.metrics) expect(metrics, `${of}: ${name}`).to.include(name);
        for (const name of named.labels) expect(labels, `${of}: label ${name}`).to.include(name);
      }
      // Each figure of what waits is a number, and the first participant's records are not signed yet.
      for (const [, name, value] of exposed.matchAll(
        /^((?:outbox|triggers|pushes|audit|capture|event|override|log)_\w+) (.*)$/gm,
      ))
        expect(Number(value), name).to.be.at.least(0);

      // Records come all the time: the age of the oldest unsigned one is what shows that nothing is signed.
      const { records, seconds, since } = await until(
        async () => {
          const signing = performance.now();
          await http.expect(201, 'POST', '/api/audit/checkpoints', {});
          await newParticipant(http, (await newStudy(http)).id);
          const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`, scraper)).text();
          const figure = (name: string) => Number(new RegExp(`^audit_unsigned_${name} (.*)$`, 'm').exec(text)?.[1]);
          const found = { records: figure('records'), seconds: figure('seconds') };
          // A record that began before the signing and was committed after it is older: then once more.
          const inSeconds = (performance.now() - signing) / 1000;
          return found.seconds <= inSeconds ? { ...found, since: inSeconds } : undefined;
        },
        { what: 'the age of unsigned records to begin with a checkpoint' },
      );
      expect(records).to.be.above(0);
      expect(seconds).to.be.within(0, since);
    });
  });

  describe('ALLOW_PRIVATE_URLS=false', () => {
    let stage: CaptureStage;
    before(async () => {
      stage = await CaptureStage.on(service.run, { polls: false });
    });
    after(() => stage?.clear());

    it('refuses a private address when it is saved, and a name that leads to one when it is called', async () => {
      const study = await stage.study({ connect: false });
      const refused = await study.configure({ api_url: stage.simulator.apiUrl, api_token: study.token });
      expect([refused.status, (refused.body['errors'] as { code: string }[])[0]!.code]).to.deep.equal([
        400,
        'PRIVATE_URL',
      ]);
      const before = stage.simulator.control.calls().length;
      const { port, pathname } = new URL(stage.simulator.apiUrl);
      // What this machine calls itself has no dot, as no public name has.
      const athome = `http://${hostname().split('.')[0]!}:${port}${pathname}`;
      expect(
        (await study.configure({ api_url: athome, api_token: study.token })).body['errors'],
      ).to.have.nested.property('[0].code', 'PRIVATE_URL');
      // A name that leads home only when it is looked up: as one whose entry was changed after it was saved.
      expect(
        (await study.configure({ api_url: 'https://capture.example.org/api/', api_token: study.token })).status,
      ).to.equal(201);
      await stage.sql('update datacapture_configs set api_url = ? where study_id = ?', [athome, study.id]);
      const tested = await stage.call('POST', `/api/datacapture/config/${study.id}/test-connection`);
      expect(tested.status).to.equal(400);
      expect(String(tested.body['detail'])).to.match(/^Connection failed: /);
      expect(stage.simulator.control.calls().length, 'nothing was sent there').to.equal(before);
    });

    it('gives no token to a stored address that would not be saved, as an import may bring it', async () => {
      const study = await stage.study({ connect: false });
      await study.configure({ api_url: 'https://capture.example.org/api/', api_token: study.token });
      await stage.sql('update datacapture_configs set api_url = ? where study_id = ?', [
        stage.simulator.apiUrl,
        study.id,
      ]);
      const refused = await study.configure({ api_token: study.token });
      expect(refused.status).to.equal(400);
      expect((refused.body['errors'] as { path: string; code: string }[])[0]).to.include({
        path: 'api_url',
        code: 'PRIVATE_URL',
      });
      const both = { api_url: 'https://capture.example.org/api/', api_token: study.token };
      expect((await study.configure(both)).status).to.equal(200);
    });
  });

  describe('A mail server that hangs', () => {
    let stage: Stage;
    before(async () => {
      stage = await Stage.open(service.run);
    });
    after(async () => {
      hangs = false;
      for (const answer of letGo) answer();
      await stage?.close();
    });

    it('has a message that can no longer be cancelled: it arrives when the server goes on', async () => {
      const study = await stage.study({}, { days: [] });
      const { id } = await study.person({ email: `${unique()}@example.org` });
      await stage.admin.expect(202, 'POST', '/api/portal/magic-link', { participant_id: id, channel: 'email' });
      await until(() => begun === 1, { what: 'the mail to be begun' });
      const message = async () =>
        (
          await stage.admin.expect<{ items: (Loose & { status: string })[] }>(
            200,
            'GET',
            `/api/notifications?participant_id=${id}`,
          )
        ).items[0]!;
      const cancel = async () => stage.admin.post(`/api/notifications/${(await message()).id}/cancel`);
      const refused = await cancel();
      expect([refused.status, refused.body.code]).to.deep.equal([409, 'NOTIFICATION_BEING_SENT']);
      for (const answer of letGo.splice(0)) answer();
      await until(async () => (await message()).status === 'sent', { what: 'the mail to be sent' });
      expect((await cancel()).body.code).to.equal('NOTIFICATION_SETTLED');
      begun = 0;
    });

    it('keeps no participant waiting', async () => {
      const study = await stage.study();
      const invite = () =>
        stage.admin.expect(201, 'POST', '/api/users/invite', {
          email: `${unique()}@example.org`,
          name: 'Somebody',
          role: 'coordinator',
          study_ids: [study.id],
        });
      for (let sent = 0; sent < MAILS; sent += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, invite));
      await until(() => begun >= 8, { what: 'the first mails to hang' });
      const person = await study.person();
      await person.consent('2024-03-01T09:00:00Z');
      await until(async () => (await person.anchor()).enrollment_date === '2024-03-01', {
        what: 'the consent to count',
      });
      expect(begun, 'mails begun meanwhile').to.be.lessThan(MAILS);
    });
  });
  describe('With what its operator may choose', () =>
    operatorsSettings(() => ({ service, metricsPort, token: TOKEN })));
});
