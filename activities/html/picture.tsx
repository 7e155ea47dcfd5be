import type { ComponentChildren, SVGAttributes } from 'preact';

/** Rounds a coordinate: a tenth of a pixel is invisible. */
export const px = (value: number): number => Math.round(value * 10) / 10;

/** The frame of an image, with its title and a description for screen readers. */
export function Picture({
  id,
  title,
  description,
  width,
  height,
  children,
  ...attributes
}: {
  /** Its title and description are `{id}-title` and `{id}-description`. */
  id: string;
  title: string;
  description: string;
  width: number;
  height: number;
  children?: ComponentChildren;
} & Omit<SVGAttributes<SVGSVGElement>, 'id' | 'title' | 'width' | 'height'>) {
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
      <rect width={px(width)} height={px(height)} fill="#ffffff" />
      {children}
    </svg>
  );
}
