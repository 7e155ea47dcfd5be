import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { exportFile } from '../../db/exports/files.js';
import { AnchorStudy, Stage } from '../anchor/stage.js';
import { eventDeliveryId, studyExportId } from '../../workflows/contract.js';
import { newStudy } from '../support/http.js';
import type { Loose } from '../support/http.js';
import { Receiver } from '../support/receiver.js';
import { startService } from '../support/service.js';
import type { Service } from '../support/service.js';
import { until } from '../support/until.js';
import { FINAL_AT_ONCE, deliveries, emitted, setDate, subscribe, subscriptions } from './stage.js';
import type { Delivery } from './stage.js';

/** Longer than a busy machine leaves a receiver without an answer. */
const TIMEOUT_SECONDS = 5;
/** Of the file of an export: eight seconds stand for the three days. */
const HOURS = 8 / 3600;
/** Nothing listens there, and nothing ever will: no server is given a port below 1024 by chance. */
const NOBODY = 'http://127.0.0.1:2/';

describe('An event that does not arrive', () => {
  let service: Service;
  let stage: Stage;
  let study: AnchorStudy;
  let receiver: Receiver;
  before(async () => {
    service = await startService({
      EVENT_RETRY_INITIAL_SECONDS: '0.2',
      EVENT_RETRY_MAX_DAYS: '2',
      EVENT_TIMEOUT_SECONDS: String(TIMEOUT_SECONDS),
      EXPORT_RETENTION_HOURS: String(HOURS),
    });
    stage = await Stage.open(service.run);
    study = await stage.study(FINAL_AT_ONCE, { days: [0] });
    receiver = await Receiver.open();
  });
  after(async () => {
    await receiver.close();
    await stage.close();
    await service.stop();
  });

  const becomes = (id: string, wanted: (all: Delivery[]) => boolean, what: string): Promise<Delivery[]> =>
    until(
      async () => {
        const all = await deliveries(study, id);
        if (!wanted(all)) throw new Error(JSON.stringify(all));
        return all;
      },
      { what },
    );
  const delivered = (count: number) => (all: Delivery[]) =>
    all.filter(({ status }) => status === 'delivered').length === count;

  it('is repeated by a workflow until it does', async () => {
    receiver.answer = ({ path }, response, count) => {
      response.writeHead(path === '/third' && count < 3 ? 503 : 200).end();
    };
    const made = await subscribe(study, `${receiver.url}/third`);
    await setDate(study);
    const [delivery] = await becomes(made.id, delivered(1), 'the third attempt');
    expect(delivery).to.include({ attempts: 3, response_status: 200, last_error: null });
    const got = receiver.at('/third');
    expect(new Set(got.map(({ body, headers }) => `${String(headers['webhook-id'])} ${body}`)).size).to.equal(1);
    expect((await stage.temporal.workflow.getHandle(eventDeliveryId(delivery!.id)).describe()).type).to.equal(
      'eventDelivery',
    );
    await stage.admin.expect(204, 'DELETE', `${subscriptions(study)}/${made.id}`);
  });

  it('waits as long as the subscriber asks for, by seconds or by a date', async () => {
    const asks: Record<string, () => string> = {
      '/seconds': () => ' 3 ',
      '/date': () => new Date(Date.now() + 4_000).toUTCString(),
    };
    for (const [path, wait] of Object.entries(asks)) {
      const times: number[] = [];
      receiver.answer = (_request, response) => {
        times.push(performance.now());
        if (times.length === 1) response.writeHead(429, { 'Retry-After': wait() }).end();
        else response.writeHead(200).end();
      };
      const made = await subscribe(study, `${receiver.url}${path}`);
      await setDate(study);
      const [arrived] = await becomes(made.id, delivered(1), 'the second attempt');
      expect(arrived, path).to.include({ attempts: 2 });
      // Without being asked, it repeats after 0.2 s.
      expect(times[1]! - times[0]!, path).to.be.above(2_500);
      await stage.admin.expect(204, 'DELETE', `${subscriptions(study)}/${made.id}`);
    }
  });

  it('is given up when its time is over, listed as failed, and can be sent again', async () => {
    receiver.answer = (_request, response) => {
      response.writeHead(500).end('no');
    };
    const made = await subscribe(study, `${receiver.url}/never`);
    await setDate(study);
    const [pending] = await becomes(made.id, ([one]) => (one?.attempts ?? 0) >= 2, 'a second attempt');
    expect(pending!.last_error).to.equal('the subscriber answered 500');
    // Two days from its first attempt on; which are over now.
    const [last] = await stage.sql<{ in_time: boolean }>(
      `update event_deliveries d set give_up_at = clock_timestamp()
       from event_deliveries b where d.id = ? and b.id = d.id
       returning b.give_up_at - interval '2 days' between b.created_at and clock_timestamp() as in_time`,
      [pending!.id],
    );
    expect(last).to.deep.equal({ in_time: true });
    const [dead] = await becomes(made.id, ([one]) => one?.status === 'failed', 'it to be given up');
    expect(dead).to.include({ next_attempt_at: null, response_status: 500 });
    expect((await deliveries(study, made.id, '&status=failed')).map(({ id }) => id)).to.deep.equal([dead!.id]);
    receiver.answer = (_request, response) => {
      response.writeHead(200).end();
    };
    await stage.admin.expect(202, 'POST', `${subscriptions(study)}/${made.id}/deliveries/${dead!.id}/redeliver`);
    expect((await becomes(made.id, delivered(1), 'the redelivery'))[0]!.id).to.equal(dead!.id);
    await stage.admin.expect(204, 'DELETE', `${subscriptions(study)}/${made.id}`);
  });

  it('disables the subscription when the answer is 410', async () => {
    receiver.answer = (_request, response) => {
      response.writeHead(410).end();
    };
    const made = await subscribe(study, `${receiver.url}/gone`);
    await setDate(study);
    const [one] = await becomes(made.id, ([first]) => first?.status === 'failed', 'the delivery to fail');
    expect(one).to.include({ attempts: 1, response_status: 410 });
    const after = await stage.admin.expect(200, 'GET', `${subscriptions(study)}/${made.id}`);
    expect([after.status, after.disabled_reason]).to.deep.equal([
      'disabled',
      'the subscriber answered 410: it is gone for good',
    ]);
    expect((await study.audit('event_subscription_disabled')).at(-1)).to.deep.include({
      resource_id: made.id,
      user_id: null,
    });
    await setDate(study);
    expect(await deliveries(study, made.id)).to.have.length(1);
    expect(receiver.at('/gone')).to.have.length(1);
  });

  it('at a receiver that is gone goes to another address that was saved meanwhile', async () => {
    const made = await subscribe(study, `${receiver.url}/leaves`);
    const path = `${subscriptions(study)}/${made.id}`;
    let moved: Promise<unknown> | undefined;
    receiver.answer = (request, response) => {
      if (request.path !== '/leaves') {
        response.writeHead(200).end();
        return;
      }
      moved ??= stage.admin.expect(200, 'PATCH', path, { url: `${receiver.url}/moved` });
      void moved.then(() => response.writeHead(410).end());
    };
    await setDate(study);
    await becomes(made.id, delivered(1), 'the delivery at the other address');
    expect(receiver.at('/moved')).to.have.length(1);
    expect(await stage.admin.expect(200, 'GET', path)).to.include({ status: 'active', disabled_reason: null });
    await stage.admin.expect(204, 'DELETE', path);
  });

  it('is not followed where the subscriber redirects', async () => {
    receiver.answer = ({ path }, response) => {
      response
        .writeHead(path === '/there' ? 200 : 302, path === '/there' ? {} : { Location: `${receiver.url}/there` })
        .end();
    };
    const made = await subscribe(study, `${receiver.url}/redirects`);
    await setDate(study);
    const [one] = await becomes(made.id, ([first]) => first?.response_status === 302, 'the redirect');
    expect(one!.last_error).to.include('redirects (302)');
    expect(receiver.at('/there')).to.deep.equal([]);
    await stage.admin.expect(204, 'DELETE', `${subscriptions(study)}/${made.id}`);
  });

  it('is cut off where the subscriber is slow, refuses, or sends without end', async () => {
    let sent = 0;
    receiver.answer = ({ path }, response) => {
      if (path !== '/flood') return;
      response.writeHead(200, { 'Content-Length': 200 * 1024 * 1024 });
      const more = () => {
        while (!response.destroyed && sent < 200 * 1024 * 1024 && response.write(Buffer.alloc(65_536))) sent += 65_536;
      };
      response.on('drain', more);
      more();
    };
    const [slow, refusing, flood] = [
      await subscribe(study, `${receiver.url}/slow`),
      await subscribe(study, NOBODY),
      await subscribe(study, `${receiver.url}/flood`),
    ];
    await setDate(study);
    expect((await becomes(slow.id, ([one]) => (one?.attempts ?? 0) > 0, 'the time-out'))[0]!.last_error).to.equal(
      `no answer within ${TIMEOUT_SECONDS} s`,
    );
    expect((await becomes(refusing.id, ([one]) => (one?.attempts ?? 0) > 0, 'the refusal'))[0]!.last_error).to.equal(
      'the connection was refused',
    );
    expect((await becomes(flood.id, delivered(1), 'what was said in the status line'))[0]).to.include({
      response_status: 200,
    });
    await until(() => receiver.at('/flood').length > 0 && sent < 50 * 1024 * 1024, { what: 'the rest not to be read' });
    for (const one of [slow, refusing, flood])
      await stage.admin.expect(204, 'DELETE', `${subscriptions(study)}/${one.id}`);
  });

  it('holds up those after it where the subscription wants its events in order, and others not at all', async () => {
    let open = false;
    receiver.answer = ({ path }, response) => {
      response.writeHead(path === '/ordered' && !open ? 503 : 200).end();
    };
    const ordered = await subscribe(study, `${receiver.url}/ordered`, { ordered: true });
    const free = await subscribe(study, `${receiver.url}/free`);
    for (let i = 0; i < 3; i += 1) await setDate(study);
    await becomes(free.id, delivered(3), 'the other subscription to have all');
    await becomes(ordered.id, (all) => all.some(({ attempts }) => attempts > 0), 'a first attempt');
    const waiting = await deliveries(study, ordered.id);
    expect(waiting.filter(({ attempts }) => attempts > 0)).to.have.length(1);
    open = true;
    await becomes(ordered.id, delivered(3), 'all three in order');
    const ids = receiver.at('/ordered').map(({ headers }) => headers['webhook-id']);
    const wanted = (await emitted(study)).slice(-3).map(({ id }) => id);
    expect([...new Set(ids)]).to.deep.equal(wanted);
    expect(ids.slice(-2)).to.deep.equal(wanted.slice(1));
    for (const one of [ordered, free]) await stage.admin.expect(204, 'DELETE', `${subscriptions(study)}/${one.id}`);
  });

  it('that was written while no worker ran is delivered when one does, once', async () => {
    receiver.answer = (_request, response) => {
      response.writeHead(200).end();
    };
    const made = await subscribe(study, `${receiver.url}/later`);
    process.kill(service.current().pids.worker!, 'SIGKILL');
    // The worker writes these events; one that was committed just before its end is written here by the same statement.
    await stage.sql(`insert into domain_events (type, study_id, data) values ('ENROLLMENT_DATE_SET', ?, '{}')`, [
      study.id,
    ]);
    await becomes(made.id, delivered(1), 'the event after the worker is back');
    expect(receiver.at('/later')).to.have.length(1);
  });

  describe('The file of an export in the background', () => {
    it('is there until it expires, also when the worker was killed meanwhile; then it is removed, and its record says so', async () => {
      const study = await newStudy(stage.admin);
      const { export_id, status_url } = await stage.admin.expect<{ export_id: string; status_url: string }>(
        202,
        'POST',
        '/api/exports/csv',
        { study_id: study.id, dataset: 'participants', mode: 'background' },
      );
      const status = (wanted: string) =>
        until(
          async () => {
            const seen = await stage.admin.expect<Loose>(200, 'GET', status_url);
            return seen.status === wanted ? seen : undefined;
          },
          { timeout: 60_000, what: `the export to be ${wanted}` },
        );
      const done = await status('completed');
      const [completed, expires] = [done.completed_at, done.expires_at].map((moment) => Date.parse(moment as string));
      expect(expires! - completed!).to.be.closeTo(HOURS * 3_600_000, 50);
      const file = exportFile(service.dataDir, export_id, 'csv');
      expect(existsSync(file)).to.equal(true);
      // Killed before Temporal knows that the file is written, the worker writes it once more after the 60 seconds of a
      // missing heartbeat, and keeps it from then on.
      await until(
        async () => {
          const { events } = await stage.temporal.workflow.getHandle(studyExportId(export_id)).fetchHistory();
          return events?.some(({ timerStartedEventAttributes }) => timerStartedEventAttributes) === true;
        },
        { what: 'the workflow to wait for the expiry' },
      );
      process.kill(service.current().pids.worker!, 'SIGKILL');
      const whole = await stage.admin.get(done.download_url as string);
      expect([whole.status, whole.text.split(',')[0]]).to.deep.equal([200, 'id']);

      const expired = await status('expired');
      expect(Date.now(), 'not before its time').to.be.at.least(expires!);
      // The record stays: what the file was can be proved.
      expect(expired).to.deep.include({
        export_id,
        dataset: 'participants',
        rows: 0,
        sha256: done.sha256,
        size: done.size,
        expires_at: done.expires_at,
        download_url: null,
      });
      const gone = await stage.admin.get<{ code: string; detail: string }>(done.download_url as string);
      expect([gone.status, gone.body.code]).to.deep.equal([404, 'NOT_FOUND']);
      expect(gone.body.detail).to.match(/has expired: ask for it again/);
      await until(() => !existsSync(file), { what: 'the file to be removed' });
    });

    it('goes at its time also where the study was deleted meanwhile', async () => {
      const study = await newStudy(stage.admin);
      const { export_id, status_url } = await stage.admin.expect<{ export_id: string; status_url: string }>(
        202,
        'POST',
        '/api/exports/ndjson',
        { study_id: study.id, dataset: 'participants', mode: 'background' },
      );
      await until(async () => (await stage.admin.expect(200, 'GET', status_url)).status === 'completed', {
        timeout: 60_000,
        what: 'the export to be completed',
      });
      const file = exportFile(service.dataDir, export_id, 'ndjson');
      expect(existsSync(file)).to.equal(true);
      await stage.admin.expect(204, 'DELETE', `/api/studies/${study.id}`);
      await until(() => !existsSync(file), { timeout: 60_000, what: 'the file to be removed' });
    });
  });
});
