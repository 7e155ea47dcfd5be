import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { changeAs, loadCaller, onceAs, pageAs, readAs } from '../db/request.js';
import type { Caller, CallerRow } from '../db/request.js';
import { changeAsPortal, enterStudy, loadPortalCaller, readAsPortal } from '../db/queries/portal.js';
import type { CaregiverCallerRow, PortalAsker, PortalCallerRow } from '../db/queries/portal.js';
import type { SessionRow } from '../db/queries/sessions.js';
import type { Statement } from '../db/one-trip.js';
import type { Work } from '../db/transaction.js';
import type { Tx } from '../db/knex.js';
import { inScope, readInScope, unhurried } from '../db/transaction.js';
import { admit, admitCaregiver, admitHousehold, admitParticipant } from './access.js';
import type { AnyCaller, Caregiver, Named, Participant } from './access.js';
import { authenticated } from './auth/holder.js';
import { isOnThisMachine } from './auth/this-machine.js';
import type { PortalHolder } from './auth/portal.js';
import { noteUse } from './auth/last-use.js';
import { heldOpen } from './held-open.js';
import type { Holder } from './auth/holder.js';
import { jwtSecret } from './auth/tokens.js';
import { largestBody } from './body-limit.js';
import { MAX_VALUES, arrived, hasBody, mediaType, parseJson, readBytes } from './body.js';
import { readUpload, requireFile } from './upload.js';
import type { Upload } from './upload.js';
import { Problem, problem } from './errors.js';
import { contentTag, etagOf, names } from './etag.js';
import { claimInside, claimOutside, commandIdOf, keep, keyed, release } from './idempotency.js';
import type { Keyed } from './idempotency.js';
import { compressAhead } from './middleware/compress.js';
import { count } from './middleware/count.js';
import { participantContext, studyContext } from './context.js';
import { recordingForbidden } from './refusals.js';
import { Reply, bodySchema, knowsItsQuery, takesKey } from './route.js';
import type { Asker, Credential, Ready, RequestContext, Route } from './route.js';
import type { Services } from './services.js';
import { countingWrongProofs } from './services/reauthentication.js';
import { inSession, sessionIdOf } from './services/sessions-credential.js';
import { check, declaredQuery, refuseUnknownKeys } from './validation.js';
import { WrittenJson, WrittenStream } from './written-json.js';

/** `handled`: the handler was reached; `largest`: how large a body its route takes. */
export interface State {
  context: RequestContext;
  route?: string;
  largest?: number;
  userId?: string | undefined;
  handled?: boolean;
}

/** Names whom a request is about, on every route. */
const CONTEXT_KEYS = ['study_id', 'participant_id'];
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Answers one request by its route's definition. In this order, so that nobody learns more than they may: token (401),
 * rate (429), names in the path (404), body read (413, 415, 400), role (403), study, site and participant in reach
 * (404), schema (422), Idempotency-Key, handler.
 */
export async function serve(
  ctx: Context,
  route: Route,
  params: Record<string, string>,
  services: Services,
): Promise<void> {
  const state = ctx.state as State;
  const open = route.onThisMachine === true && isOnThisMachine(ctx, services.settings);
  const holder = route.may.signed && !open ? await authenticated(ctx, route, services, params.study_id) : undefined;
  if (holder?.kind === 'user' || holder?.kind === 'token') state.userId = holder.userId;
  await count(ctx, route.limit ?? 'general', holder && `${holder.kind}:${holder.id}`, services);
  requireUuids(route, params);
  if (route.within === 'session') sessionIdOf(ctx.headers);
  const arrival = services.settings.REQUEST_ARRIVAL_SECONDS;
  const upload =
    route.takes === 'upload'
      ? await arrived(ctx.req, arrival, () => readUpload(ctx, largestBody(route, services.settings), route.consumes))
      : undefined;
  const raw = upload ? upload.bytes : await arrived(ctx.req, arrival, () => readBody(ctx, route, services));
  const request = new Request(ctx, route, params, services, raw, upload);
  const answer = holder
    ? await asCaller(request, holder)
    : route.within === 'session'
      ? await asSession(request)
      : await asAnyone(request);
  send(ctx, answer);
}

/** One request on its way to its handler. */
class Request {
  readonly state: State;
  readonly search: URLSearchParams;
  constructor(
    readonly ctx: Context,
    readonly route: Route,
    readonly params: Record<string, string>,
    readonly services: Services,
    readonly raw: Buffer,
    readonly upload: Upload | undefined,
  ) {
    this.state = ctx.state as State;
    this.search = new URLSearchParams(ctx.querystring);
  }

