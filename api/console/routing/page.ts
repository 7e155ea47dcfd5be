import type { Static, TSchema } from 'typebox';
import { readAsCaller } from '../../../db/client/request.js';
import type { Tx } from '../../../db/client/database.js';
import type { Statement } from '../../../db/client/one-trip.js';
import { authorizeUser, byConsole, signedIn } from '../../http/access.js';
import type { Access, Actor } from '../../http/access.js';
import type { Problem } from '../../http/errors.js';
import { Reply } from '../../http/reply.js';
import type { Credential, RequestContext } from '../../http/request-context.js';
import { formBody, route, upload } from '../../http/route.js';
import type { PageFault, Input, PathParams, Route } from '../../http/route.js';
import { VISIT_COOKIE, cookieOf, loginIdOf, requireFormToken } from '../../http/security/console-login.js';
import { check } from '../../http/validation/validation.js';
import type { Dependencies } from '../../dependencies.js';
import { countsFor } from '../navigation.js';
import { faultView, formAt, onPageFault } from './faults.js';
import { FORM_BYTES, formOf, formToShow } from './form-fields.js';
import { renderView } from './render.js';
import type { View } from './render.js';
import { uiOf } from '../html/ui.js';
import type { Ui } from '../html/ui.js';

type Kind = true | false;
type Opens = 'read' | 'change' | undefined;

/** The input of a page's `view`, besides that of any handler. */
export interface PageTools {
  ui: Ui;
  /** Reads within the rights of the logged-in user, if the route itself opens no transaction. */
  read: <T>(work: (tx: Tx, actor: Actor) => Promise<T>) => Promise<T>;
}
export type PageInput<P extends string, Q extends TSchema, K extends Kind, W extends Opens> = Input<
  P,
  Q,
  TSchema,
  K,
  W
> &
  PageTools;
export type FormInput<P extends string, K extends Kind, W extends Opens> = PageInput<P, TSchema, K, W> & {
  form: URLSearchParams;
};
/** A refused form: the input for drawing its page again. */
export interface AgainInput<P extends string> extends PageTools {
  params: PathParams<P>;
  actor: Actor;
  services: Dependencies;
  form: URLSearchParams;
  fault: Problem;
}

interface Common<P extends string, K extends Kind, W extends Opens> {
  path: P;
  summary: string;
  access: Access<K>;
  /** Like `route`; never if the handler talks to Temporal. */
  transaction?: W;
  rateLimit?: 'general' | 'auth' | 'none';
}
export interface PageDefinition<P extends string, Q extends TSchema, K extends Kind, W extends Opens> extends Common<
  P,
  K,
  W
> {
  query?: Q;
  /** Like `route`. */
  prefetch?: (input: { params: PathParams<P>; query: Static<Q> }) => readonly Statement[] | undefined;
  /** A part that the page reloads itself: it does not extend the login. */
  background?: boolean;
  view: (input: PageInput<P, Q, K, W>) => View | Reply | Promise<View | Reply>;
}
export interface FormDefinition<P extends string, K extends Kind, W extends Opens> extends Common<P, K, W> {
  /** The schema of its fields, as texts. */
  fields?: TSchema;
  /** Of a `change`: whether it is only a preview. */
  tries?: (form: URLSearchParams) => boolean;
  /** Its size limit, if higher than the default. */
  largest?: number;
  /** It has a file, in `raw`. */
  upload?: boolean;
  submit: (input: FormInput<P, K, W>) => View | Reply | Promise<View | Reply>;
  /** Draws the form's page again with typed fields and the refusal; otherwise the error page is shown. */
  again?: (input: AgainInput<P>) => View | Promise<View>;
}

/** A page of the console, as a route. */
export function consolePage<P extends string, Q extends TSchema, K extends Kind, W extends Opens = undefined>({
  access,
  view,
  background = false,
  ...definition
}: PageDefinition<P, Q, K, W>): Route {
  return route<P, Q, TSchema, K, W>({
    ...definition,
    method: 'GET',
    tag: 'Console',
    hidden: true,
    access: admitted(access, background),
    responses: { 200: undefined },
    onFault: (fault) => onPageFault(fault, background),
    handle: async (input) => {
      const tools = toolsOf(input, pathOf(definition.path, input));
      return answer(input, tools.ui, await view(Object.assign(input, tools)));
    },
  });
}

