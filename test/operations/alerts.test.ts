import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { expect } from 'chai';
import { parse } from 'yaml';
import { freePort } from '../support/ports.js';
import { root } from '../support/environment.js';
import { Http, login, newParticipant, newStudy } from '../support/http.js';
import { startService } from '../support/service.js';
import { until } from '../support/until.js';

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

describe('Alerts and dashboard of docs/operations', function suite() {
  this.timeout(300_000);

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
    const port = await freePort();
    const service = await startService({ WORKER_METRICS_PORT: String(port), METRICS_TOKEN: TOKEN });
    try {
      const { http } = await login(service.run.api, service.run.admin_email, service.run.admin_password ?? '');
      await newParticipant(http, (await newStudy(http)).id);
      await new Http(service.run.api).get('/api/studies');
      const scraper = { headers: { Authorization: `Bearer ${TOKEN}` } };
      const worker = await until(
        async () => {
          const text = await (await fetch(`http://127.0.0.1:${port}/metrics`, scraper)).text();
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
          const text = await (await fetch(`http://127.0.0.1:${port}/metrics`, scraper)).text();
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
    } finally {
      await service.stop();
    }
  });
});
