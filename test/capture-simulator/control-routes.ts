import { Router } from '@koa/router';
import { Type } from 'typebox';
import type { Context } from 'koa';
import type { Control } from './control.js';
import * as schemas from './schemas.js';
import type { World } from './world.js';

function idOf(ctx: Context & { params: Record<string, string> }): number {
  const id = Number(ctx.params['project']);
  if (!Number.isInteger(id)) throw new schemas.InputError(`"${ctx.params['project'] ?? ''}" is not a project id.`, 404);
  return id;
}

/** The bodies of control calls are JSON; an absent one is an empty object. */
const bodyOf = (ctx: Context): unknown => (ctx.request as { body?: unknown }).body ?? {};

/** The routes under `/control/`; README.md lists them. */
export function controlRoutes(control: Control, world: World): Router {
  const router = new Router({ prefix: '/control' });
  const project = '/projects/:project';
  const read = schemas.readInput;

  router.get('/projects', (ctx) => {
    ctx.body = { projects: control.projects() };
  });
  router.post('/projects', async (ctx) => {
    const input = read(schemas.CreateProjectSchema, bodyOf(ctx), 'The project');
    const made = 'directory' in input ? await control.addProjectFolder(input.directory) : control.addProject(input);
    ctx.status = 201;
    ctx.body = control.projects().find((view) => view.project_id === made.design.project_id);
  });
  router.patch(project, (ctx) => {
    const input = read(schemas.PatchProjectSchema, bodyOf(ctx), 'The change');
    if (input.trigger) control.setTrigger(idOf(ctx), input.trigger);
    if (input.in_production !== undefined) control.project(idOf(ctx)).design.in_production = input.in_production;
    ctx.body = control.projects().find((view) => view.project_id === idOf(ctx));
  });
  router.delete(project, (ctx) => {
    control.removeProject(idOf(ctx));
    ctx.status = 204;
  });
  router.post('/reset', (ctx) => {
    control.reset();
    ctx.status = 204;
  });
  router.post(`${project}/reset`, (ctx) => {
    control.resetProject(idOf(ctx));
    ctx.status = 204;
  });
  router.post(`${project}/load`, (ctx) => {
    const { rows } = read(schemas.LoadSchema, bodyOf(ctx), 'The load');
    control.load(idOf(ctx), rows);
    ctx.body = { rows: rows.length };
  });
  router.post(`${project}/save`, async (ctx) => {
    ctx.body = await control.saveForm(idOf(ctx), read(schemas.SaveSchema, bodyOf(ctx), 'The form'));
  });
  router.post(`${project}/trigger`, async (ctx) => {
    ctx.body = {
      triggers: await control.sendTriggers(idOf(ctx), read(schemas.SendTriggerSchema, bodyOf(ctx), 'The trigger')),
    };
  });
  router.post(`${project}/rename`, (ctx) => {
    const { record, to } = read(schemas.RenameSchema, bodyOf(ctx), 'The renaming');
    control.renameRecord(idOf(ctx), record, to);
    ctx.body = control.record(idOf(ctx), to);
  });
  router.post(`${project}/delete`, (ctx) => {
    control.deleteRecord(idOf(ctx), read(schemas.RecordSchema, bodyOf(ctx), 'The deletion').record);
    ctx.status = 204;
  });
  router.post(`${project}/events`, (ctx) => {
    ctx.status = 201;
    ctx.body = { unique_event_name: control.addEvent(idOf(ctx), read(schemas.EventSchema, bodyOf(ctx), 'The event')) };
  });
  router.post(`${project}/rename-event`, (ctx) => {
    const { event, to } = read(schemas.RenameEventSchema, bodyOf(ctx), 'The renaming');
    ctx.body = { unique_event_name: control.renameEvent(idOf(ctx), event, to) };
  });
  router.post(`${project}/delete-event`, (ctx) => {
    control.deleteEvent(idOf(ctx), read(schemas.EventNameSchema, bodyOf(ctx), 'The deletion').event);
    ctx.status = 204;
  });
  router.post(`${project}/lock`, (ctx) => {
    const { record, locked, instrument, event } = read(schemas.LockSchema, bodyOf(ctx), 'The lock');
    control.lockRecord(idOf(ctx), record, locked, instrument, event);
    ctx.body = control.record(idOf(ctx), record);
  });

  router.get('/records/:project', (ctx) => {
    ctx.body = { records: control.records(idOf(ctx)) };
  });
  router.get('/writes/:project', (ctx) => {
    ctx.body = { writes: control.writes(idOf(ctx)) };
  });

  router.get('/faults', (ctx) => {
    ctx.body = { faults: control.faults(), banned: world.faults.banned() };
  });
  router.put('/faults', (ctx) => {
    const body = bodyOf(ctx);
    control.setFaults(
      Array.isArray(body)
        ? read(Type.Array(schemas.FaultSchema), body, 'The faults')
        : read(schemas.FaultSchema, body, 'The fault'),
    );
    ctx.body = { faults: control.faults(), banned: world.faults.banned() };
  });
  router.post('/faults', (ctx) => {
    world.faults.add(read(schemas.FaultSchema, bodyOf(ctx), 'The fault'));
    ctx.status = 201;
    ctx.body = { faults: control.faults(), banned: world.faults.banned() };
  });
  router.delete('/faults', (ctx) => {
    control.clearFaults();
    ctx.status = 204;
  });

  router.get('/calls', (ctx) => {
    ctx.body = { calls: control.calls() };
  });
  router.delete('/calls', (ctx) => {
    world.journal.clearCalls();
    ctx.status = 204;
  });
  router.get('/triggers', (ctx) => {
    ctx.body = { triggers: control.triggers() };
  });
  router.delete('/triggers', (ctx) => {
    world.journal.clearTriggers();
    ctx.status = 204;
  });
  return router;
}
