import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { paletteCss } from './palette.js';

/** CSS that a page carries within itself, and the source that its Content-Security-Policy allows for it. */
export interface PageStyle {
  css: string;
  /** For `style-src`. */
  source: string;
}

/** @param css rules that were written for the page; never text from outside */
export const pageStyle = (css: string): PageStyle => ({
  css,
  source: `'sha256-${createHash('sha256').update(css).digest('base64')}'`,
});

/** A style element is not escaped: browsers read no entities in it. */
// eslint-disable-next-line no-restricted-syntax -- the CSS is the page's own, never text from outside
export const Style = ({ of: { css } }: { of: PageStyle }) => <style dangerouslySetInnerHTML={{ __html: css }} />;

/** Of a page with one thing to do, such as a form of one question. */
export const smallPageCss = paletteCss('auto') + readFileSync(new URL('small-page.css', import.meta.url), 'utf8');
