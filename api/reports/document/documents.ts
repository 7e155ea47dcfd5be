import { chartOf } from './charts.js';
import type { Task } from './data.js';
import { participantDocument } from './participant-document.js';
import { svgOf } from './picture.js';
import { sessionDocument } from './session-document.js';
import { studyDocument } from './study-document.js';
import { Locale } from './words.js';

/** A task's result: the page of a document, or a plot's SVG. */
export async function renderPdf(task: Task): Promise<string> {
  switch (task.kind) {
    case 'plot':
      return svgOf(chartOf(task.plot, new Locale(task.language)), task.theme);
    case 'study':
      return studyDocument(task.data, task.imprint);
    case 'participant':
      return participantDocument(task.data, task.imprint);
    case 'session':
      return sessionDocument(task.data, task.imprint);
  }
}
