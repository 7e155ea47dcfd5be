import { LATELY_DAYS, SOON_DAYS, SUMMARY_GROUPS } from '../../../db/notifications/daily-summary.queries.js';
import type { DailySummary, SummaryGroup, SummaryVisit } from '../../../db/notifications/daily-summary.queries.js';
import { light } from '../../html/palette.js';
import { isolated } from '../../../workflows/domain/util/text-direction.js';
import { MailLink, renderMail } from '../mail.js';

const titles: Record<SummaryGroup, string> = {
  due_today: 'Today: visits due',
  opening: 'Today: windows that open',
  closing: `Window closes within ${SOON_DAYS} days`,
  past_target: 'Past target, still in window',
  closed: `Window closed, not done (last ${LATELY_DAYS} days)`,
};

/** The figures in display order. */
const figures = (summary: DailySummary): [string, number][] => [
  ['Yesterday: enrolled', summary.yesterday.enrolled],
  ['Yesterday: withdrawn', summary.yesterday.withdrawn],
  ['Yesterday: visits completed', summary.yesterday.visits_completed],
  ['Yesterday: visits missed', summary.yesterday.visits_missed],
  ['Yesterday: sessions completed', summary.yesterday.sessions_completed],
  ...SUMMARY_GROUPS.map((group): [string, number] => [titles[group], summary.visits[group].total]),
  ['Failed syncs', summary.failed_syncs],
  ['Pending approvals', summary.pending_approvals],
];

/** The console’s pages that the mail links to. */
export interface SummaryPages {
  today: string;
  inbox: string;
  failedPushes: string;
}
/** The links with their texts; failed syncs only if there are any. */
const leads = (summary: DailySummary, pages: SummaryPages | undefined): [string, string][] =>
  pages
    ? [
        ['Visits of today', pages.today],
        ['Inbox', pages.inbox],
        ...(summary.failed_syncs > 0 ? ([['Failed syncs', pages.failedPushes]] as [string, string][]) : []),
      ]
    : [];

/** A study's morning summary, as text and as HTML, with a plot of the last fourteen days. Codes only, no names. */
export function summaryMessage(
  summary: DailySummary,
  pages?: SummaryPages,
): { subject: string; text: string; html: string } {
  const subject = `[${isolated(summary.study_code)}] Daily summary of ${summary.today}`;
  const text = [
    `${isolated(summary.study_name)} (${isolated(summary.study_code)}), ${summary.today}`,
    '',
    ...figures(summary).map(([label, n]) => `${label}: ${n}`),
    '',
    ...SUMMARY_GROUPS.flatMap((group) => listText(titles[group], summary.visits[group])),
    'Visits completed by day:',
    ...summary.completed_by_day.map(
      ({ day, completed }) => `  ${day}  ${'#'.repeat(Math.min(completed, 50))} ${completed}`,
    ),
    '',
    ...leads(summary, pages).map(([says, page]) => `${says}: ${page}`),
    '',
  ].join('\n');
  const html = renderMail('en', subject, <Summary of={summary} pages={pages} />);
  return { subject, text, html };
}

const more = (shown: number, total: number) => (total > shown ? [`… and ${total - shown} more`] : []);
const told = (visit: SummaryVisit) =>
  `${isolated(visit.participant_code)}: ${isolated(visit.name)}, ${visit.target_date} (until ${visit.window_close})`;
type Group = DailySummary['visits'][SummaryGroup];
const listText = (title: string, { first: visits, total }: Group): string[] =>
  visits.length === 0
    ? []
    : [`${title}:`, ...[...visits.map(told), ...more(visits.length, total)].map((one) => `  ${one}`), ''];

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
function Summary({ of, pages }: { of: DailySummary; pages: SummaryPages | undefined }) {
  return (
    <>
      <h1 style={style.h1}>
        <bdi>{of.study_name}</bdi> (<bdi>{of.study_code}</bdi>), {of.today}
      </h1>
      <table style={style.table}>
        {figures(of).map(([label, n]) => (
          <tr key={label}>
            <td style={style.figure}>{label}</td>
            <td style={style.number}>
              <b>{n}</b>
            </td>
          </tr>
        ))}
      </table>
      {SUMMARY_GROUPS.map((group) => (
        <VisitList key={group} title={titles[group]} of={of.visits[group]} />
      ))}
      <Plot days={of.completed_by_day} />
      {leads(of, pages).map(([says, page]) => (
        <p key={says}>
          <MailLink to={page}>{says}</MailLink>
        </p>
      ))}
    </>
  );
}

function VisitList({ title, of: { first: visits, total } }: { title: string; of: Group }) {
  if (visits.length === 0) return null;
  return (
    <>
      <h2 style={style.h2}>{title}</h2>
      <ul>
        {[...visits.map(told), ...more(visits.length, total)].map((one) => (
          <li key={one}>{one}</li>
        ))}
      </ul>
    </>
  );
}

/** Bars of table cells: mail programs support neither scripts nor SVG. */
function Plot({ days }: { days: DailySummary['completed_by_day'] }) {
  const most = Math.max(1, ...days.map(({ completed }) => completed));
  return (
    <>
      <h2 style={style.h2}>Visits completed by day</h2>
      <table role="img" aria-label="Visits completed on each of the last fourteen days" style={style.plot}>
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
