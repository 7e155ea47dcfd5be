import { join, resolve } from 'node:path';
import type { ExportFormat } from './write.js';

/** The folder of background exports; the worker writes them, the API reads them. */
export const exportsFolder = (dataDir: string): string => join(resolve(dataDir), 'exports');
export const exportFile = (dataDir: string, id: string, format: ExportFormat): string =>
  join(exportsFolder(dataDir), `${id}.${format}`);
