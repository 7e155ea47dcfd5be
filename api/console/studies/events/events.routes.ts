import { randomUUID } from 'node:crypto';
import { h } from 'preact';
import { inStudy, staff } from '../../../http/access.js';
import { Type, oneOf } from '../../../http/common.schemas.js';
import { problemOf } from '../../../http/errors.js';
import type { Problem } from '../../../http/errors.js';
import { check } from '../../../http/validation/validation.js';
import { EventDefinitionChange, NewEventDefinition } from '../../../scheduling/edc.schemas.js';
import {
  changeEventDefinition,
  createEventDefinition,
  removeEventDefinition,
} from '../../../scheduling/event-definitions.service.js';
import { changeStudy } from '../../../studies/studies.service.js';
import { assertFormVersion } from '../../routing/form-version.js';
import { consoleForm, consolePage } from '../../routing/page.js';
import { redirect } from '../../routing/render.js';
import { asTyped } from '../edit/edit.js';
import { DeleteEventPage, EventPage, EventsPage } from './events.page.js';
import {
  eventEdit,
  eventIn,
  eventOf,
  eventTrial,
  loadEvents,
  loadEventsPage,
  plansByEvents,
  trialWithout,
} from './events.service.js';
import type { EventsView } from './events.service.js';

const list = '/console/studies/{study_id}/events';
const one = `${list}/{event_id}` as const;

/** The two numbers of a repetition have fields of their own. */
const FIELDS = { 'repeating.count': 'repeat_count', 'repeating.every_days': 'repeat_days' } as const;
function atFields(fault: Problem): Problem {
  const errors = fault.options.errors?.map((entry) => {
    const path = FIELDS[entry.path as keyof typeof FIELDS];
    return path ? { ...entry, path } : entry;
  });
  return errors ? problemOf(fault.status, fault.code, fault.message, { ...fault.options, errors }) : fault;
}

/** Redirects to the change's progress if the study schedules by events, else to the list. */
const after = ({ study }: EventsView, changeId: string) =>
  redirect(
    plansByEvents(study)
      ? `/console/studies/${study.id}/changes/${changeId}`
      : `/console/studies/${study.id}/events?said=saved`,
  );