  /** The declared keys of the query, checked. */
  query(): Record<string, unknown> {
    if (knowsItsQuery(this.route)) refuseUnknownKeys(this.route.query, this.search, CONTEXT_KEYS);
    const query = declaredQuery(this.route.query, this.search);
    if (this.route.query) check(this.route.query, query, 'query');
    return query;
  }

  /** Validates and calls the handler. `opened` is what the frame opened for it: tx, audit, or nothing. */
  async handle(
    actor: AnyCaller | undefined,
    studyId: string | undefined,
    opened: Partial<Work> & { session?: SessionRow; first?: unknown[][] },
    key?: Keyed,
    credential?: Credential,
  ): Promise<Reply> {
    const { route, ctx } = this;
    const query = this.query();
    if (route.headers) check(route.headers, { ...ctx.headers }, 'headers');
    const schema = bodySchema(route);
    const body = schema ? parseJson(this.raw, route.itemwise, route.large ? Infinity : MAX_VALUES) : undefined;
    if (schema) check(schema, body, 'body');
    if (this.upload) requireFile(this.upload);
    this.state.handled = true;
    const result = await route.handle({
      params: this.params,
      query,
      body,
      headers: ctx.headers,
      actor,
      credential,
      studyId,
      raw: this.raw,
      parts: this.upload?.parts ?? {},
      context: this.state.context,
      services: this.services,
      commandId: key ? commandIdOf(key) : this.state.context.requestId,
      unchangedSince: (record: Record<string, unknown> | undefined) => refuseStale(ctx, record),
      first: [],
      get gone() {
        return goneFrom(ctx);
      },
      ...opened,
    } as Parameters<Route['handle']>[0]);
    return result instanceof Reply ? result : new Reply(200, result);
  }

  /**
   * The request under its Idempotency-Key, if it has one that counts. Beside the body it is what its query says and the
   * study that it names: an import that was only tried is not taken for done.
   */
  keyed(caller: string, studyId?: string): Keyed | undefined {
    const key = this.ctx.headers['idempotency-key'];
    if (key === undefined || !takesKey(this.route)) return undefined;
    // Of a form its parts count: what stands between them is another at each sending.
    const body = this.upload ? Buffer.concat([this.raw, Buffer.from(JSON.stringify(this.upload.parts))]) : this.raw;
    const names = Object.keys((this.route.query as { properties?: object } | undefined)?.properties ?? {}).filter(
      (name) => name !== 'study_id' && this.search.has(name),
    );
    const beside = {
      ...Object.fromEntries(names.map((name) => [name, this.search.getAll(name)])),
      ...(studyId && !this.params.study_id && { study_id: studyId }),
    };
    const content = Object.keys(beside).length > 0 ? Buffer.concat([body, Buffer.from(JSON.stringify(beside))]) : body;
    return keyed(caller, this.route.method, this.ctx.path, String(key), content, jwtSecret(this.services.settings));
  }
}

/** Made for the few handlers that ask for it. */
function goneFrom({ res }: Context): AbortSignal {
  const leaving = new AbortController();
  const look = () => {
    if (!res.writableFinished) leaving.abort();
  };
  if (res.closed) look();
  else res.once('close', look);
  return leaving.signal;
}

/** How the database is opened for a caller, who is looked up and let in as the first thing of each. */
interface Door {
  change: (work: (work: Work, actor: AnyCaller, first?: unknown[][]) => Promise<Reply>) => Promise<Reply>;
  read: <T>(work: (tx: Tx, actor: AnyCaller, first?: unknown[][]) => Promise<T>) => Promise<T>;
  snapshot?: Door['read'];
  load: () => Promise<AnyCaller>;
}

