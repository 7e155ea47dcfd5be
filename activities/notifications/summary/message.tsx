import { SUMMARY_GROUPS } from '../../../db/notifications/daily-summary.queries.js';
import type { DailySummary, SummaryGroup, SummaryVisit } from '../../../db/notifications/daily-summary.queries.js';
import { light } from '../../html/palette.js';
import { isolated } from '../../../workflows/domain/util/text-direction.js';
import { MailLink, renderMail } from '../mail.js';
import { summaryWords } from './words.js';
import type { SummaryWords } from './words.js';

/** The figures in display order. */
const figures = (summary: DailySummary, words: SummaryWords): [string, number][] => [
  ...(['enrolled', 'withdrawn', 'visits_completed', 'visits_missed', 'sessions_completed'] as const).map(
    (name): [string, number] => [words.yesterday[name], summary.yesterday[name]],
  ),
  ...SUMMARY_GROUPS.map((group): [string, number] => [words.groups[group], summary.visits[group].total]),
  [words.failedSyncs, summary.failed_syncs],
  [words.pendingApprovals, summary.pending_approvals],
];

/** The console’s pages that the mail links to. */
export interface SummaryPages {
  today: string;
  inbox: string;
  failedPushes: string;
}
/** The links with their texts; failed syncs only if there are any. */
const leads = (summary: DailySummary, words: SummaryWords, pages: SummaryPages | undefined): [string, string][] =>
  pages
    ? [
        [words.visitsOfToday, pages.today],
        [words.inbox, pages.inbox],
        ...(summary.failed_syncs > 0 ? ([[words.failedSyncs, pages.failedPushes]] as [string, string][]) : []),
      ]
    : [];

/**
 * A study's morning summary in its default language, as text and as HTML, with a plot of the last fourteen days. Codes
 * only, no names.
 */
export function summaryMessage(
  summary: DailySummary,
  pages?: SummaryPages,
): { subject: string; text: string; html: string } {
  const words = summaryWords(summary.default_language);
  const subject = words.subject(isolated(summary.study_code), summary.today);
  const text = [
    `${isolated(summary.study_name)} (${isolated(summary.study_code)}), ${summary.today}`,
    '',
    ...figures(summary, words).map(([label, n]) => `${label}: ${n}`),
    '',
    ...SUMMARY_GROUPS.flatMap((group) => listText(group, summary.visits[group], words)),
    `${words.byDay}:`,
    ...summary.completed_by_day.map(
      ({ day, completed }) => `  ${day}  ${'#'.repeat(Math.min(completed, 50))} ${completed}`,
    ),
    '',
    ...leads(summary, words, pages).map(([says, page]) => `${says}: ${page}`),
    '',
  ].join('\n');
  const html = renderMail(words.language, subject, <Summary of={summary} words={words} pages={pages} />);
  return { subject, text, html };
}

type Group = DailySummary['visits'][SummaryGroup];
const told = (visit: SummaryVisit, { until }: SummaryWords) =>
  `${isolated(visit.participant_code)}: ${isolated(visit.name)}, ${visit.target_date} (${until} ${visit.window_close})`;
/** The first visits of a group, and how many more there are. */
const linesOf = ({ first, total }: Group, words: SummaryWords): string[] => [
  ...first.map((visit) => told(visit, words)),
  ...(total > first.length ? [words.more(total - first.length)] : []),
];
const listText = (group: SummaryGroup, of: Group, words: SummaryWords): string[] =>
  of.first.length === 0 ? [] : [`${words.groups[group]}:`, ...linesOf(of, words).map((one) => `  ${one}`), ''];

const style = {
  h1: 'font-size:1.2em',
  h2: 'font-size:1em;margin-top:1.5em',
  table: 'border-collapse:collapse',
  figure: 'padding:.1em 1em .1em 0',
  number: 'text-align:right;font-variant-numeric:tabular-nums',
  plot: 'border-collapse:collapse;font-size:.85em',
  day: 'padding-right:.8em;white-space:nowrap',
};

/** The summary as HTML. */
function Summary({ of, words, pages }: { of: DailySummary; words: SummaryWords; pages: SummaryPages | undefined }) {
  return (
    <>
      <h1 style={style.h1}>
        <bdi>{of.study_name}</bdi> (<bdi>{of.study_code}</bdi>), {of.today}
      </h1>
      <table style={style.table}>
        {figures(of, words).map(([label, n]) => (
          <tr key={label}>
            <td style={style.figure}>{label}</td>
            <td style={style.number}>
              <b>{n}</b>
            </td>
          </tr>
        ))}
      </table>
      {SUMMARY_GROUPS.map((group) => (
        <VisitList key={group} group={group} of={of.visits[group]} words={words} />
      ))}
      <Plot days={of.completed_by_day} words={words} />
      {leads(of, words, pages).map(([says, page]) => (
        <p key={says}>
          <MailLink to={page}>{says}</MailLink>
        </p>
      ))}
    </>
  );
}

function VisitList({ group, of, words }: { group: SummaryGroup; of: Group; words: SummaryWords }) {
  if (of.first.length === 0) return null;
  return (
    <>
      <h2 style={style.h2}>{words.groups[group]}</h2>
      <ul>
        {linesOf(of, words).map((one) => (
          <li key={one}>{one}</li>
        ))}
      </ul>
    </>
  );
}

/** Bars of table cells: mail programs support neither scripts nor SVG. */
function Plot({ days, words }: { days: DailySummary['completed_by_day']; words: SummaryWords }) {
  const most = Math.max(1, ...days.map(({ completed }) => completed));
  return (
    <>
      <h2 style={style.h2}>{words.byDay}</h2>
      <table role="img" aria-label={words.plot} style={style.plot}>
        {days.map(({ day, completed }) => (
          <tr key={day}>
            <td style={style.day}>{day}</td>
            <td style="width:16em">
              <div style={`background:${light.accent};height:.8em;width:${Math.round((completed / most) * 100)}%`} />
            </td>
            <td style={`${style.number};padding-left:.5em`}>{completed}</td>
          </tr>
        ))}
      </table>
    </>
  );
}
