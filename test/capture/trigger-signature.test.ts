import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import { assertAllowedAddress } from '../../api/capture/triggers/allowed-addresses.js';
import { parseTrigger } from '../../api/capture/triggers/trigger-body.js';
import { hasValidSignature } from '../../api/capture/triggers/trigger-signature.js';

const hex = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex');

describe('trigger signature', () => {
  const raw = Buffer.from('project_id=1&record=2&instrument=3');
  const base = { raw, headers: {}, urlSignature: undefined, projectId: '1' };
  const now = 1_700_000_000_000;
  const signed = (headers: Record<string, string>, auth: 'header' | 'url' = 'header', urlSignature?: string) =>
    hasValidSignature({ ...base, headers, urlSignature }, 's', auth, now);
  const good = `sha256=${hex('s', raw.toString())}`;
  const stamped = (at: number) => ({
    'x-datacapture-timestamp': String(at),
    'x-datacapture-signature': `sha256=${hex('s', `${at}.${raw.toString()}`)}`,
  });

  it('agrees with the published vector', () => {
    const vector = {
      ...base,
      raw: Buffer.from('Hello, World!'),
      headers: { 'x-datacapture-signature': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17' },
    };
    expect(hasValidSignature(vector, "It's a Secret to Everybody", 'header')).to.equal(true);
  });
  const table: [string, boolean, () => boolean][] = [
    ["the body's signature", true, () => signed({ 'x-datacapture-signature': good })],
    [
      'the same in upper case',
      true,
      () => signed({ 'x-datacapture-signature': `sha256=${good.slice(7).toUpperCase()}` }),
    ],
    ['no signature', false, () => signed({})],
    ['an empty one', false, () => signed({ 'x-datacapture-signature': '' })],
    ['without its prefix', false, () => signed({ 'x-datacapture-signature': good.slice(7) })],
    ['one that is too short', false, () => signed({ 'x-datacapture-signature': good.slice(0, -2) })],
    ['with another secret', false, () => signed({ 'x-datacapture-signature': `sha256=${hex('t', raw.toString())}` })],
    ['a time-stamped one', true, () => signed(stamped(now / 1000))],
    ['one of five minutes ago', true, () => signed(stamped(now / 1000 - 300))],
    ['one of five minutes and a second ago', false, () => signed(stamped(now / 1000 - 301))],
    ['one from the future', false, () => signed(stamped(now / 1000 + 301))],
    [
      'a time stamp that is not in the signature',
      false,
      () => signed({ 'x-datacapture-timestamp': String(now / 1000), 'x-datacapture-signature': good }),
    ],
    [
      'a time stamp that is no number',
      false,
      () =>
        signed({
          'x-datacapture-timestamp': 'now',
          'x-datacapture-signature': `sha256=${hex('s', `now.${raw.toString()}`)}`,
        }),
    ],
    ["the URL's signature where the configuration says url", true, () => signed({}, 'url', hex('s', 'det:1'))],
    ["the URL's signature where it says header", false, () => signed({}, 'header', hex('s', 'det:1'))],
    ["the URL's signature of another project", false, () => signed({}, 'url', hex('s', 'det:2'))],
    [
      'a wrong header beside a right URL',
      false,
      () => signed({ 'x-datacapture-signature': 'sha256=00' }, 'url', hex('s', 'det:1')),
    ],
  ];
  for (const [what, taken, run] of table)
    it(`${taken ? 'takes' : 'refuses'} ${what}`, () => {
      expect(run()).to.equal(taken);
    });
});

describe('trigger body', () => {
  const urlencoded = 'application/x-www-form-urlencoded';
  const parse = (body: string) => parseTrigger(Buffer.from(body), urlencoded);
  const refused = async (body: string, type = urlencoded) => {
    try {
      await parseTrigger(Buffer.from(body), type);
    } catch (problem) {
      return problem as { status: number; message: string };
    }
    throw new Error('the body was taken');
  };

  it('reads keys in any order, with either prefix, and keeps record ids as they are', async () => {
    for (const record of ['A-01/β +&=%', '0007', ' 7 ', '"quoted"', '1e3']) {
      const body = new URLSearchParams({
        enroll_complete: '2',
        redcap_event_name: 'base_arm_1',
        instrument: 'enroll',
        record,
        project_id: '42',
        redcap_data_access_group: 'north',
      }).toString();
      expect(await parse(body)).to.include({
        record,
        project_id: '42',
        instrument: 'enroll',
        event_name: 'base_arm_1',
        data_access_group: 'north',
        repeat_instance: null,
      });
    }
    expect(await parse('datacapture_event_name=a&redcap_event_name=b&project_id=1&record=2&instrument=3')).to.include({
      event_name: 'a',
    });
  });
  it('takes absent and blank conditional keys alike', async () => {
    expect(await parse('project_id=1&record=2&instrument=3&redcap_event_name=')).to.include({ event_name: null });
  });
  it('reads multipart', async () => {
    const response = new Response(
      (() => {
        const form = new FormData();
        for (const [name, value] of Object.entries({ project_id: '1', record: 'β 1', instrument: '3' }))
          form.set(name, value);
        return form;
      })(),
    );
    const raw = Buffer.from(await response.arrayBuffer());
    expect(await parseTrigger(raw, response.headers.get('content-type')!)).to.include({ record: 'β 1' });
  });
  it('names every required field that is missing', async () => {
    expect((await refused('record=1')).message).to.equal('Missing required fields: project_id, instrument.');
    expect((await refused('')).message).to.equal('Missing required fields: project_id, record, instrument.');
    expect((await refused('project_id=1&record=%20&instrument=x')).message).to.contain('record');
  });
  it('refuses what no record could be', async () => {
    for (const record of ['%00', 'a%0Ab', '%FF', 'x'.repeat(501)])
      expect((await refused(`project_id=1&instrument=3&record=${record}`)).status).to.equal(400);
  });
  it('refuses multipart that is none', async () => {
    expect((await refused('hello', 'multipart/form-data; boundary=x')).status).to.equal(400);
    expect((await refused('hello', 'multipart/form-data')).status).to.equal(400);
  });
});

describe('trigger addresses (WEBHOOK_ALLOWED_IPS)', () => {
  const list = ['10.1.0.0/16', '192.0.2.7', '2001:db8::/32'];
  const table: [string, boolean][] = [
    ['10.1.2.3', true],
    ['10.2.0.1', false],
    ['192.0.2.7', true],
    ['192.0.2.8', false],
    ['::ffff:10.1.2.3', true],
    ['2001:db8::1', true],
    ['2001:db9::1', false],
    ['', false],
  ];
  for (const [address, allowed] of table) {
    it(`${allowed ? 'takes' : 'refuses'} "${address}"`, () => {
      const ask = () => assertAllowedAddress(address, list);
      if (allowed) ask();
      else expect(ask).to.throw().with.property('status', 403);
    });
  }
  it('takes every address where no list is set', () => {
    assertAllowedAddress('203.0.113.9', undefined);
  });
  it('names an entry that is neither address nor range', () => {
    expect(() => assertAllowedAddress('10.0.0.1', ['10.0.0.0/99'])).to.throw('WEBHOOK_ALLOWED_IPS holds "10.0.0.0/99"');
  });
});
