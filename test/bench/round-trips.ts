import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** A way to a database that counts how often it is asked and waited for: what is sent in one go counts once. */
export class CountedWay {
  private trips = 0;
  private readonly sockets = new Set<Socket>();
  private constructor(
    private readonly server: ReturnType<typeof createServer>,
    private readonly to: URL,
  ) {}

  static async open(databaseUrl: string): Promise<CountedWay> {
    const server = createServer({ noDelay: true });
    const way = new CountedWay(server, new URL(databaseUrl));
    server.on('connection', (near) => way.lead(near));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return way;
  }

  /** The database's address by this way. */
  get url(): string {
    const by = new URL(this.to);
    by.hostname = '127.0.0.1';
    by.port = String((this.server.address() as AddressInfo).port);
    return by.toString();
  }

  /** How many round trips `work` takes, of all connections together. */
  async during(work: () => Promise<unknown>): Promise<number> {
    const before = this.trips;
    await work();
    return this.trips - before;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private lead(near: Socket): void {
    const far = connect({ host: this.to.hostname, port: Number(this.to.port || 5432), noDelay: true });
    let answered = true;
    near.on('data', (chunk) => {
      if (answered) this.trips += 1;
      answered = false;
      far.write(chunk);
    });
    far.on('data', (chunk) => {
      answered = true;
      near.write(chunk);
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(one);
      one.on('error', () => one.destroy());
      one.on('close', () => {
        this.sockets.delete(one);
        other.destroy();
      });
    }
  }
}
