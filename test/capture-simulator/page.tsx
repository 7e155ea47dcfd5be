import { Router } from '@koa/router';
import type { Context } from 'koa';
import type { ComponentChildren } from 'preact';
import type { Control } from './control.js';
import { PAGE_POLICY, page } from './page-parts.js';
import type { CaptureProject } from './project.js';
import { InputError, SaveSchema, readInput } from './schemas.js';
import { Calls, FormPage, Home, ProjectPage, Triggers } from './views.js';
import type { World } from './world.js';

const queryText = (ctx: Context, name: string): string => {
  const value = ctx.query[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
};

/** The pages: projects, records and their forms, every call received and every trigger sent. Plain HTML, no scripts. */
export function pageRoutes(control: Control, world: World): Router {
  const router = new Router();
  const show = (ctx: Context, title: string, content: ComponentChildren): void => {
    ctx.set('Content-Security-Policy', PAGE_POLICY);
    ctx.type = 'html';
    ctx.body = page(title, content);
  };
  const projectOf = (id: string | undefined): CaptureProject => control.project(Number(id));
  router.get('/', (ctx) => show(ctx, 'Capture simulator', <Home control={control} world={world} />));
  router.get('/calls', (ctx) => show(ctx, 'Calls received', <Calls control={control} />));
  router.get('/triggers', (ctx) => show(ctx, 'Triggers sent', <Triggers control={control} />));
  router.get('/projects/:project', (ctx) => {
    const project = projectOf(ctx.params['project']);
    show(ctx, `Project ${project.design.project_id}`, <ProjectPage control={control} project={project} />);
  });
  const form = (ctx: Context, project: CaptureProject, message: string): void =>
    show(
      ctx,
      queryText(ctx, 'instrument'),
      <FormPage
        project={project}
        record={queryText(ctx, 'record')}
        event={queryText(ctx, 'event')}
        instrument={queryText(ctx, 'instrument')}
        instance={Number(queryText(ctx, 'instance'))}
        message={message}
      />,
    );
  router.get('/projects/:project/form', (ctx) => form(ctx, projectOf(ctx.params['project']), ''));
  router.post('/projects/:project/form', async (ctx) => {
    const project = projectOf(ctx.params['project']);
    const instrument = queryText(ctx, 'instrument');
    const { [`${instrument}_complete`]: complete, ...values } = {
      ...(ctx.request as { body?: Record<string, unknown> }).body,
    };
    const instance = Number(queryText(ctx, 'instance'));
    const event = queryText(ctx, 'event');
    try {
      const saved = await control.saveForm(
        project.design.project_id,
        readInput(
          SaveSchema,
          {
            record: queryText(ctx, 'record'),
            instrument,
            values,
            complete: complete === '' ? '0' : complete,
            ...(event === '' ? {} : { event }),
            ...(instance > 0 ? { repeat_instance: instance } : {}),
          },
          'The form',
        ),
      );
      const { trigger } = saved;
      form(
        ctx,
        project,
        'Saved. ' +
          `${trigger === null ? 'No trigger was sent.' : `The trigger was answered with ${trigger.status ?? trigger.error ?? 'nothing'}.`}`,
      );
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      ctx.status = error.status;
      form(ctx, project, error.message);
    }
  });
  return router;
}
