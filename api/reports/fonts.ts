import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);
/** Noto Sans has Latin, Greek, Cyrillic and more; its sisters the characters of Japanese, Chinese and Korean. */
const families = ['noto-sans', 'noto-sans-jp', 'noto-sans-sc', 'noto-sans-kr']
  .map((name) => ({ name, folder: dirname(require.resolve(`@fontsource-variable/${name}/package.json`)) }));
/** Without quotes: also inside an attribute. */
export const FONT_NAMES = 'Noto Sans Variable, Noto Sans JP Variable, Noto Sans SC Variable, Noto Sans KR Variable, sans-serif';
const FILE = /^[a-z0-9-]+\.woff2$/;

/** The faces as a style sheet; each is cut into ranges, of which a page loads those that it has characters of. */
export const fontCss = async (): Promise<string> =>
  (await Promise.all(families.map(async ({ folder, name }) => (await readFile(join(folder, 'wght.css'), 'utf8')).replaceAll('./files/', `/fonts/${name}/`)))).join('\n');

/** A font's bytes by the path that the style sheet names; undefined: there is none. */
export async function fontFile(path: string): Promise<Buffer | undefined> {
  const [, folder, family, file] = path.split('/');
  const known = families.find(({ name }) => name === family);
  return folder === 'fonts' && known && file !== undefined && FILE.test(file) ? readFile(join(known.folder, 'files', file)) : undefined;
}
