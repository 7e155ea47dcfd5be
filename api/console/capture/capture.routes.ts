import { h } from 'preact';
import { inStudy } from '../../http/access.js';
import { Type, Uuid } from '../../http/common.schemas.js';
import type { Problem } from '../../http/errors.js';
import { startStudySync, syncReport } from '../../capture/datacapture-syncs.service.js';
import { checkSavedMapping, testConnection } from '../../capture/datacapture.service.js';
import { retryPushes } from '../../capture/pushes.service.js';
import { consoleForm, consolePage } from '../routing/page.js';
import type { PageTools } from '../routing/page.js';
import { refusalText } from '../html/refusal.js';
import { redirect } from '../routing/render.js';
import { CapturePage } from './capture.page.js';
import type { CaptureFormResult } from './capture.page.js';
import { configurerRoles, lastSync, loadCapture, loadMapping } from './capture.service.js';
import { MappingPage } from './mapping.page.js';
import { SyncProgressPage, SyncProgress } from './sync.page.js';

const path = '/console/capture/{study_id}';
const configurer = inStudy(...configurerRoles);
/** How long the mapping page waits for the capture system. */
const CHECK_SECONDS = 20;
const skip = Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000 }));
const flag = Type.Optional(Type.String({ maxLength: 10 }));

/** The page again, with the refusal. */
const again =
  (saidOf: (refused: string) => CaptureFormResult) =>
  async ({ read, params, fault, ui }: PageTools & { params: { study_id: string }; fault: Problem }) => {
    const view = await read((tx) => loadCapture(tx, params.study_id.toLowerCase()));
    return {
      title: ui.words.capture.title,
      content: h(CapturePage, { view, said: saidOf(refusalText(ui.words, fault)) }),
    };
  };

export const capturePages = [
  consolePage({
    path,
    summary: 'Show how the exchange with a study’s capture system is',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({ skip, tested: flag, retried: Type.Optional(Type.Integer({ minimum: 0 })) }),
    view: async ({ tx, params, query, ui }) => {
      const view = await loadCapture(tx, params.study_id.toLowerCase(), query.skip);
      const said: CaptureFormResult = {
        tested: query.tested !== undefined && view.config?.sync_status === 'active',
        ...(query.retried !== undefined && { retried: query.retried }),
      };
      return { title: ui.words.capture.title, content: h(CapturePage, { view, said }) };
    },
  }),
  consolePage({
    path: `${path}/progress`,
    summary: 'Show how far the last sync is',
    access: inStudy(),
    transaction: 'read',
    background: true,
    view: async ({ tx, params, ui }) => {
      const studyId = params.study_id.toLowerCase();
      const sync = await lastSync(tx, studyId);
      return { title: ui.words.capture.sync, fragment: true, content: h(SyncProgress, { studyId, sync }) };
    },
  }),
  consoleForm({
    path: `${path}/sync`,
    summary: 'Start a sync of all records of the capture system',
    access: configurer,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params }) => {
      await startStudySync({ tx, audit, actor, context }, params.study_id.toLowerCase());
      return redirect(`/console/capture/${params.study_id.toLowerCase()}#sync`);
    },
    again: again((refused) => ({ refused })),
  }),
  consoleForm({
    path: `${path}/test`,
    summary: 'Test the connection to the capture system',
    access: configurer,
    submit: async ({ services, actor, context, params }) => {
      const studyId = params.study_id.toLowerCase();
      await testConnection(services, { studyId, actor, context });
      return redirect(`/console/capture/${studyId}?tested=1`);
    },
    again: again((testFailed) => ({ testFailed })),
  }),
  consoleForm({
    path: `${path}/retry`,
    summary: 'Retry failed pushes, all or one',
    access: inStudy(),
    transaction: 'change',
    fields: Type.Object({ session_id: Type.Optional(Uuid) }),
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const studyId = params.study_id.toLowerCase();
      const one = form.get('session_id');
      const { session_ids } = await retryPushes({ tx, audit, actor, context }, studyId, one ? [one] : undefined);
      return redirect(`/console/capture/${studyId}?retried=${session_ids.length}`);
    },
  }),
  consolePage({
    path: `${path}/mapping`,
    summary: 'Show the mapping, and compare it with the capture system',
    access: configurer,
    query: Type.Object({ check: flag, said: flag }),
    view: async ({ services, params, query, read, ui }) => {
      const studyId = params.study_id.toLowerCase();
      const view = await read((tx) => loadMapping(tx, studyId));
      const warnings =
        query.check !== undefined && view.config
          ? await checkSavedMapping(services, studyId, CHECK_SECONDS)
          : undefined;
      return {
        title: ui.words.capture.mappingTitle,
        content: h(MappingPage, { view, warnings, isSaved: query.said !== undefined }),
      };
    },
  }),
  consolePage({
    path: `${path}/syncs/{sync_id}`,
    summary: 'Show what a sync has found',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({ skip }),
    view: async ({ tx, actor, params, query, ui }) => {
      const report = await syncReport(tx, actor, params.sync_id.toLowerCase(), { skip: query.skip ?? 0, limit: 50 });
      return { title: ui.words.capture.syncTitle, content: h(SyncProgressPage, { report, skip: query.skip ?? 0 }) };
    },
  }),
];
