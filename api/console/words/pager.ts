/** Words of lists that have several pages. */
export const en = {
  label: 'Pages',
  more: 'Next page',
  less: 'Previous page',
  shown: (from: number, to: number, total: number) => `${from} to ${to} of ${total}`,
};

export const de: typeof en = {
  label: 'Seiten',
  more: 'Nächste Seite',
  less: 'Vorige Seite',
  shown: (from, to, total) => `${from} bis ${to} von ${total}`,
};
