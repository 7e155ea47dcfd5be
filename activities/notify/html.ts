/** HTML of mails: plain elements with their styles beside them, as mail programs understand it. */
export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** A line of text, its addresses made links. */
export const line = (text: string): string =>
  escaped(text)
    .replaceAll(/https?:\/\/[^\s<]+/g, (url) => `<a href="${url}">${url}</a>`)
    .replaceAll('\n', '<br>');

/** A whole mail around what is HTML already. */
export const mailPage = (language: string, title: string, inside: string): string =>
  `<!doctype html><html lang="${escaped(language)}"><head><meta charset="utf-8"><title>${escaped(title)}</title></head><body style="font-family:sans-serif;line-height:1.5;max-width:36rem">${inside}</body></html>`;