/** The target of a console form. Its token is checked first. */
export function consoleForm<P extends string, K extends Kind, W extends Opens = undefined>({
  access,
  submit,
  again,
  fields,
  tries,
  largest = FORM_BYTES,
  upload: takesFile,
  ...definition
}: FormDefinition<P, K, W>): Route {
  return route<P, TSchema, TSchema, K, W>({
    ...definition,
    method: 'POST',
    tag: 'Console',
    hidden: true,
    access: admitted(access, false),
    idempotencyKey: false,
    ...(tries && { isTrial: ({ raw }) => tries(formToShow(raw)) }),
    body: takesFile ? upload() : formBody(largest),
    responses: { 200: undefined },
    onFault: async (fault) => (await drawAgain(fault, again)) ?? onPageFault(fault, false),
    handle: async (input) => {
      const { services, headers, credential, raw, parts } = input as Loose;
      const form = takesFile ? new URLSearchParams(parts) : formOf(raw);
      const { settings } = services;
      // A form without login may be on a page that has one.
      const boundTo = credential ? [credential.sid] : [cookieOf(headers, VISIT_COOKIE), loginIdOf(headers, settings)];
      requireFormToken(settings, boundTo, form.get('_token'));
      if (fields) check(fields, Object.fromEntries(form), 'body');
      const tools = toolsOf(input, formAt(form, definition.path));
      return answer(input, tools.ui, await submit(Object.assign(input, { form }, tools)));
    },
  });
}

/** The common input of all handlers. */
interface Loose {
  services: Dependencies;
  headers: PageFault['headers'];
  actor: Actor | undefined;
  credential: Credential | undefined;
  context: RequestContext;
  params: Record<string, string>;
  query: unknown;
  studyId: string | undefined;
  raw: Buffer;
  parts: Record<string, string>;
  tx?: Tx;
}

/** The console requires its cookie, except for routes without login. */
const admitted = <K extends Kind>(access: Access<K>, background: boolean): Access<K> =>
  access.token ? (byConsole(access as Access<true>, background ? 'background' : 'active') as Access<K>) : access;

function toolsOf(input: unknown, path: string): PageTools {
  const { services, headers, actor, credential } = input as Loose;
  return {
    ui: uiOf({ settings: services.settings, headers, path, actor, credential }),
    read: (work) => readAsUser(services, actor!, credential, work),
  };
}

async function answer(input: unknown, ui: Ui, view: View | Reply): Promise<Reply> {
  if (view instanceof Reply) return view;
  const { services, actor, tx, studyId } = input as Loose;
  // Within one study the counts would be limited to it: the page loads them later.
  if (actor && tx && studyId === undefined) ui.counts = await countsFor(tx, actor, ui.counts);
  return renderView(services.settings, ui, view);
}

/** The page's own address, with the parsed query. */
function pathOf(path: string, input: unknown): string {
  const { params, query } = input as Loose;
  const own = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const asked = Object.entries((query ?? {}) as Record<string, unknown>)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]): [string, string] => [name, String(value)]);
  return asked.length === 0 ? own : `${own}?${new URLSearchParams(asked).toString()}`;
}

/** A read-only transaction with the user's current rights. @throws 401 */
const readAsUser = <T>(
  { database }: Dependencies,
  { id, session_epoch }: Actor,
  credential: Credential | undefined,
  work: (tx: Tx, actor: Actor) => Promise<T>,
): Promise<T> =>
  readAsCaller(
    database,
    { userId: id, login: credential?.sid },
    (row) => authorizeUser(signedIn, row, undefined, session_epoch),
    (tx, actor) => work(tx, actor),
  );

/** The page of a refused form, with the refusal's status. */
async function drawAgain<P extends string>(
  { fault, state, headers, services }: PageFault,
  again: FormDefinition<P, Kind, Opens>['again'],
): Promise<Reply | undefined> {
  if (!again || !state.handled || fault.status === 500) return undefined;
  const actor = state.actor as Actor | undefined;
  const credential = state.principal?.kind === 'user' ? state.principal.credential : undefined;
  const form = state.upload ? new URLSearchParams(state.upload.parts) : formToShow(state.raw ?? Buffer.alloc(0));
  const tools = toolsOf({ services, headers, actor, credential }, formAt(form, state.route ?? ''));
  try {
    const params = (state.params ?? {}) as PathParams<P>;
    const view = await again({ ...tools, params, actor: actor!, services, form, fault });
    return renderView(services.settings, tools.ui, { status: fault.status, ...view });
  } catch (thrown) {
    // The page itself is no longer accessible: the refusal gets its own page.
    services.log.warn({ request_id: state.context.requestId, err: { type: (thrown as Error).name } }, 'form page');
    return renderView(services.settings, tools.ui, faultView(tools.ui, fault, state.context.requestId, form));
  }
}
