import { DARK_SCREEN, dark, figureColors, heatColors } from './palette.js';
import { pageStyle } from './style.js';
import type { PageStyle } from './style.js';

/** `auto`: as the reader's screen; paper is always light. */
export const pictureThemes = ['auto', 'light', 'dark'] as const;
export type PictureTheme = (typeof pictureThemes)[number];

// The chart library fills the dots of lines with #fff.
const grounds = { '#ffffff': dark.surface, '#fff': dark.surface, '#f5f7f9': '#212936' };
const texts = ['#111111', '#1f2933', '#222222', '#333333', '#444444', '#4b5563', '#54555a', '#555555'];
const quiet = new Set(['#4b5563', '#54555a', '#555555']);
const lines = ['#3c3c41', '#e2e5ea', '#d5dade', '#dbdee4', '#cfd2d7', '#b7b9be'];
const figures = {
  [figureColors.blue]: '#3f97d6',
  [figureColors.vermilion]: '#ee8345',
  [figureColors.green]: '#2fb890',
  [figureColors.orange]: '#eab04a',
  [figureColors.sky]: '#a3d5f3',
  [figureColors.purple]: '#dd9dc2',
  [figureColors.grey]: '#9aa1ad',
  // Softer ones: of bands, earlier values, lanes of the timeline.
  '#b9dcf2': '#2c4a63',
  '#d6e8f3': '#24405c',
  '#b07d00': '#d9a62e',
  '#7a5195': '#b48fd0',
  '#a11d1d': '#f08a8a',
  ...Object.fromEntries(heatColors.light.steps.map((color, i) => [color, heatColors.dark.steps[i]!])),
  [heatColors.light.figure]: heatColors.dark.figure,
};

/** Colours of pictures on a dark ground, by those on a light one. */
const DARK: Record<string, string> = {
  ...grounds,
  ...Object.fromEntries(texts.map((color) => [color, quiet.has(color) ? dark.quiet : dark.ink])),
  ...Object.fromEntries(lines.map((color) => [color, '#3a4452'])),
  ...figures,
};

/**
 * Rules for dark pictures. They override the light colours, which are attributes: a program without style sheets shows
 * a light picture.
 */
const darkRules = Object.entries(DARK)
  .map(([light, of]) => `svg[fill="${light}"],svg [fill="${light}"]{fill:${of}}svg [stroke="${light}"]{stroke:${of}}`)
  .join('');

/** For a page with pictures in it that follows the reader's screen. */
export const autoPictureCss = `@media ${DARK_SCREEN}{${darkRules}}`;

/** The style of a picture that is a file of its own; none: it is light. */
export const pictureStyles: Record<PictureTheme, PageStyle | undefined> = {
  auto: pageStyle(autoPictureCss),
  light: undefined,
  dark: pageStyle(darkRules),
};

/** For pictures that are opened by themselves: nothing is loaded, no script runs. */
export const PICTURE_POLICY = `default-src 'none'; style-src ${pictureStyles.auto!.source}; frame-ancestors 'none'`;
