import type { ComponentChildren, SVGAttributes } from 'preact';
import { pictureStyles } from './picture-theme.js';
import type { PictureTheme } from './picture-theme.js';
import { Style } from './style.js';

/** Rounds a coordinate: a tenth of a pixel is invisible. */
export const px = (value: number): number => Math.round(value * 10) / 10;

/** The frame of an image, with its title and a description for screen readers. */
export function Picture({
  id,
  title,
  description,
  width,
  height,
  theme = 'light',
  children,
  ...attributes
}: {
  /** Its title and description are `{id}-title` and `{id}-description`. */
  id: string;
  title: string;
  description: string;
  width: number;
  height: number;
  /** Of a picture that is a file of its own. */
  theme?: PictureTheme | undefined;
  children?: ComponentChildren;
} & Omit<SVGAttributes<SVGSVGElement>, 'id' | 'title' | 'width' | 'height'>) {
  const style = pictureStyles[theme];
  return (
    <svg
      role="img"
      aria-labelledby={`${id}-title ${id}-description`}
      xmlns="http://www.w3.org/2000/svg"
      viewBox={`0 0 ${px(width)} ${px(height)}`}
      width={px(width)}
      height={px(height)}
      {...attributes}
    >
      <title id={`${id}-title`}>{title}</title>
      <desc id={`${id}-description`}>{description}</desc>
      {style && <Style of={style} />}
      <rect width={px(width)} height={px(height)} fill="#ffffff" />
      {children}
    </svg>
  );
}
