import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { paletteCss } from './palette.js';

/** Inline CSS of a page, and its source for the Content-Security-Policy. */
export interface PageStyle {
  css: string;
  /** For `style-src`. */
  source: string;
}

/** @param css constant rules of the page; never external text */
export const pageStyle = (css: string): PageStyle => ({
  css,
  source: `'sha256-${createHash('sha256').update(css).digest('base64')}'`,
});

/** A style element is not escaped: browsers decode no entities in it. */
// eslint-disable-next-line no-restricted-syntax -- the CSS is the page's own, never text from outside
export const Style = ({ of: { css } }: { of: PageStyle }) => <style dangerouslySetInnerHTML={{ __html: css }} />;

/** For a page with a single action, such as a form with one question. */
export const smallPageCss = paletteCss('auto') + readFileSync(new URL('small-page.css', import.meta.url), 'utf8');