export const eventPages = [
  consolePage({
    path: list,
    summary: 'Show the event definitions of a study',
    access: inStudy(),
    transaction: 'read',
    query: Type.Object({ said: Type.Optional(oneOf('saved')) }),
    view: async ({ tx, actor, params, query, ui }) => {
      const view = await loadEventsPage(tx, actor, params.study_id.toLowerCase());
      return { title: ui.words.edit.tabs.events, content: h(EventsPage, { view, said: query.said }) };
    },
  }),
  consoleForm({
    path: '/console/studies/{study_id}/planning',
    summary: 'Plan a study’s visits by visit windows or by event definitions',
    access: staff.configure,
    transaction: 'change',
    fields: Type.Object({ mode: oneOf('legacy', 'edc') }),
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const studyId = params.study_id.toLowerCase();
      const change = { config: { scheduling_mode: form.get('mode')! } };
      await changeStudy({ tx, audit, actor, context }, studyId, change, assertFormVersion(form));
      return redirect(`/console/studies/${studyId}/events?said=saved`);
    },
    again: ({ read, params, fault, ui }) =>
      read(async (tx, actor) => {
        const view = await loadEventsPage(tx, actor, params.study_id.toLowerCase());
        const edit = { values: {}, seen: {}, version: '', changed: [], fault };
        return { title: ui.words.edit.tabs.events, content: h(EventsPage, { view, edit }) };
      }),
  }),
  consolePage({
    path: `${list}/new`,
    summary: 'Show the form of a new event definition',
    access: staff.configure,
    transaction: 'read',
    view: async ({ tx, params, ui }) => {
      const view = await loadEvents(tx, params.study_id.toLowerCase());
      return { title: ui.words.events.add, content: h(EventPage, { view, edit: eventEdit(undefined) }) };
    },
  }),
  consoleForm({
    path: `${list}/new`,
    summary: 'Show what a new event definition would move, or add it',
    access: staff.configure,
    transaction: 'change',
    tries: (form) => form.get('do') !== 'save',
    submit: async ({ tx, audit, actor, context, params, form, ui }) => {
      const view = await loadEvents(tx, params.study_id.toLowerCase());
      const given = eventIn(form);
      check(NewEventDefinition, given, 'body');
      if (form.get('do') !== 'save') {
        const trial = (await eventTrial({ tx, actor }, view.study, randomUUID(), given)) ?? 'tried';
        const edit = asTyped(eventEdit(undefined), form);
        return { title: ui.words.events.add, content: h(EventPage, { view, edit, trial }) };
      }
      const changeId = randomUUID();
      await createEventDefinition({ tx, audit, actor, context }, view.study.id, given, changeId);
      return after(view, changeId);
    },
    again: ({ read, params, form, fault, ui }) =>
      read(async (tx) => {
        const view = await loadEvents(tx, params.study_id.toLowerCase());
        const content = h(EventPage, { view, edit: eventEdit(undefined, { form, fault: atFields(fault) }) });
        return { title: ui.words.events.add, content };
      }),
  }),
  consolePage({
    path: one,
    summary: 'Show an event definition as a form',
    access: staff.configure,
    transaction: 'read',
    view: async ({ tx, params }) => {
      const event = await eventOf(tx, params);
      const view = await loadEvents(tx, event.study_id);
      return { title: event.name, content: h(EventPage, { view, event, edit: eventEdit(event) }) };
    },
  }),
  consoleForm({
    path: one,
    summary: 'Show what another event definition would move, or save it',
    access: staff.configure,
    transaction: 'change',
    tries: (form) => form.get('do') !== 'save',
    submit: async ({ tx, audit, actor, context, params, form }) => {
      const event = await eventOf(tx, params);
      const view = await loadEvents(tx, event.study_id);
      const given = eventIn(form);
      check(EventDefinitionChange, given, 'body');
      if (form.get('do') !== 'save') {
        assertFormVersion(form)(event);
        const trial = (await eventTrial({ tx, actor }, view.study, event.id, given)) ?? 'tried';
        const edit = asTyped(eventEdit(event), form);
        return { title: event.name, content: h(EventPage, { view, event, edit, trial }) };
      }
      const changeId = randomUUID();
      await changeEventDefinition({ tx, audit, actor, context }, event.id, given, assertFormVersion(form), changeId);
      return after(view, changeId);
    },
    again: ({ read, params, form, fault }) =>
      read(async (tx) => {
        const event = await eventOf(tx, params);
        const view = await loadEvents(tx, event.study_id);
        const edit = eventEdit(event, { form, fault: atFields(fault) });
        return { title: event.name, content: h(EventPage, { view, event, edit }) };
      }),
  }),
  consolePage({
    path: `${one}/delete`,
    summary: 'Show what deleting an event definition would move',
    access: staff.configure,
    transaction: 'read',
    view: async ({ tx, actor, params, ui }) => {
      const event = await eventOf(tx, params);
      const view = await loadEvents(tx, event.study_id);
      const trial = await trialWithout({ tx, actor }, view.study, event.id);
      return { title: ui.words.events.remove, content: h(DeleteEventPage, { view, event, trial }) };
    },
  }),
  consoleForm({
    path: `${one}/delete`,
    summary: 'Show what deleting an event definition would move, or delete it',
    access: staff.configure,
    transaction: 'change',
    tries: (form) => form.get('do') === 'try',
    submit: async ({ tx, audit, actor, context, params, form, ui }) => {
      const event = await eventOf(tx, params);
      const view = await loadEvents(tx, event.study_id);
      if (form.get('do') === 'try') {
        const trial = await eventTrial({ tx, actor }, view.study, event.id, null);
        return { title: ui.words.events.remove, content: h(DeleteEventPage, { view, event, trial }) };
      }
      const changeId = randomUUID();
      await removeEventDefinition({ tx, audit, actor, context }, event.id, assertFormVersion(form), changeId);
      return after(view, changeId);
    },
    again: ({ read, params, fault, ui }) =>
      read(async (tx, actor) => {
        const event = await eventOf(tx, params);
        const view = await loadEvents(tx, event.study_id);
        const trial = await trialWithout({ tx, actor }, view.study, event.id);
        return { title: ui.words.events.remove, content: h(DeleteEventPage, { view, event, trial, fault }) };
      }),
  }),
];
