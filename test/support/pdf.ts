import { inflateSync } from 'node:zlib';

export interface PdfRead {
  title: string;
  language: string;
  tagged: boolean;
  pages: number;
  box: [number, number];
  bookmarks: string[];
  /** Names of the fonts that it embeds; `Type3` of one that is only drawings of characters. */
  fonts: string[];
  text: string;
}

/**
 * Reads a PDF as the browser writes it (PDF 1.4: objects in the open, streams deflated): what stands about it and its
 * text.
 */
export function readPdf(bytes: Buffer): PdfRead {
  const raw = bytes.toString('latin1');
  if (!raw.startsWith('%PDF-') || !raw.trimEnd().endsWith('%%EOF')) throw new Error('not a whole PDF');
  const objects = new Map<string, string>();
  for (const [, id, body] of raw.matchAll(/(?:^|\n)(\d+) 0 obj\s([\s\S]*?)\nendobj/g)) objects.set(id!, body!);
  const streamOf = (body: string): string => {
    const at = body.search(/stream\r?\n/);
    if (at < 0) return '';
    const begin = at + /^stream\r?\n/.exec(body.slice(at))![0].length;
    // By its length: its last byte may well be one that ends a line.
    const data = Buffer.from(
      body.slice(begin, begin + Number(/\/Length (\d+)(?! \d+ R)/.exec(body.slice(0, at))![1])),
      'latin1',
    );
    return body.includes('/FlateDecode') ? inflateSync(data).toString('latin1') : data.toString('latin1');
  };
  const reference = (body: string, name: string) => new RegExp(`/${name} (\\d+) 0 R`).exec(body)?.[1];
  const fonts = new Map<string, Map<number, string>>();
  for (const [id, body] of objects) {
    const table = body.includes('/Type /Font') ? reference(body, 'ToUnicode') : undefined;
    if (table) fonts.set(`F${id}`, characters(streamOf(objects.get(table)!)));
  }
  const pages = [...objects.values()].filter((body) => /\/Type \/Page\b(?!s)/.test(body));
  const text = pages.map((page) => textOf(streamOf(objects.get(reference(page, 'Contents')!)!), fonts)).join('\n');
  const box = /\/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/.exec(raw)!;
  const titles = [...raw.matchAll(/\/Title (\((?:\\.|[^\\)])*\)|<[0-9A-F]*>)/g)].map(([, given]) => stringOf(given!));
  return {
    title: titles[0] ?? '',
    bookmarks: titles.slice(1),
    language: /\/Lang \((\w+)\)/.exec(raw)?.[1] ?? '',
    tagged: /\/Marked true/.test(raw),
    pages: pages.length,
    fonts: [...objects.values()]
      .filter((body) => /\/Type \/Font\b(?!Desc)/.test(body))
      .map((body) => /\/BaseFont \/(?:[A-Z]{6}\+)?([\w-]+)/.exec(body)?.[1] ?? /\/Subtype \/(\w+)/.exec(body)![1]!),
    box: [Math.round(Number(box[1])), Math.round(Number(box[2]))],
    text,
  };
}

function stringOf(given: string): string {
  if (given.startsWith('(')) return given.slice(1, -1).replaceAll(/\\(.)/g, '$1');
  const hex = Buffer.from(given.slice(1, -1), 'hex');
  return hex.subarray(2).swap16().toString('utf16le');
}

const wide = (hex: string): string => Buffer.from(hex, 'hex').swap16().toString('utf16le');

/** Glyphs to characters, of a font's ToUnicode table. */
function characters(table: string): Map<number, string> {
  const known = new Map<number, string>();
  for (const [, block] of table.matchAll(/beginbfchar([\s\S]*?)endbfchar/g))
    for (const [, from, to] of block!.matchAll(/<([0-9A-F]+)> <([0-9A-F]+)>/gi))
      known.set(parseInt(from!, 16), wide(to!));
  for (const [, block] of table.matchAll(/beginbfrange([\s\S]*?)endbfrange/g)) {
    for (const [, from, last, to] of block!.matchAll(/<([0-9A-F]+)> <([0-9A-F]+)> <([0-9A-F]+)>/gi)) {
      const first = parseInt(from!, 16),
        start = parseInt(to!, 16);
      for (let glyph = first; glyph <= parseInt(last!, 16); glyph += 1)
        known.set(glyph, String.fromCodePoint(start + glyph - first));
    }
  }
  return known;
}

/** The text of a page in the order of its drawing; Type 3 fonts have one byte a glyph, the others two. */
function textOf(content: string, fonts: ReadonlyMap<string, ReadonlyMap<number, string>>): string {
  let text = '',
    font = '';
  for (const [, name, hex, end] of content.matchAll(/\/(F\d+) [\d.]+ Tf|<([0-9A-F]*)>|\b(ET)\b/gi)) {
    if (name) font = name;
    else if (end) text += ' ';
    else {
      const known = fonts.get(font);
      const width = known && [...known.keys()].every((glyph) => glyph < 256) && hex!.length % 4 !== 0 ? 2 : 4;
      const read = (step: number) =>
        (hex!.match(new RegExp(`.{${step}}`, 'g')) ?? []).map((glyph) => known?.get(parseInt(glyph, 16)));
      const twoBytes = width === 4 ? read(4) : [undefined];
      text += (twoBytes.every((c) => c !== undefined) ? twoBytes : read(2)).join('');
    }
  }
  return text;
}
