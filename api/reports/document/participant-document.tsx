import { metricWithUnit } from '../../../workflows/domain/assessment/metric-ranges.js';
import { DefinitionList } from '../../../activities/html/definition-list.js';
import type { Imprint, ParticipantData } from './data.js';
import { chartOf } from './charts.js';
import { Nothing, PrintedTable, document } from './page.js';
import type { Section } from './page.js';
import { PlotPicture } from './picture.js';
import { reference } from './reference.js';
import { Locale } from './words.js';

/** The page of a participant's report. */
export function participantDocument(data: ParticipantData, imprint: Imprint): Promise<string> {
  const speech = new Locale(imprint.language),
    { words: w } = speech;
  const { study, identity } = data;
  return document(
    {
      kind: w.participantReport,
      title: identity.participant_code,
      subtitle: `${study.study_name} (${study.study_code})`,
      mark: `${study.study_code} ${identity.participant_code}`,
      facts: [[w.site, identity.site_code ?? w.noSite]],
    },
    [
      ...person(data, speech),
      visits(data, speech),
      { title: w.course, content: <Course data={data} speech={speech} /> },
      sessions(data, speech),
      signatures(data, speech),
      { title: w.method, content: <p>{w.methodText}</p> },
    ],
    imprint,
    speech,
  );
}

function person({ identity, anchor, schedule }: ParticipantData, speech: Locale): Section[] {
  const { words: w } = speech;
  return [
    {
      title: w.identity,
      content: (
        <DefinitionList
          of={[
            [w.code, identity.participant_code],
            [w.status, identity.status === 'withdrawn' ? w.withdrawn : w.enrolled],
            [w.site, identity.site_code ?? w.noSite],
            [w.arm, identity.arm ?? '–'],
            [w.language, identity.preferred_language ?? '–'],
          ]}
        />
      ),
    },
    {
      title: w.anchor,
      content: (
        <DefinitionList
          of={[
            [w.date, speech.date(anchor.enrollment_date)],
            [w.status, w[anchor.status as 'unset' | 'provisional' | 'finalized']],
            [w.source, speech.word(anchor.source_type ?? '–')],
            [w.override, anchor.is_override ? '✓' : '–'],
            [w.version, String(anchor.version)],
            [w.schedule, schedule ? `${w.version} ${String(schedule.version_number)}` : '–'],
          ]}
        />
      ),
    },
  ];
}

function visits({ visits: all }: ParticipantData, speech: Locale): Section {
  const { words: w } = speech;
  const adherence = {
    early: w.early,
    in_window: w.inWindow,
    late: w.late,
    missed: w.missed,
    pending: w.pending,
    cancelled: w.cancelled,
  };
  return {
    title: w.visits,
    content: (
      <PrintedTable
        head={[w.visits, w.target, w.windowOpen, w.windowClose, w.doneAt, w.adherence.split(' ')[0]!, w.daysOff]}
        rows={all.map((v) => [
          v.name,
          speech.date(v.target_date),
          speech.date(v.window_open),
          speech.date(v.window_close),
          speech.instant(v.completed_at),
          adherence[v.adherence],
          v.days_off_target,
        ])}
        speech={speech}
      />
    ),
  };
}

function Course({ data: { identity, metrics, modules }, speech }: { data: ParticipantData; speech: Locale }) {
  const { words: w } = speech;
  if (metrics.length === 0) return <Nothing speech={speech} />;
  const { participant_code } = identity;
  return (
    <>
      <figure>
        <PlotPicture of={chartOf({ name: 'course', data: { participant_code, metrics, modules } }, speech)} />
      </figure>
      <PrintedTable
        head={[w.task, w.metric, w.n, w.first, w.last, w.reference]}
        rows={metrics.map(({ task, metric, points }) => [
          task,
          metricWithUnit(metric),
          points.length,
          points[0]!.value,
          points.at(-1)!.value,
          reference(modules, task, metric, speech),
        ])}
        speech={speech}
      />
    </>
  );
}

function sessions({ sessions: all }: ParticipantData, speech: Locale): Section {
  const { words: w } = speech;
  return {
    title: w.sessions,
    content: (
      <PrintedTable
        head={[w.started, w.status, w.source, w.language, w.tasks, w.trials]}
        rows={all.map((s) => [
          speech.instant(s.started_at),
          speech.word(s.status),
          speech.word(s.source),
          s.language,
          Object.keys(s.task_summaries).length,
          s.trial_count,
        ])}
        speech={speech}
      />
    ),
  };
}

function signatures({ signatures: all }: ParticipantData, speech: Locale): Section {
  const { words: w } = speech;
  const proofs = { password: w.byPassword, totp: w.byCode, session: w.byLogin, claimed: w.byClaim };
  return {
    title: w.signatures,
    content: (
      <PrintedTable
        head={[w.signedRecord, w.signer, w.meaning, w.signedAt, w.provedBy]}
        rows={all.map(({ kind, what, name, meaning, signed_at, proved_by }) => [
          kind === 'form' ? `${w.form_item}: ${what}` : `${w.override}: ${speech.date(what)}`,
          name,
          meaning,
          speech.instant(signed_at),
          proofs[proved_by],
        ])}
        speech={speech}
      />
    ),
  };
}
