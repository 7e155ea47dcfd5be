import type { EChartsCoreOption } from 'echarts/core';
import { figureColors } from '../../../activities/html/palette.js';

/** A plot ready to be drawn, with its description for screen readers. */
export interface DrawableChart {
  title: string;
  description: string;
  width: number;
  height: number;
  option: EChartsCoreOption;
}

export const color = {
  ...figureColors,
  band: '#d6e8f3',
  ink: '#222222',
};
/** Width of every plot, in pixels. */
export const WIDTH = 720;

/** Look of an axis. */
export const axis = { axisLine: { lineStyle: { color: color.ink } }, axisLabel: { color: color.ink, fontSize: 11 } };
/** An axis of whole numbers. */
export const counts = { type: 'value', minInterval: 1, ...axis };
