import { LATELY_DAYS, SOON_DAYS, SUMMARY_GROUPS } from '../../../db/notifications/daily-summary.queries.js';
import type { DailySummary, SummaryGroup, SummaryVisit } from '../../../db/notifications/daily-summary.queries.js';
import { escapeMailHtml, mailPage } from '../html.js';

const titles: Record<SummaryGroup, string> = {
  due_today: 'Today: visits due',
  opening: 'Today: windows that open',
  closing: `Window closes within ${SOON_DAYS} days`,
  past_target: 'Past target, still in window',
  closed: `Window closed, not done (last ${LATELY_DAYS} days)`,
};

/** The figures in the order in which they are told. */
const figures = (of: DailySummary): [string, number][] => [
  ['Yesterday: enrolled', of.yesterday.enrolled],
  ['Yesterday: withdrawn', of.yesterday.withdrawn],
  ['Yesterday: visits completed', of.yesterday.visits_completed],
  ['Yesterday: visits missed', of.yesterday.visits_missed],
  ['Yesterday: sessions completed', of.yesterday.sessions_completed],
  ...SUMMARY_GROUPS.map((group): [string, number] => [titles[group], of.visits[group].total]),
  ['Failed syncs', of.failed_syncs],
  ['Pending approvals', of.pending_approvals],
];

/** The console’s pages that the mail leads to. */
export interface SummaryPages {
  today: string;
  inbox: string;
  failedPushes: string;
}
/** What each leads to, in words; failed syncs where there are any. */
const leads = (of: DailySummary, pages: SummaryPages | undefined): [string, string][] =>
  pages
    ? [
        ['Visits of today', pages.today],
        ['Inbox', pages.inbox],
        ...(of.failed_syncs > 0 ? ([['Failed syncs', pages.failedPushes]] as [string, string][]) : []),
      ]
    : [];

/**
 * The morning's summary of a study: the same as text and as HTML, with a plot of the last fourteen days. Codes only, no
 * names.
 */
export function summaryMessage(
  of: DailySummary,
  pages?: SummaryPages,
): { subject: string; text: string; html: string } {
  const subject = `[${of.study_code}] Daily summary of ${of.today}`;
  const text = [
    `${of.study_name} (${of.study_code}), ${of.today}`,
    '',
    ...figures(of).map(([label, n]) => `${label}: ${n}`),
    '',
    ...SUMMARY_GROUPS.flatMap((group) => listText(titles[group], of.visits[group])),
    'Visits completed by day:',
    ...of.completed_by_day.map(({ day, completed }) => `  ${day}  ${'#'.repeat(Math.min(completed, 50))} ${completed}`),
    '',
    ...leads(of, pages).map(([says, page]) => `${says}: ${page}`),
    '',
  ].join('\n');
  const html = mailPage(
    'en',
    subject,
    [
      `<h1 style="font-size:1.2em">${escapeMailHtml(of.study_name)} (${escapeMailHtml(of.study_code)}), ${of.today}</h1>`,
      `<table style="border-collapse:collapse">${figures(of)
        .map(
          ([label, n]) =>
            `<tr><td style="padding:.1em 1em .1em 0">${label}</td><td style="text-align:right"><b>${n}</b></td></tr>`,
        )
        .join('')}</table>`,
      ...SUMMARY_GROUPS.map((group) => listHtml(titles[group], of.visits[group])),
      plot(of.completed_by_day),
      ...leads(of, pages).map(([says, page]) => `<p><a href="${escapeMailHtml(page)}">${says}</a></p>`),
    ].join('\n'),
  );
  return { subject, text, html };
}

const more = (shown: number, total: number) => (total > shown ? [`… and ${total - shown} more`] : []);
const told = (visit: SummaryVisit) =>
  `${visit.participant_code}: ${visit.name}, ${visit.target_date} (until ${visit.window_close})`;
type Group = DailySummary['visits'][SummaryGroup];
const listText = (title: string, { first: visits, total }: Group): string[] =>
  visits.length === 0
    ? []
    : [`${title}:`, ...[...visits.map(told), ...more(visits.length, total)].map((one) => `  ${one}`), ''];
const listHtml = (title: string, { first: visits, total }: Group): string =>
  visits.length === 0
    ? ''
    : `<h2 style="font-size:1em">${title}</h2><ul>${[...visits.map(told), ...more(visits.length, total)].map((one) => `<li>${escapeMailHtml(one)}</li>`).join('')}</ul>`;

/** Bars of table cells: mail programs draw neither scripts nor SVG. */
function plot(days: DailySummary['completed_by_day']): string {
  const most = Math.max(1, ...days.map(({ completed }) => completed));
  return `<h2 style="font-size:1em">Visits completed by day</h2><table role="img" aria-label="Visits completed on each of the last fourteen days" style="border-collapse:collapse;font-size:.85em">${days
    .map(
      ({ day, completed }) =>
        `<tr><td style="padding-right:.8em">${day}</td><td style="width:16em"><div style="background:#3366aa;height:.8em;width:${Math.round((completed / most) * 100)}%"></div></td><td style="text-align:right;padding-left:.5em">${completed}</td></tr>`,
    )
    .join('')}</table>`;
}
