import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** What goes over the link: everything; nothing, and anyone who connects is reset; nothing, and nobody is told. */
type State = 'whole' | 'cut' | 'held';

/**
 * A TCP connection between two parts of the service that can be cut, or held so that nothing passes and nobody is told.
 */
export class Link {
  private state: State = 'whole';
  private readonly pairs = new Set<readonly [Socket, Socket]>();
  /** Taken while the link was held: connected when it is healed. */
  private waiting: Socket[] = [];
  private turn = 0;
  private constructor(
    private readonly server: Server,
    private readonly ports: () => readonly number[],
  ) {}

  /**
   * Listens on a free port of loopback.
   * @param ports where it leads: of several the next one that takes the connection, in turn
   */
  static async open(ports: () => readonly number[]): Promise<Link> {
    const server = createServer({ noDelay: true });
    const link = new Link(server, ports);
    server.on('connection', (socket) => link.take(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return link;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Resets what is open and what comes. */
  cut(): void {
    this.state = 'cut';
    for (const pair of this.pairs) for (const socket of pair) socket.destroy();
    for (const socket of this.waiting.splice(0)) socket.destroy();
  }

  /** Lets nothing through, in neither direction, without a word: as a cable that is pulled. */
  hold(): void {
    this.state = 'held';
    for (const [near, far] of this.pairs) {
      near.unpipe(far);
      far.unpipe(near);
      near.pause();
      far.pause();
    }
  }

  heal(): void {
    const before = this.state;
    this.state = 'whole';
    if (before === 'held')
      for (const [near, far] of this.pairs) {
        near.pipe(far);
        far.pipe(near);
      }
    for (const socket of this.waiting.splice(0)) this.lead(socket, this.ports().length);
  }

  async close(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
  }

  private take(socket: Socket): void {
    // A reset is what this is for; both ends are told by the pair's end.
    socket.on('error', () => socket.destroy());
    if (this.state === 'cut') socket.destroy();
    else if (this.state === 'held') this.waiting.push(socket);
    else this.lead(socket, this.ports().length);
  }

  private lead(near: Socket, attempts: number): void {
    const ports = this.ports();
    const port = ports[this.turn++ % ports.length];
    if (port === undefined || attempts === 0) {
      near.destroy();
      return;
    }
    const far = connect({ host: '127.0.0.1', port, noDelay: true });
    let connected = false;
    far.once('connect', () => {
      connected = true;
      const pair = [near, far] as const;
      this.pairs.add(pair);
      const over = () => {
        this.pairs.delete(pair);
        near.destroy();
        far.destroy();
      };
      near.once('close', over);
      far.once('close', over);
      if (near.destroyed || this.state === 'cut') over();
      else if (this.state === 'whole') {
        near.pipe(far);
        far.pipe(near);
      }
    });
    far.on('error', () => {
      far.destroy();
      if (!connected) this.lead(near, attempts - 1);
    });
  }
}
