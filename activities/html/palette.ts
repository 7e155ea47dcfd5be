/**
 * The colours of the product. Pages have them as custom properties (`paletteCss`), mails and images as values. Text has
 * a contrast of at least 4.5 to background and surface, in both themes.
 */
export const light = {
  ink: '#1b2430',
  quiet: '#55606f',
  ground: '#f5f6f8',
  surface: '#ffffff',
  line: '#dde1e7',
  edge: '#7d8795',
  accent: '#2f5fa8',
  'on-accent': '#ffffff',
  'accent-soft': '#e8effa',
  good: '#1d6b45',
  'good-soft': '#e6f4ec',
  warn: '#7a4b00',
  'warn-soft': '#fdf2dc',
  bad: '#a3262c',
  'bad-soft': '#fcebec',
} as const;

export const dark: Record<keyof typeof light, string> = {
  ink: '#e6e9ee',
  quiet: '#a4afbd',
  ground: '#12161c',
  surface: '#1a2028',
  line: '#2e3743',
  edge: '#76828f',
  accent: '#8db4f2',
  'on-accent': '#0e1722',
  'accent-soft': '#1e2d44',
  good: '#7fd0a3',
  'good-soft': '#16302a',
  warn: '#f0c277',
  'warn-soft': '#362a15',
  bad: '#f5a0a4',
  'bad-soft': '#3a2022',
};

/** Colours of the Okabe–Ito palette, for figures: distinguishable for everyone. */
export const figureColors = {
  blue: '#0072b2',
  vermilion: '#d55e00',
  green: '#009e73',
  orange: '#e69f00',
  sky: '#56b4e9',
  purple: '#cc79a7',
  grey: '#767b85',
} as const;

/** Colours of the cells of a heat map, from 0 to 100 % in steps of 20, and of the figures on them. */
export const heatColors = {
  light: { steps: ['#fdd9b5', '#f4e6da', '#deebf7', '#a5cde7', '#6baed6'], figure: '#16202b' },
  dark: { steps: ['#75451a', '#54463d', '#34465a', '#27597d', '#1a669f'], figure: '#f4f7fa' },
} as const;

/** The media query of the automatic dark theme: paper is always light. */
export const DARK_SCREEN = 'screen and (prefers-color-scheme: dark)';

/** The reader's system fonts. */
export const FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif";

const properties = (colors: Record<string, string>, scheme: 'light' | 'dark'): string =>
  [...Object.entries(colors).map(([name, value]) => `--${name}: ${value};`), `color-scheme: ${scheme};`].join(' ');

/**
 * The palette as CSS. `chosen`: the page has the user's theme, as `data-theme` (`auto`, `light`, `dark`); without it
 * the browser's preference applies. `light`: paper, always light.
 */
export function paletteCss(theme: 'auto' | 'chosen' | 'light'): string {
  const base = `:root { ${properties(light, 'light')} }\n`;
  if (theme === 'light') return base;
  const automatic = theme === 'chosen' ? "[data-theme='auto']" : ':root';
  const dimmed = properties(dark, 'dark');
  return [
    base,
    theme === 'chosen' ? `@media screen { [data-theme='dark'] { ${dimmed} } }\n` : '',
    `@media ${DARK_SCREEN} { ${automatic} { ${dimmed} } }\n`,
  ].join('');
}
