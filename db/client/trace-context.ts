/**
 * The trace that a message in the outbox belongs to. Nothing of OpenTelemetry is loaded here: where no traces are asked
 * for, a message carries nothing (db/operations/tracing.ts sets the rest).
 */
export type TraceCarrier = { traceparent?: string };

let current: () => TraceCarrier = () => ({});
let within: <T>(carrier: TraceCarrier, work: () => Promise<T>) => Promise<T> = (_carrier, work) => work();

export function useTraces(options: { current: typeof current; within: typeof within }): void {
  ({ current, within } = options);
}

/** What a message takes along of the trace that it is written in. */
export const carriedTrace = (): TraceCarrier => current();

/** Does what a message asks for in the trace that it was written in. */
export const inCarriedTrace = <T>({ traceparent }: { traceparent?: unknown }, work: () => Promise<T>): Promise<T> =>
  within(typeof traceparent === 'string' ? { traceparent } : {}, work);
