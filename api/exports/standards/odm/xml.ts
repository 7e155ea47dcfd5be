/** Characters that XML 1.0 does not allow. */
const UNWRITABLE = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;
const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
};
/** A text with only such characters; FHIR does not allow the others either, in any of its formats. */
export const writable = (text: string): string => text.replaceAll(UNWRITABLE, '\u{FFFD}');
const written = (text: string): string => writable(text).replaceAll(/[&<>"\t\n\r]/g, (c) => ESCAPES[c]!);

export type XmlAttributes = Record<string, string | number | null | undefined>;

/** An element; attributes without a value are omitted, content is markup already. */
export function element(name: string, attributes: XmlAttributes, content: readonly string[] | string = ''): string {
  const open = `<${name}${Object.entries(attributes)
    .map(([key, value]) => (value === null || value === undefined ? '' : ` ${key}="${written(String(value))}"`))
    .join('')}`;
  const inner = typeof content === 'string' ? content : content.join('');
  return inner === '' ? `${open}/>` : `${open}>${inner}</${name}>`;
}

/** An element that holds text. */
export const textElement = (name: string, text: string, attributes: XmlAttributes = {}): string =>
  element(name, attributes, written(text));