async function asCaller(request: Request, holder: Holder): Promise<Reply> {
  const {
    route,
    services: { database },
    ctx,
  } = request;
  const studyId = studyContext(ctx, route, request.params, request.search);
  const siteId = siteContext(ctx);
  // Of staff it is checked and means nothing more.
  const about =
    route.may.signed === 'portal' || route.may.signed === 'either'
      ? participantContext(ctx, request.params, request.search)
      : undefined;
  if (holder.kind === 'participant' || holder.kind === 'caregiver')
    return asPortalCaller(request, holder, { studyId, siteId, participantId: about });
  const participantId = request.params.participant_id;
  const token = holder.kind === 'token' ? { id: holder.id, hash: holder.hash } : undefined;
  const narrowed = route.studyContext === 'filter' ? undefined : studyId;
  const credential = holder.kind === 'user' ? holder.credential : undefined;
  const login = credential?.sid;
  const caller: Caller = { userId: holder.userId, login, studyId: narrowed, siteId, participantId, token };
  const epoch = holder.kind === 'user' && holder.credential.audience === 'api' ? holder.epoch : undefined;
  const enter = (row: CallerRow | undefined) => admit(route.may, row, narrowed, epoch);
  if (route.page) {
    const query = request.query();
    const page = route.page({ params: request.params, query, studyId });
    return new Reply(200, await recordingForbidden(request, caller, () => pageAs(database, caller, enter, page)));
  }
  const serving = async () => {
    const statements = readFirst(request, studyId);
    if (route.within === 'once' && statements) {
      const { admitted, first } = await onceAs(database, caller, enter, statements);
      return request.handle(admitted, studyId, { first }, undefined, credential);
    }
    const ready = await readyFor(request, { kind: 'user', id: holder.userId, studyId: narrowed, siteId, login });
    if (ready?.kind === 'user') {
      enter(ready.caller);
      if (ready.answer) return ready.answer;
    }
    return through(request, holder, studyId, {
      change: (work) =>
        changeAs(database, caller, enter, work, {
          ...(statements && { first: statements }),
          meanwhile: (answer) => {
            writeAhead(ctx, answer);
          },
        }),
      read: (work) => readAs(database, caller, enter, work, { ...(statements && { first: statements }) }),
      snapshot: (work) => readAs(database, caller, enter, work, { snapshot: true }),
      load: async () => enter(await loadCaller(database, caller)),
    });
  };
  const answer = await countingWrongProofs(database, request.state.context, () =>
    route.refusedAs && !route.within
      ? recordingRefusal(request, caller, serving)
      : recordingForbidden(request, { ...caller, studyId }, serving),
  );
  if (token) await noteUse(request.services, token.id);
  return answer;
}

/** By a portal token: the participant itself, or a caregiver for the participant that the request is about. */
async function asPortalCaller(request: Request, holder: PortalHolder, named: Named): Promise<Reply> {
  const {
    route,
    services: { database },
  } = request;
  const { studyId, participantId } = named;
  const door = <Row>(asker: PortalAsker, enter: (row: Row | undefined) => Participant | Caregiver): Door => ({
    change: (work) =>
      changeAsPortal(database, asker, enter, async (opened, actor) => {
        await seeAfterWithdrawal(opened.tx, actor);
        return work(opened, actor);
      }),
    read: (work) =>
      readAsPortal(database, asker, enter, async (tx, actor) => {
        await seeAfterWithdrawal(tx, actor);
        return work(tx, actor);
      }),
    load: async () => enter(await loadPortalCaller<Row>(database, asker)),
  });
  if (holder.kind === 'caregiver') {
    const enter = route.may.signed === 'household' ? admitHousehold : admitCaregiver;
    return through(
      request,
      holder,
      studyId,
      door(
        { kind: 'caregiver', id: holder.id, participantId, login: holder.login },
        (row: CaregiverCallerRow | undefined) => enter(row, named, holder.epoch),
      ),
    );
  }
  const enter = (row: PortalCallerRow | undefined) => admitParticipant(row, named, route.afterWithdrawal);
  const ready = await readyFor(request, { kind: 'participant', id: holder.id, login: holder.login });
  if (ready?.kind === 'participant') {
    enter(ready.caller);
    if (ready.answer) return ready.answer;
  }
  return through(request, holder, studyId, door({ kind: 'participant', id: holder.id, login: holder.login }, enter));
}

/** One who has withdrawn is shown nothing by the look for it; the route that lets it in works in its study. */
async function seeAfterWithdrawal(tx: Tx, actor: Participant | Caregiver): Promise<void> {
  if (actor.role === 'participant' && actor.status === 'withdrawn') await enterStudy(tx, actor.study_id);
}

/** What does not fit the schema is left to the handler's way, as below. */
function readFirst(request: Request, studyId: string | undefined): readonly Statement[] | undefined {
  const { route, params } = request;
  if (!route.first) return undefined;
  const query = fitting(() => request.query());
  return query && route.first({ params, query, studyId });
}

