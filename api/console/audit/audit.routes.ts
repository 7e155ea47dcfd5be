import { h } from 'preact';
import { auditNames } from '../../../db/audit/audit-names.queries.js';
import type { Tx } from '../../../db/client/database.js';
import { orderVerification, verification, verifications } from '../../audit/audit-verifications.service.js';
import { auditRecords, checkpointNow, checkpoints } from '../../audit/audit.service.js';
import { outsideStudy, roles, studyAsFilter } from '../../http/access.js';
import { Moment, Type, Uuid, text } from '../../http/common.schemas.js';
import { check } from '../../http/validation/validation.js';
import { consoleForm, consolePage } from '../routing/page.js';
import { redirect } from '../routing/render.js';
import { CHECKPOINTS, CheckpointsPage } from './checkpoints.page.js';
import { RECORDS, RecordsPage } from './records.page.js';
import { AUDIT } from './tabs.js';
import { VerificationPage, VerificationProgress, VerificationsPage } from './verifications.page.js';

const admin = outsideStudy(roles('admin'));
const skipped = { skip: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000_000 })) };
/** The number of verifications shown. */
const LATEST = 20;
const oneVerification = `${AUDIT}/verifications/{verification_id}` as const;

const checkpointsAt = async (tx: Tx, skip: number) => {
  const { items, total } = await checkpoints(tx, undefined, { skip, limit: CHECKPOINTS });
  const { studies } = await auditNames(tx, []);
  return { items, total, skip, studies };
};

export const auditPages = [
  consolePage({
    path: AUDIT,
    summary: 'Show audit records by study, person, record, action and time',
    access: studyAsFilter(roles('admin')),
    transaction: 'read',
    query: Type.Object({
      ...skipped,
      study_id: Type.Optional(Uuid),
      user_id: Type.Optional(Uuid),
      action: Type.Optional(text(100)),
      resource_type: Type.Optional(text(60)),
      resource_id: Type.Optional(text(200)),
      request_id: Type.Optional(text(36)),
      from: Type.Optional(Moment),
      to: Type.Optional(Moment),
    }),
    view: async ({ tx, query: { skip = 0, ...asked }, studyId, ui }) => {
      const { items, total } = await auditRecords(tx, { ...asked, study_id: studyId, skip, limit: RECORDS });
      const shown = [...items.map(({ user_id }) => user_id), asked.user_id ?? null];
      const names = await auditNames(tx, [...new Set(shown.filter((id) => id !== null))]);
      return { title: ui.words.audit.title, content: h(RecordsPage, { items, total, skip, asked, names }) };
    },
  }),
  consolePage({
    path: `${AUDIT}/verifications`,
    summary: 'Show the verifications of the audit log',
    access: admin,
    transaction: 'read',
    view: async ({ tx, ui }) => {
      const items = await verifications(tx, LATEST);
      const { studies } = await auditNames(tx, []);
      return { title: ui.words.audit.verify, content: h(VerificationsPage, { items, studies }) };
    },
  }),
  consoleForm({
    path: `${AUDIT}/verifications`,
    summary: 'Start a verification of the audit log',
    access: admin,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, form }) => {
      const study_id = form.get('study_id') ?? '';
      if (study_id !== '') check(Type.Object({ study_id: Uuid }), { study_id }, 'body');
      const ordered = await orderVerification({ tx, audit, actor, context }, study_id.toLowerCase() || undefined);
      return redirect(`${AUDIT}/verifications/${ordered.verification_id}`);
    },
  }),
  consolePage({
    path: oneVerification,
    summary: 'Show the progress and result of a verification of the audit log',
    access: admin,
    transaction: 'read',
    view: async ({ tx, params, ui }) => {
      const found = await verification(tx, params.verification_id);
      const { studies } = await auditNames(tx, []);
      return { title: ui.words.audit.verify, content: h(VerificationPage, { verification: found, studies }) };
    },
  }),
  consolePage({
    path: `${oneVerification}/progress`,
    summary: 'Get the progress of a verification of the audit log',
    access: admin,
    transaction: 'read',
    background: true,
    view: async ({ tx, params }) => ({
      title: '',
      fragment: true,
      content: h(VerificationProgress, { verification: await verification(tx, params.verification_id) }),
    }),
  }),
  consolePage({
    path: `${AUDIT}/checkpoints`,
    summary: 'Show the signed checkpoints of the audit log',
    access: admin,
    transaction: 'read',
    query: Type.Object({ ...skipped, made: Type.Optional(Type.Integer({ minimum: 0 })) }),
    view: async ({ tx, query: { skip = 0, made }, ui }) => ({
      title: ui.words.audit.tabs.checkpoints,
      content: h(CheckpointsPage, { ...(await checkpointsAt(tx, skip)), made }),
    }),
  }),
  consoleForm({
    path: `${AUDIT}/checkpoints`,
    summary: 'Sign checkpoints of the audit log now',
    access: admin,
    submit: async ({ services, actor, context }) => {
      const { total } = await checkpointNow(services, actor, context, undefined);
      return redirect(`${AUDIT}/checkpoints?made=${total}`);
    },
    again: async ({ read, ui, fault }) => ({
      title: ui.words.audit.tabs.checkpoints,
      content: h(CheckpointsPage, { ...(await read((tx) => checkpointsAt(tx, 0))), fault }),
    }),
  }),
];
