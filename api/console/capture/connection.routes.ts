import { h } from 'preact';
import type { ConnectionReport } from '../../../workflows/domain/capture/query.js';
import { tryConnection } from '../../capture/connection-trial.service.js';
import type { Saving } from '../../capture/config-change.js';
import { ConfigPatch } from '../../capture/datacapture.schemas.js';
import { saveConfig, testConnection } from '../../capture/datacapture.service.js';
import { inStudy, staff } from '../../http/access.js';
import { Type, oneOf } from '../../http/common.schemas.js';
import { Problem, problem } from '../../http/errors.js';
import { check } from '../../http/validation/validation.js';
import { changeStudy } from '../../studies/studies.service.js';
import { assertFormVersion, versionOf } from '../routing/form-version.js';
import { consoleForm, consolePage } from '../routing/page.js';
import { redirect } from '../routing/render.js';
import { asTyped, seenIn, typedValue } from '../studies/edit/edit.js';
import type { Edit } from '../studies/edit/edit.js';
import { ConnectionPage, connectionNotices } from './connection.page.js';
import type { ConnectionNotice } from './connection.page.js';
import {
  connectionEdit,
  connectionIn,
  sealSecrets,
  loadConnection,
  secretNames,
  secretsIn,
} from './connection.service.js';
import type { ConnectionView, Secrets } from './connection.service.js';
import { configurerRoles } from './capture.service.js';

const path = '/console/capture/{study_id}/connection';
const configurer = inStudy(...configurerRoles);
const Trial = Type.Pick(ConfigPatch, ['api_url', 'api_token']);

/**
 * A configuration that does not exist yet has no version; one that another user created meanwhile has. @throws 409
 * STALE
 */
const asSeen = (form: URLSearchParams) => (record: Record<string, unknown> | undefined) => {
  if ((record ? versionOf(record) : '') !== (form.get('version') ?? '')) throw problem('STALE');
};

/** Whether a saved connection works, and the page's message: a failure is a normal answer. */
async function tested(saving: Saving): Promise<ConnectionNotice> {
  try {
    await testConnection(saving.services, saving);
    return 'works';
  } catch (fault) {
    if (fault instanceof Problem && [400, 503].includes(fault.status)) return 'fails';
    throw fault;
  }
}

export const connectionPages = [
  consolePage({
    path,
    summary: 'Show the connection to a study’s capture system as a form',
    access: configurer,
    transaction: 'read',
    query: Type.Object({ said: Type.Optional(oneOf(...connectionNotices)) }),
    view: async ({ tx, params, query, ui }) => {
      const view = await loadConnection(tx, params.study_id.toLowerCase());
      const content = h(ConnectionPage, { view, edit: connectionEdit(view), said: query.said });
      return { title: ui.words.edit.tabs.connection, content };
    },
  }),
  consoleForm({
    path,
    summary: 'Try a connection to a capture system, or save it',
    access: configurer,
    submit: async ({ services, actor, context, params, form, read, ui }) => {
      const studyId = params.study_id.toLowerCase();
      const owner = { studyId, userId: actor.id };
      const view = await read((tx) => loadConnection(tx, studyId));
      const edit = connectionEdit(view);
      const secrets = secretsIn(services, owner, form);
      const saving: Saving = { services, actor, context, studyId, strict: false, assertIfMatch: asSeen(form) };
      if (form.get('do') !== 'save') {
        const given = {
          api_url: typedValue(form, 'api_url').trim(),
          ...(secrets.api_token && { api_token: secrets.api_token }),
        };
        check(Trial, given, 'body');
        const trial = await tryConnection(saving, given);
        return page(view, asTyped(edit, form), {
          kept: sealSecrets(services, owner, secrets),
          trial,
          title: ui.words.edit.tabs.connection,
        });
      }
      const given = connectionIn(form, secrets, seenIn(form) ?? edit.seen, view.config === undefined);
      check(ConfigPatch, given, 'body');
      await saveConfig(saving, given);
      const isOther = given.api_url !== undefined || given.api_token !== undefined;
      return redirect(`/console/capture/${studyId}/connection?said=${isOther ? await tested(saving) : 'saved'}`);
    },
    again: async ({ read, services, actor, params, form, fault, ui }) => {
      const studyId = params.study_id.toLowerCase();
      const owner = { studyId, userId: actor.id };
      const view = await read((tx) => loadConnection(tx, studyId));
      // The refused field is a secret, or no key exists to encrypt it: it must be typed again.
      const isSecret =
        fault.code === 'UNAVAILABLE' ||
        (fault.options.errors ?? []).some(({ path: at }) => secretNames.some((name) => name === at));
      const kept = isSecret ? {} : sealSecrets(services, owner, secretsIn(services, owner, form));
      return page(view, connectionEdit(view, { form, fault }), { kept, title: ui.words.edit.tabs.connection });
    },
  }),
  consoleForm({
    path: '/console/capture/{study_id}/exchange',
    summary: 'Switch the exchange with the capture system on or off',
    access: staff.configure,
    transaction: 'change',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const studyId = params.study_id.toLowerCase();
      const datacapture_enabled = (form.get('on') ?? '') !== '';
      await changeStudy({ tx, audit, actor, context }, studyId, { datacapture_enabled }, assertFormVersion(form));
      return redirect(`/console/capture/${studyId}/connection?said=${datacapture_enabled ? 'on' : 'off'}`);
    },
    again: async ({ read, params, fault, ui }) => {
      const view = await read((tx) => loadConnection(tx, params.study_id.toLowerCase()));
      return page(view, { ...connectionEdit(view), fault }, { title: ui.words.edit.tabs.connection });
    },
  }),
];

function page(
  view: ConnectionView,
  edit: Edit,
  { title, ...more }: { title: string; kept?: Secrets; trial?: ConnectionReport | undefined },
) {
  return { title, content: h(ConnectionPage, { view, edit, ...more }) };
}
