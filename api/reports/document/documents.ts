import type { TaskReport } from '../../../db/reports/study.queries.js';
import { chartOf } from './charts.js';
import type { Imprint, ParticipantData, Plot, SessionData, StudyData, Task } from './data.js';
import { document, facts, figure, table } from './page.js';
import type { Section } from './page.js';
import { escapeHtml } from './markup.js';
import { studySections } from './study-sections.js';
import { svgOf } from './svg.js';
import { Locale } from './words.js';
import type { ReportLanguage } from './words.js';

/** A task's result: the page of a document, or a plot's SVG. */
export async function renderPdf(task: Task): Promise<string> {
  switch (task.kind) {
    case 'plot':
      return plotSvg(task.plot, task.language);
    case 'study':
      return study(task.data, task.imprint);
    case 'participant':
      return participant(task.data, task.imprint);
    case 'session':
      return session(task.data, task.imprint);
  }
}

const plotSvg = (plot: Plot, language: ReportLanguage): string => svgOf(chartOf(plot, new Locale(language)));
const day = (speech: Locale, at: string | null): string => (at === null ? '–' : speech.date(at.slice(0, 10)));

function study({ study: head, ...data }: StudyData, imprint: Imprint): Promise<string> {
  const speech = new Locale(imprint.language),
    { words: w } = speech;
  const sections = studySections({ study: head, ...data }, speech).map(
    ({ title, tiles, plot, parts, notes }): Section => ({
      title,
      html:
        (tiles
          ? `<div class="figures">${tiles.map(([name, value]) => `<div><b>${escapeHtml(value)}</b>${escapeHtml(name)}</div>`).join('')}</div>`
          : '') +
        (plot ? figure(svgOf(chartOf(plot, speech))) : '') +
        parts
          .map((part) => (part.title ? `<h3>${part.title}</h3>` : '') + table(part.head, part.rows, speech))
          .join('') +
        notes.map((note) => `<p>${escapeHtml(note)}</p>`).join(''),
    }),
  );
  return document(
    {
      kind: w.studyReport,
      title: head.study_name,
      subtitle: head.study_code,
      mark: head.study_code,
      facts: [
        [w.status, speech.word(head.status)],
        [w.period, speech.period(head.start_date, head.end_date)],
        [w.timezone, head.timezone],
      ],
    },
    sections,
    imprint,
    speech,
  );
}

const band = (modules: readonly TaskReport[], task: string, metric: string, speech: Locale): string => {
  const found = modules.find((m) => m.task === task)?.metrics[metric];
  return found && found.n > 0 ? `${speech.number(found.p25)} – ${speech.number(found.p75)}` : '–';
};

