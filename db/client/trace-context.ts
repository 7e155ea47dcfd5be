/**
 * The trace of an outbox message. Nothing of OpenTelemetry is loaded here: without tracing, a message carries none
 * (db/operations/tracing.ts sets the rest).
 */
export type TraceCarrier = { traceparent?: string };

let current: () => TraceCarrier = () => ({});
let within: <T>(carrier: TraceCarrier, work: () => Promise<T>) => Promise<T> = (_carrier, work) => work();

export function useTraces(options: { current: typeof current; within: typeof within }): void {
  ({ current, within } = options);
}

/** The trace context to store with a message. */
export const carriedTrace = (): TraceCarrier => current();

/** Runs a message's work in the trace that it was written in. */
export const inCarriedTrace = <T>({ traceparent }: { traceparent?: unknown }, work: () => Promise<T>): Promise<T> =>
  within(typeof traceparent === 'string' ? { traceparent } : {}, work);
