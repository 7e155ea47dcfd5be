import type { ComponentChildren, HTMLAttributes } from 'preact';
import { directionOf } from '../../workflows/domain/util/text-direction.js';

/** The frame of every page and mail: language, direction, character set, title. */
export function HtmlDocument({
  language,
  title,
  head,
  theme,
  properties,
  body,
  children,
}: {
  language: string;
  title: string;
  /** Further elements of the head. */
  head?: ComponentChildren;
  /** The user's theme. */
  theme?: string | undefined;
  /** Custom properties, also available in the margins of printed pages. */
  properties?: Record<`--${string}`, string> | undefined;
  /** Attributes of the body. */
  body?: (HTMLAttributes<HTMLBodyElement> & Record<`data-${string}`, string | number>) | undefined;
  children?: ComponentChildren;
}) {
  const tag = language.replaceAll('_', '-');
  return (
    <html
      lang={tag}
      dir={directionOf(tag)}
      {...(theme !== undefined && { 'data-theme': theme })}
      {...(properties && { style: properties })}
    >
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title}</title>
        {head}
      </head>
      <body {...body}>{children}</body>
    </html>
  );
}