function participant(
  { study: head, identity, anchor, schedule, visits, sessions, metrics, modules, signatures }: ParticipantData,
  imprint: Imprint,
): Promise<string> {
  const speech = new Locale(imprint.language),
    { words: w } = speech;
  const sections: Section[] = [
    {
      title: w.identity,
      html: facts([
        [w.code, identity.participant_code],
        [w.status, identity.status === 'withdrawn' ? w.withdrawn : w.enrolled],
        [w.site, identity.site_code ?? w.noSite],
        [w.arm, identity.arm ?? '–'],
        [w.language, identity.preferred_language ?? '–'],
      ]),
    },
    {
      title: w.anchor,
      html: facts([
        [w.date, speech.date(anchor.enrollment_date)],
        [w.status, w[anchor.status as 'unset' | 'provisional' | 'finalized']],
        [w.source, speech.word(anchor.source_type ?? '–')],
        [w.override, anchor.is_override ? '✓' : '–'],
        [w.version, String(anchor.version)],
        [w.schedule, schedule ? `${w.version} ${String(schedule.version_number)}` : '–'],
      ]),
    },
    {
      title: w.visits,
      html: table(
        [w.visits, w.target, w.windowOpen, w.windowClose, w.doneAt, w.adherence.split(' ')[0]!, w.daysOff],
        visits.map((v) => [
          v.name,
          speech.date(v.target_date),
          speech.date(v.window_open),
          speech.date(v.window_close),
          day(speech, v.completed_at),
          {
            early: w.early,
            in_window: w.inWindow,
            late: w.late,
            missed: w.missed,
            pending: w.pending,
            cancelled: w.cancelled,
          }[v.adherence],
          v.days_off_target,
        ]),
        speech,
      ),
    },
    {
      title: w.course,
      html:
        metrics.length === 0
          ? table([], [], speech)
          : figure(
              svgOf(
                chartOf(
                  { name: 'course', data: { participant_code: identity.participant_code, metrics, modules } },
                  speech,
                ),
              ),
            ) +
            table(
              [w.task, w.metric, w.n, w.first, w.last, w.reference],
              metrics.map(({ task, metric, points }) => [
                task,
                metric,
                points.length,
                points[0]!.value,
                points.at(-1)!.value,
                band(modules, task, metric, speech),
              ]),
              speech,
            ),
    },
    {
      title: w.sessions,
      html: table(
        [w.started, w.status, w.source, w.language, w.tasks, w.trials],
        sessions.map((s) => [
          speech.instant(s.started_at),
          speech.word(s.status),
          speech.word(s.source),
          s.language,
          Object.keys(s.task_summaries).length,
          s.trial_count,
        ]),
        speech,
      ),
    },
    {
      title: w.signatures,
      html: table(
        [w.signedRecord, w.signer, w.meaning, w.signedAt, w.provedBy],
        signatures.map(({ kind, what, name, meaning, signed_at, proved_by }) => [
          kind === 'form' ? `${w.form_item}: ${what}` : `${w.override}: ${speech.date(what)}`,
          name,
          meaning,
          speech.instant(signed_at),
          { password: w.byPassword, totp: w.byCode, session: w.byLogin, claimed: w.byClaim }[proved_by],
        ]),
        speech,
      ),
    },
    { title: w.method, html: `<p>${escapeHtml(w.methodText)}</p>` },
  ];
  return document(
    {
      kind: w.participantReport,
      title: identity.participant_code,
      subtitle: `${head.study_name} (${head.study_code})`,
      mark: `${head.study_code} ${identity.participant_code}`,
      facts: [[w.site, identity.site_code ?? w.noSite]],
    },
    sections,
    imprint,
    speech,
  );
}

function session(
  { study: head, identity, session: s, tasks, modules }: SessionData,
  imprint: Imprint,
): Promise<string> {
  const speech = new Locale(imprint.language),
    { words: w } = speech;
  const sections: Section[] = [
    {
      title: w.session,
      html: facts([
        [w.code, identity.participant_code],
        [w.status, speech.word(s.status)],
        [w.started, speech.instant(s.started_at)],
        [w.completed, speech.instant(s.completed_at)],
        [w.source, speech.word(s.source)],
        [w.language, s.language ?? '–'],
        [w.trials, speech.count(s.trial_count)],
      ]),
    },
    {
      title: w.tasks,
      html:
        tasks.length === 0
          ? table([], [], speech)
          : tasks
              .map(
                ({ task, summary, computed_summary, quality_flags, trial_count }) =>
                  `<h3>${escapeHtml(task)} (${w.trials}: ${speech.count(trial_count)})</h3>` +
                  table(
                    [w.metric, w.value, w.fromTrials, w.reference],
                    Object.entries(summary)
                      .sort(([a], [b]) => (a < b ? -1 : 1))
                      .map(([metric, value]) => [
                        metric,
                        value,
                        computed_summary[metric] ?? null,
                        band(modules, task, metric, speech),
                      ]),
                    speech,
                  ) +
                  (quality_flags.length > 0
                    ? `<p>${w.quality}: ${escapeHtml(quality_flags.map((flag) => (typeof flag === 'string' ? flag : ((flag as { code?: string }).code ?? ''))).join(', '))}</p>`
                    : ''),
              )
              .join(''),
    },
    { title: w.method, html: `<p>${escapeHtml(w.methodText)}</p>` },
  ];
  return document(
    {
      kind: w.sessionReport,
      title: `${identity.participant_code}, ${day(speech, s.started_at)}`,
      subtitle: `${head.study_name} (${head.study_code})`,
      mark: `${head.study_code} ${identity.participant_code}`,
      facts: [[w.site, identity.site_code ?? w.noSite]],
    },
    sections,
    imprint,
    speech,
  );
}
