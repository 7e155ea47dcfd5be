/** A failed check of the demo: one sentence for the person at the terminal. */
export class DemoFault extends Error {}

/** @throws DemoFault with this sentence when the condition does not hold */
export function demand(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new DemoFault(sentence);
}

/** Adds lines below the current step: a short name, and a text or an address. */
export type Tell = (name: string, text: string) => void;

const INDENT = ' '.repeat(8);
const NAME_WIDTH = 14;

/** Prints the story step by step, each with its tick and time; remembers which one failed. */
export class Telling {
  private count = 0;

  constructor(private readonly print: (line: string) => void) {}

  /** Runs one step. Its lines appear below its title when it ends. @throws DemoFault naming the step */
  async step<T>(title: string, work: (tell: Tell) => Promise<T>): Promise<T> {
    this.count += 1;
    const began = performance.now();
    const lines: string[] = [];
    const tell: Tell = (name, text) => {
      lines.push(`${INDENT}${name.padEnd(NAME_WIDTH)} ${text}`);
    };
    const show = (mark: string) =>
      this.print([`${mark} ${String(this.count).padStart(2)}. ${title} (${seconds(began)})`, ...lines, ''].join('\n'));
    try {
      const result = await work(tell);
      show('✓');
      return result;
    } catch (fault) {
      show('✗');
      throw new DemoFault(
        `Step ${this.count} failed ("${title}"): ${fault instanceof Error ? fault.message : String(fault)}`,
        { cause: fault },
      );
    }
  }
}

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/** Rows under a heading, as wide as their widest cell. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heading.map((cell, column) =>
    Math.max(...[heading, ...rows].map((row) => [...(row[column] ?? '')].length), cell.length),
  );
  const padded = (cell: string, column: number) => cell + ' '.repeat((widths[column] ?? 0) - [...cell].length);
  const line = (cells: readonly string[]) => `  ${cells.map(padded).join(' | ')}`.trimEnd();
  return [line(heading), `  ${widths.map((width) => '-'.repeat(width)).join('-+-')}`, ...rows.map(line)].join('\n');
}
