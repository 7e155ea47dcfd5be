import { normalize } from 'node:path/posix';
import { partContent } from './archive.js';
import type { Part } from './archive.js';
import { unreadable } from './unreadable.js';
import { prefixedAttribute, readXml } from './xml.js';

/** The parts that define the rows of a workbook's first sheet. */
export interface Book {
  sheet: Part;
  name: string;
  /** The workbook's number of sheets. */
  sheets: number;
  hidden: boolean;
  date1904: boolean;
  strings: Part | undefined;
  styles: Part | undefined;
}

interface Relationship {
  id: string;
  kind: string;
  target: string;
}
const FOLDER = 'xl/';

/**
 * Finds the first sheet in the workbook's own order, hidden or not: order and names of the archive's parts are
 * arbitrary. Chart sheets have no cells and are skipped.
 * @throws 400 FILE_UNREADABLE
 */
export async function openBook(parts: Map<string, Part>): Promise<Book> {
  const sheets: { name: string; id: string | undefined; hidden: boolean }[] = [];
  let date1904 = false;
  await readXml(partContent(parts.get(`${FOLDER}workbook.xml`)!), {
    open: (name, attributes) => {
      if (name === 'sheet')
        sheets.push({
          name: attributes.name ?? '',
          id: prefixedAttribute(attributes, 'id'),
          hidden: (attributes.state ?? 'visible') !== 'visible',
        });
      else if (name === 'workbookPr') date1904 = attributes.date1904 === '1' || attributes.date1904 === 'true';
    },
  });
  const relationships = await relationshipsOf(parts.get(`${FOLDER}_rels/workbook.xml.rels`));
  const partOf = (kind: string, id?: string) =>
    relationships
      .filter((one) => one.kind === kind && (id === undefined || one.id === id))
      .flatMap(({ target }) => parts.get(target) ?? [])
      .at(0);
  for (const { name, id, hidden } of sheets) {
    const sheet = id === undefined ? undefined : partOf('worksheet', id);
    if (sheet)
      return {
        sheet,
        name,
        sheets: sheets.length,
        hidden,
        date1904,
        strings: partOf('sharedstrings') ?? parts.get(`${FOLDER}sharedstrings.xml`),
        styles: partOf('styles') ?? parts.get(`${FOLDER}styles.xml`),
      };
  }
  throw unreadable('The workbook has no sheet.');
}

async function relationshipsOf(part: Part | undefined): Promise<Relationship[]> {
  const found: Relationship[] = [];
  if (!part) return found;
  await readXml(partContent(part), {
    open: (name, { Id, Type, Target }) => {
      if (name === 'Relationship' && Id !== undefined && Type !== undefined && Target !== undefined)
        found.push({ id: Id, kind: Type.slice(Type.lastIndexOf('/') + 1).toLowerCase(), target: partNamed(Target) });
    },
  });
  return found;
}

/** A target is relative to the root of the archive, or to the workbook's folder. */
const partNamed = (target: string): string => {
  const path = target.trim().replaceAll('\\', '/');
  return normalize(path.startsWith('/') ? path : FOLDER + path)
    .replace(/^\/+/, '')
    .toLowerCase();
};
