export const escapeXml = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

const cdata = (text: string): string => (text === '' ? '' : `<![CDATA[${text.replaceAll(']]>', ']]]]><![CDATA[>')}]]>`);

export const XML_HEAD = '<?xml version="1.0" encoding="UTF-8" ?>\n';

/** `<root><item><key>…</key></item></root>`, every value in CDATA. */
export function writeXml(root: string, rows: readonly Record<string, string>[]): string {
  const items = rows.map(
    (row) =>
      `<item>${Object.entries(row)
        .map(([key, value]) => `<${key}>${cdata(value)}</${key}>`)
        .join('')}</item>`,
  );
  return `${XML_HEAD}<${root}>\n${items.join('\n')}\n</${root}>`;
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decodeEntities(text: string): string {
  return text.replace(/&(#x?[0-9a-f]+|[a-z]+);/gi, (whole, name: string) => {
    if (name.startsWith('#')) {
      const code = /^#x/i.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
      return Number.isFinite(code) && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    }
    return ENTITIES[name] ?? whole;
  });
}

function elementText(inner: string): string {
  let text = '';
  let rest = inner;
  for (let start = rest.indexOf('<![CDATA['); start >= 0; start = rest.indexOf('<![CDATA[')) {
    const end = rest.indexOf(']]>', start);
    if (end < 0) throw new Error('The XML text has a CDATA section without an end.');
    text += decodeEntities(rest.slice(0, start)) + rest.slice(start + 9, end);
    rest = rest.slice(end + 3);
  }
  return text + decodeEntities(rest);
}

/**
 * Reads the two-level XML that records are imported in: a root of `<item>` elements whose children are fields.
 * Attributes and comments are skipped; document types are refused, so that no entity is ever expanded.
 */
export function parseXmlItems(xml: string): Record<string, string>[] {
  if (/<!DOCTYPE/i.test(xml)) throw new Error('The XML text must not have a document type.');
  const token = /<!\[CDATA\[[\s\S]*?\]\]>|<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<(\/?)([A-Za-z_][\w.-]*)[^>]*?(\/?)>/g;
  const items: Record<string, string>[] = [];
  const open: { name: string; from: number }[] = [];
  for (let match = token.exec(xml); match !== null; match = token.exec(xml)) {
    const [, closing, name, empty] = match;
    if (name === undefined) continue;
    if (closing === '/') {
      const element = open.pop();
      if (element?.name !== name)
        throw new Error(`The XML text closes <${name}> where <${element?.name ?? 'nothing'}> is open.`);
      const item = items.at(-1);
      if (open.length === 2 && item) item[name] = elementText(xml.slice(element.from, match.index));
    } else {
      if (open.length === 1) items.push({});
      const item = items.at(-1);
      if (empty === '/') {
        if (open.length === 2 && item) item[name] = '';
      } else open.push({ name, from: token.lastIndex });
    }
  }
  if (open.length > 0) throw new Error(`The XML text ends with <${open.at(-1)?.name ?? ''}> still open.`);
  return items;
}
