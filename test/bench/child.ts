import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A program of the bench in a process of its own, so that it shares nobody's event loop. */
export interface Child<Question, Answer> {
  pid: number;
  ask(question: Question): Promise<Answer>;
  stop(): Promise<void>;
}

interface Envelope {
  answer?: unknown;
  fault?: string;
}

/** Starts a program beside this file (`bare/api.js`) and waits for its first answer, which it gives unasked. */
export async function startChild<Question, Answer, Ready>(
  program: string,
  env: NodeJS.ProcessEnv,
): Promise<Child<Question, Answer> & { ready: Ready }> {
  const child = fork(fileURLToPath(new URL(program, import.meta.url)), [], {
    env,
    execArgv: process.execArgv,
    serialization: 'advanced',
  });
  let settle: ((envelope: Envelope) => void) | undefined;
  let early: Envelope | undefined;
  const told = (envelope: Envelope) => {
    if (settle) settle(envelope);
    else early = envelope;
  };
  child.on('message', told);
  child.once('exit', (code) => told({ fault: `it ended with ${String(code)}` }));
  // One question at a time: the next word of the child is its answer.
  const next = async (): Promise<unknown> => {
    const envelope =
      early ??
      (await new Promise<Envelope>((resolve) => {
        settle = resolve;
      }));
    settle = early = undefined;
    if (envelope.fault !== undefined) throw new Error(`${program}: ${envelope.fault}`);
    return envelope.answer;
  };
  const ready = (await next()) as Ready;
  return {
    pid: child.pid!,
    ready,
    ask: async (question) => {
      const answer = next();
      child.send(question as object);
      return (await answer) as Answer;
    },
    stop: async () => {
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
    },
  };
}

/** The child's side: answers each question; goes when its parent is gone. */
export function answer<Question, Answer>(ready: unknown, work: (question: Question) => Promise<Answer>): void {
  process.on('message', (question: Question) => {
    work(question).then(
      (given) => process.send!({ answer: given }),
      (fault: unknown) => process.send!({ fault: fault instanceof Error ? fault.stack : String(fault) }),
    );
  });
  process.on('disconnect', () => process.exit(0));
  process.send!({ answer: ready });
}