/**
 * Writes and compresses an answer while the database commits, which waits for its disk. A tagged record is left: its
 * client may have it already.
 */
function writeAhead(ctx: Context, answer: Reply): void {
  const { body } = answer;
  if (
    !isToBeWritten(body) ||
    body instanceof WrittenJson ||
    etagOf(body) !== undefined ||
    answer.headers.ETag !== undefined
  )
    return;
  answer.text = JSON.stringify(body);
  compressAhead(ctx, answer.text);
}

/**
 * Of a route that has answers ready. What does not fit the schema is left to the handler's way, which refuses it in its
 * turn.
 */
async function readyFor(request: Request, asker: Asker): Promise<Ready | undefined> {
  const {
    route,
    params,
    services: { database },
  } = request;
  if (!route.ready) return undefined;
  const query = fitting(() => request.query());
  return query && route.ready({ database, asker, params, query });
}

function fitting<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (fault) {
    if (fault instanceof Problem) return undefined;
    throw fault;
  }
}

/** Opens what the route asks for and calls its handler, under the Idempotency-Key if there is one. */
async function through(request: Request, holder: Holder, studyId: string | undefined, door: Door): Promise<Reply> {
  const { route, services } = request;
  let key = request.keyed(holder.id, studyId);
  // What a caregiver asks for one participant is answered for no other.
  const forOne = (actor: AnyCaller) => {
    if (key && holder.kind === 'caregiver') key = request.keyed(`${holder.id} ${actor.id}`, studyId);
  };
  const credential = holder.kind === 'user' ? holder.credential : undefined;
  if (route.within === 'change') {
    return door.change(async (work, actor, first) => {
      forOne(actor);
      if (route.takes === 'upload') await unhurried(work.tx);
      return onceInside(work.tx, key, () =>
        request.handle(actor, studyId, { ...work, ...(first && { first }) }, key, credential),
      );
    });
  }
  const reading = () =>
    door.read((tx, actor, first) => request.handle(actor, studyId, { tx, ...(first && { first }) }, key, credential));
  if ((route.within === 'read' && !key) || route.within === 'once') return reading();
  if (route.within === 'snapshot' && door.snapshot) {
    return heldOpen(door.snapshot, async (tx, actor) => {
      await unhurried(tx);
      return request.handle(actor, studyId, { tx }, key, credential);
    });
  }
  const actor = await door.load();
  forOne(actor);
  if (!key) return request.handle(actor, studyId, {}, key, credential);
  const stored = await claimOutside(services.database, key, services.settings.REQUEST_TIMEOUT_SECONDS + 5);
  if (stored) return stored;
  try {
    const answer =
      route.within === 'read' ? await reading() : await request.handle(actor, studyId, {}, key, credential);
    await keep(services.database, key, answer);
    return answer;
  } catch (fault) {
    await release(services.database, key);
    throw fault;
  }
}

/** A change under its key, claim and answer in its transaction. */
async function onceInside(tx: Tx, key: Keyed | undefined, work: () => Promise<Reply>): Promise<Reply> {
  if (!key) return work();
  const stored = await claimInside(tx, key);
  if (stored) return stored;
  const answer = await work();
  await keep(tx, key, answer);
  return answer;
}

/**
 * What the frame refuses before the handler is reached is told to the study as well (decisions, section 5: every
 * refused decision is an audit record). The handler's own refusals record themselves. A study that is not there has no
 * chain.
 */
async function recordingRefusal(request: Request, caller: Caller, work: () => Promise<Reply>): Promise<Reply> {
  try {
    return await work();
  } catch (fault) {
    const { services, route, params, state } = request;
    if (fault instanceof Problem && [401, 403, 404].includes(fault.status) && !state.handled && caller.studyId) {
      await inScope(services.database, '*', async ({ tx, audit }) => {
        if (!(await tx('studies').where({ id: caller.studyId! }).first('id'))) return;
        audit.record({
          study_id: caller.studyId!,
          user_id: caller.userId,
          action: route.refusedAs!,
          resource_type: 'participant',
          resource_id: params.participant_id ?? null,
          request_id: state.context.requestId,
          metadata: { code: fault.code, override_request_id: params.override_request_id ?? null },
        });
      });
    }
    throw fault;
  }
}

/** Of an assessment session, whose id is the credential and whose keys are its own. */
async function asSession(request: Request): Promise<Reply> {
  const id = sessionIdOf(request.ctx.headers);
  const key = request.keyed(id);
  return inSession(request.services.database, id, (work, session) =>
    onceInside(work.tx, key, () => request.handle(undefined, undefined, { ...work, session }, key)),
  );
}

