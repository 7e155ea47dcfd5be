import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);
interface Family {
  name: string;
  folder: string;
  /** Its style sheets, one for each weight. */
  sheets: readonly string[];
  /** The script that is used of it; undefined: all. */
  script?: string;
}
const family = (scope: string, name: string, sheets: readonly string[], script?: string): Family => ({
  name,
  folder: dirname(require.resolve(`${scope}/${name}/package.json`)),
  sheets,
  ...(script !== undefined && { script }),
});
const STATIC_CUTS = ['400.css', '600.css'];
/**
 * Noto Sans has Latin, Greek, Cyrillic and more, in static cuts, which a PDF embeds as named fonts, as have its Arabic,
 * Hebrew and Thai variants. The Japanese, Chinese and Korean ones are variable fonts, since their static cuts take
 * 200 MB; the browser embeds their characters as drawings.
 */
const families = [
  family('@fontsource', 'noto-sans', STATIC_CUTS),
  family('@fontsource', 'noto-sans-arabic', STATIC_CUTS, 'arabic'),
  family('@fontsource', 'noto-sans-hebrew', STATIC_CUTS, 'hebrew'),
  family('@fontsource', 'noto-sans-thai', STATIC_CUTS, 'thai'),
  ...['noto-sans-jp', 'noto-sans-sc', 'noto-sans-kr'].map((name) => family('@fontsource-variable', name, ['wght.css'])),
];
/** Without quotes, so that it also fits into an attribute. */
export const FONT_NAMES =
  'Noto Sans, Noto Sans Arabic, Noto Sans Hebrew, Noto Sans Thai, Noto Sans JP Variable, Noto Sans SC Variable, ' +
  'Noto Sans KR Variable, sans-serif';
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

const facesOf = async ({ folder, name, sheets, script }: Family): Promise<Face[]> =>
  (await Promise.all(sheets.map((sheet) => readFile(join(folder, sheet), 'utf8')))).flatMap((css) =>
    css
      .replaceAll('./files/', `/fonts/${name}/`)
      .match(/@font-face \{[^}]*\}/g)!
      .filter((rule) => script === undefined || rule.includes(`/${name}-${script}-`))
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
