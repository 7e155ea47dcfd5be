import type { ComponentChildren } from 'preact';

export { DefinitionList } from '../../../activities/html/definition-list.js';

export interface Column<Row> {
  title: string;
  cell: (row: Row) => ComponentChildren;
  /** The header cell of the row. */
  head?: boolean;
  numeric?: boolean;
}

/** So many columns need more room than a tablet has. */
const WIDE = 5;

/** A table that becomes a list of cards on a phone: each cell shows its column's title. */
export function Table<Row>({
  caption,
  columns,
  rows,
  rowKey,
  rowClass,
  narrow = false,
}: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  rowClass?: (row: Row) => string | undefined;
  /** It fits on a phone and stays a table there. */
  narrow?: boolean;
}) {
  return (
    <table class={narrow ? undefined : columns.length >= WIDE ? 'cards wide' : 'cards'}>
      <caption>{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ title, numeric }) => (
            <th key={title} scope="col" class={numeric ? 'numeric' : undefined}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={rowKey(row)} class={rowClass?.(row)}>
            {columns.map(({ title, cell, head, numeric }) =>
              head ? (
                <th key={title} scope="row" data-title={title}>
                  {cell(row)}
                </th>
              ) : (
                <td key={title} data-title={title} class={numeric ? 'numeric' : undefined}>
                  {/* On a phone the cell's title is beside this. */}
                  <div>{cell(row)}</div>
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
