import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);
interface Family {
  name: string;
  folder: string;
  /** Its style sheets, one for each weight. */
  sheets: readonly string[];
}
const family = (scope: string, name: string, sheets: readonly string[]): Family => ({
  name,
  folder: dirname(require.resolve(`${scope}/${name}/package.json`)),
  sheets,
});
/**
 * Noto Sans has Latin, Greek, Cyrillic and more, in static cuts, which a PDF embeds as named fonts. Its Japanese,
 * Chinese and Korean variants are variable fonts, since their static cuts take 200 MB; the browser embeds their
 * characters as drawings.
 */
const families = [
  family('@fontsource', 'noto-sans', ['400.css', '600.css']),
  ...['noto-sans-jp', 'noto-sans-sc', 'noto-sans-kr'].map((name) => family('@fontsource-variable', name, ['wght.css'])),
];
/** Without quotes, so that it also fits into an attribute. */
export const FONT_NAMES = 'Noto Sans, Noto Sans JP Variable, Noto Sans SC Variable, Noto Sans KR Variable, sans-serif';
/** The heavier of the two weights. */
export const BOLD = 600;
const FILE = /^[a-z0-9-]+\.woff2$/;

interface Face {
  css: string;
  ranges: readonly (readonly [number, number])[];
}

/** A face of a style sheet, with its range of characters. */
function face(css: string): Face {
  const ranges = /unicode-range:([^;]+);/
    .exec(css)![1]!
    .split(',')
    .map((range) =>
      range
        .trim()
        .slice(2)
        .split('-')
        .map((end) => Number.parseInt(end, 16)),
    );
  return { css, ranges: ranges.map(([from, to = from]) => [from!, to!] as const) };
}

const facesOf = async ({ folder, name, sheets }: Family): Promise<Face[]> =>
  (await Promise.all(sheets.map((sheet) => readFile(join(folder, sheet), 'utf8')))).flatMap((css) =>
    css
      .replaceAll('./files/', `/fonts/${name}/`)
      .match(/@font-face \{[^}]*\}/g)!
      .map(face),
  );
let faces: Promise<Face[][]> | undefined;

/** Symbols and later characters: a font may lack one of its declared range, and the next family has it. */
const SIGNS = 0x2000;

/**
 * The faces that a text needs, as a style sheet: all of them take 300 KB, which the browser would have to read for
 * every page.
 */
export async function fontCss(text: string): Promise<string> {
  const [first = [], ...others] = await (faces ??= Promise.all(families.map(facesOf)));
  const characters = new Set([...text].map((character) => character.codePointAt(0)!));
  const has =
    (wanted: ReadonlySet<number>) =>
    ({ ranges }: Face) =>
      ranges.some(([from, to]) => {
        for (let character = from; character <= to; character += 1) if (wanted.has(character)) return true;
        return false;
      });
  const known = (character: number) =>
    first.some(({ ranges }) => ranges.some(([from, to]) => from <= character && character <= to));
  const elsewhere = new Set([...characters].filter((character) => character >= SIGNS || !known(character)));
  const needed = [...first.filter(has(characters)), ...others.flat().filter(has(elsewhere))];
  return needed.map(({ css }) => css).join('\n');
}

/** A font's bytes by its path in the style sheet; undefined: none. */
export async function fontFile(path: string): Promise<Buffer | undefined> {
  const [, folder, family, file] = path.split('/');
  const known = families.find(({ name }) => name === family);
  return folder === 'fonts' && known && file !== undefined && FILE.test(file)
    ? readFile(join(known.folder, 'files', file))
    : undefined;
}