/** Routes without a token see no study's rows; a service that must (a trigger, a session) opens its own scope. */
async function asAnyone(request: Request): Promise<Reply> {
  const { route, services } = request;
  if (route.within === 'change')
    return inScope(services.database, [], (work) => request.handle(undefined, undefined, work));
  if (route.within === 'read')
    return readInScope(services.database, [], (tx) => request.handle(undefined, undefined, { tx }));
  return request.handle(undefined, undefined, {});
}

/** An id that is no uuid names nothing. */
function requireUuids(route: Route, params: Record<string, string>): void {
  for (const [name, value] of Object.entries(params)) {
    if ((name === 'id' || name.endsWith('_id')) && !route.plainParams?.includes(name) && !UUID.test(value))
      throw problem('NOT_FOUND');
  }
}

async function readBody(ctx: Context, route: Route, services: Services): Promise<Buffer> {
  const type = mediaType(ctx.req);
  if (route.takes === 'bytes') {
    if (route.consumes && !route.consumes.includes(type)) throw wrongType(route.consumes);
    return readBytes(ctx, largestBody(route, services.settings));
  }
  const schema = bodySchema(route);
  if (!schema) return Buffer.alloc(0);
  const isJson = type === 'application/json' || /^application\/[a-z0-9.+-]+\+json$/.test(type);
  if (hasBody(ctx.req) && type === '') throw wrongType(['application/json']);
  const bytes = await readBytes(ctx, largestBody(route, services.settings));
  // No body at all where every field may be left out is an empty object.
  if (bytes.length === 0 && ((schema as { required?: string[] }).required ?? []).length === 0) return Buffer.from('{}');
  if (!isJson) throw wrongType(['application/json']);
  return bytes;
}

const wrongType = (taken: readonly string[]) =>
  problem('UNSUPPORTED_MEDIA_TYPE', { detail: `The body must be ${taken.join(' or ')}.` });

/** X-Site-ID narrows to a site (interface, "Study and site context"). */
function siteContext(ctx: Context): string | undefined {
  const site = ctx.get('x-site-id');
  if (ctx.headers['x-site-id'] === undefined) return undefined;
  if (!UUID.test(site))
    throw problem('VALIDATION_FAILED', {
      detail: 'X-Site-ID is not a valid uuid',
      errors: [{ path: 'header.x-site-id', code: 'FORMAT', message: 'X-Site-ID is not a valid uuid' }],
    });
  return site.toLowerCase();
}

function refuseStale(ctx: Context, record: Record<string, unknown> | undefined): void {
  const given = ctx.get('if-match');
  if (given === '') return;
  if (!record) throw problem('STALE', { detail: 'There is nothing yet that If-Match could name.' });
  const tag = etagOf(record) ?? contentTag(record);
  if (!names(given, tag, false)) throw problem('STALE', { headers: { ETag: tag } });
}

function send(ctx: Context, answer: Reply): void {
  ctx.status = answer.status;
  ctx.set(answer.headers);
  if (answer.body === undefined) {
    if (answer.status !== 204) ctx.body = null;
    ctx.status = answer.status;
    return;
  }
  const tag = etagOf(answer.body);
  if (tag && !ctx.response.get('etag')) ctx.set('ETag', tag);
  const seen = ctx.get('if-none-match');
  const own = ctx.response.get('etag');
  if (
    (ctx.method === 'GET' || ctx.method === 'HEAD') &&
    answer.status === 200 &&
    seen !== '' &&
    own !== '' &&
    names(seen, own, true)
  ) {
    if (answer.body instanceof Readable) answer.body.destroy();
    ctx.status = 304;
    ctx.body = null;
    ctx.status = 304;
    return;
  }
  if (!isToBeWritten(answer.body)) {
    ctx.body = answer.body;
    return;
  }
  ctx.type = 'application/json; charset=utf-8';
  if (answer.body instanceof WrittenJson) {
    ctx.body = new WrittenStream(answer.body);
    ctx.length = answer.body.length;
  } else ctx.body = answer.text ?? JSON.stringify(answer.body);
}

/** Neither nothing nor bytes already. */
const isToBeWritten = (body: unknown): boolean =>
  body !== undefined && !(typeof body === 'string' || Buffer.isBuffer(body) || body instanceof Readable);
