import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { loginOf } from '../knex.js';

const RECONNECT_MS = 1000;

/** A connection that receives notifications; while it is down, its users poll. */
export class Listener {
  private stopping = false;
  private client: pg.Client | undefined;
  private hears = false;

  constructor(
    private readonly options: {
      url: string;
      appPassword?: string | undefined;
      channel: string;
      /** The connection's name in the database. */
      name: string;
      heard: () => void;
      fault: (code: string) => void;
    },
  ) {}

  /** Whether it receives notifications now. */
  get listening(): boolean {
    return this.hears;
  }

  start(): void {
    void this.run();
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await this.client?.end().catch((fault: Error) => {
      this.options.fault(fault.message);
    });
  }

  private async run(): Promise<void> {
    const { url, role } = loginOf(this.options);
    while (!this.stopping) {
      const client = new pg.Client({
        connectionString: url,
        application_name: this.options.name,
        ...(role && { options: role.trim() }),
        keepAlive: true,
      });
      const gone = new Promise<void>((resolve) => {
        client.on('error', () => {
          resolve();
        });
        client.on('end', () => {
          resolve();
        });
      });
      try {
        await client.connect();
        this.client = client;
        if (this.stopping) await client.end();
        client.on('notification', this.options.heard);
        await client.query(`listen ${this.options.channel}`);
        this.hears = true;
        // Commits before it listened sent it no notification.
        this.options.heard();
        await gone;
      } catch (fault) {
        this.options.fault((fault as { code?: string }).code ?? 'fault');
      }
      this.hears = false;
      if (!this.stopping) {
        this.options.heard();
        await sleep(RECONNECT_MS, undefined, { ref: false });
      }
    }
  }
}
