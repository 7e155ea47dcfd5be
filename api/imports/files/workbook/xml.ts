import { StringDecoder } from 'node:string_decoder';
import { SaxesParser } from 'saxes';
import { damagedWorkbook } from './unreadable.js';

/** Limits of nesting, and of one element: far more than any part of a workbook has. */
const MAX_DEPTH = 100,
  MAX_ATTRIBUTES = 200;
/** Characters without the begin or end of an element: the parser buffers them until one comes. */
const MAX_SILENCE = 1024 * 1024;

export type Attributes = Record<string, string | undefined>;
/** The events of a document: names without prefix. */
export interface XmlReader {
  open(name: string, attributes: Attributes): void;
  close?(name: string): void;
  text?(text: string): void;
}

/**
 * Parses a document as a stream, and keeps nothing of it. The parser's own buffers are limited: a thread that reaches
 * its memory limit may take the process with it.
 * @throws 400 FILE_UNREADABLE for invalid XML; custom entities are not expanded, and refused
 */
export async function readXml(content: AsyncIterable<Buffer>, reader: XmlReader): Promise<void> {
  const parser = new SaxesParser({ position: false });
  const decoder = new StringDecoder('utf8');
  let depth = 0,
    attributes = 0,
    silence = 0;
  // No further event handlers: each is a property of the parser, which becomes four times slower with a few more.
  parser.on('error', (fault) => {
    throw damagedWorkbook(fault);
  });
  parser.on('attribute', () => {
    attributes += 1;
    if (attributes > MAX_ATTRIBUTES) throw damagedWorkbook(new Error(`more than ${MAX_ATTRIBUTES} attributes`));
  });
  parser.on('opentag', (tag) => {
    attributes = silence = 0;
    depth += 1;
    if (depth > MAX_DEPTH) throw damagedWorkbook(new Error(`more than ${MAX_DEPTH} elements in each other`));
    reader.open(local(tag.name), tag.attributes as Attributes);
  });
  parser.on('closetag', (tag) => {
    silence = 0;
    depth -= 1;
    reader.close?.(local(tag.name));
  });
  const text = (chunk: string) => reader.text?.(chunk);
  parser.on('text', text);
  parser.on('cdata', text);
  for await (const piece of content) {
    silence += piece.length;
    parser.write(decoder.write(piece));
    if (silence > MAX_SILENCE)
      throw damagedWorkbook(new Error(`more than ${MAX_SILENCE} characters without an element`));
  }
  parser.write(decoder.end()).close();
}

/** Some programs write `x:row` where most write `row`. */
const local = (name: string): string => {
  const at = name.indexOf(':');
  return at < 0 ? name : name.slice(at + 1);
};

/** An attribute in a namespace, with any prefix. */
export const prefixedAttribute = (attributes: Attributes, name: string): string | undefined =>
  Object.entries(attributes).find(([key]) => key.includes(':') && local(key) === name)?.[1];
