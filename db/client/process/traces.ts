import { readFileSync, statSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Imported first by a program: its traces name the sources. A map is read when a trace first leads through its file.
 * With `--enable-source-maps` the engine reads those of all packages as well, at the start: a tenth of the processor
 * time until an API or a worker is ready, and 10 to 40 MB that it then holds.
 */
Error.prepareStackTrace = (fault, frames) => [headOf(fault), ...frames.map(lineOf)].join('\n    at ');

const dist = new URL('../../../', import.meta.url).href;
const maps = new Map<string, SourceMap | undefined>();

/** As the engine begins a trace; what was thrown may fail to say what it is. */
function headOf(fault: Error): string {
  try {
    const { code } = fault as { code?: unknown };
    if (typeof code === 'string' && code.startsWith('ERR_')) return `${fault.name} [${code}]: ${fault.message}`;
    return Error.prototype.toString.call(fault);
  } catch {
    return 'Error';
  }
}

function lineOf(frame: NodeJS.CallSite): string {
  const line = frame.toString();
  const [file, row, column] = [frame.getFileName(), frame.getLineNumber(), frame.getColumnNumber()];
  if (!file?.startsWith(dist) || row === null || column === null) return line;
  if (!maps.has(file)) maps.set(file, mapOf(file));
  const found = maps.get(file)?.findEntry(row - 1, column - 1);
  if (!found || !('originalSource' in found)) return line;
  const source = fileURLToPath(new URL(found.originalSource, file));
  const place = `${source}:${found.originalLine + 1}:${found.originalColumn + 1}`;
  return line.replace(`${file}:${row}:${column}`, () => place);
}

/**
 * None where there is none or it cannot be read, and where it belongs to a later build than what runs. A trace without
 * sources is better than a fault of the map in its place.
 */
function mapOf(file: string): SourceMap | undefined {
  try {
    const path = fileURLToPath(`${file}.map`);
    if (statSync(path).mtimeMs > performance.timeOrigin) return undefined;
    return new SourceMap(JSON.parse(readFileSync(path, 'utf8')) as SourceMapPayload);
  } catch {
    return undefined;
  }
}
