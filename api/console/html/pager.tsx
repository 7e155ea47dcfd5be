import { useUi } from './ui.js';

/** Links to the previous and next page of a long list; nothing if one page holds all. */
export function Pager({
  skip,
  limit,
  total,
  href,
}: {
  skip: number;
  limit: number;
  total: number;
  /** The address of the page after so many items. */
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

/** An address with the non-empty parameters of a query. */
export function withQuery(path: string, query: Record<string, string | number | undefined>): string {
  const asked = Object.entries(query).filter(([, value]) => value !== undefined && value !== '' && value !== 0);
  const text = new URLSearchParams(asked.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? path : `${path}?${text}`;
}
