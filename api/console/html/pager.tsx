import { useUi } from './ui.js';

/** Ways to the pages before and after this one of a long list; nothing where one page holds all. */
export function Pager({
  skip,
  limit,
  total,
  href,
}: {
  skip: number;
  limit: number;
  total: number;
  /** The address of the page that begins after so many. */
  href: (skip: number) => string;
}) {
  const { words } = useUi();
  if (total <= limit && skip === 0) return null;
  return (
    <nav class="pages" aria-label={words.pager.label}>
      {skip > 0 && (
        <a rel="prev" href={href(Math.max(0, skip - limit))}>
          {words.pager.less}
        </a>
      )}
      <span class="quiet">{words.pager.shown(Math.min(skip + 1, total), Math.min(skip + limit, total), total)}</span>
      {skip + limit < total && (
        <a rel="next" href={href(skip + limit)}>
          {words.pager.more}
        </a>
      )}
    </nav>
  );
}

/** An address with what is not empty of a query. */
export function withQuery(path: string, query: Record<string, string | number | undefined>): string {
  const asked = Object.entries(query).filter(([, value]) => value !== undefined && value !== '' && value !== 0);
  const text = new URLSearchParams(asked.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? path : `${path}?${text}`;
}
