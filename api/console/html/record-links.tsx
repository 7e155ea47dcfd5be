import type { Column } from './table.js';
import { useUi } from './ui.js';

/** The column that leads to the form of each row. */
export function useChangeColumn<Row>(hrefOf: (row: Row) => string, nameOf: (row: Row) => string): Column<Row> {
  const { edit, studies } = useUi().words;
  return {
    title: edit.change,
    cell: (row) => (
      <a href={hrefOf(row)} aria-label={studies.editOf(nameOf(row))}>
        {edit.change}
      </a>
    ),
  };
}

/** The button below a table that leads to the form of a new row. */
export function AddButton({ href, label }: { href: string; label: string }) {
  return (
    <p class="after-table">
      <a class="button" href={href}>
        {label}
      </a>
    </p>
  );
}
