import { createHash } from 'node:crypto';

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
export const Style = ({ of: { css } }: { of: PageStyle }) => <style dangerouslySetInnerHTML={{ __html: css }} />;
