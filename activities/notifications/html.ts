/** HTML of mails: plain elements with their styles beside them, as mail programs understand it. */
export const escapeMailHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** A line of text, its addresses made links. */
export const line = (text: string): string =>
  escapeMailHtml(text)
    .replaceAll(/https?:\/\/[^\s<]+/g, (url) => `<a href="${url}">${url}</a>`)
    .replaceAll('\n', '<br>');

/** Text with empty lines between its paragraphs. `button`: what an address that is a paragraph of its own is shown as. */
export const paragraphs = (text: string, button?: { url: string; says: string }): string =>
  text
    .split(/\n{2,}/)
    .map((one) => (button && one.trim() === button.url ? buttonOf(button) : `<p>${line(one)}</p>`))
    .join('\n');

/** The address stands below it: who distrusts a button reads where it leads. */
const buttonOf = ({ url, says }: { url: string; says: string }): string =>
  `<p><a href="${escapeMailHtml(url)}" style="display:inline-block;padding:.7em 1.4em;border-radius:.4em;background:#1f5fbf;color:#fff;text-decoration:none;font-weight:600">${escapeMailHtml(says)}</a></p>\n<p style="font-size:.85em">${line(url)}</p>`;

/** A whole mail around what is HTML already. */
export const mailPage = (language: string, title: string, inside: string): string =>
  `<!doctype html><html lang="${escapeMailHtml(language.replaceAll('_', '-'))}" dir="auto"><head><meta charset="utf-8"><title>${escapeMailHtml(title)}</title></head><body style="font-family:sans-serif;line-height:1.5;max-width:36rem">${inside}</body></html>`;
