import { Refused, call } from './call.js';
import type { Store } from './store.js';

interface Tokens {
  portal_token: string;
  refresh_token: string;
}

/** The login has ended: the participant needs a new link. Stored data stay, and are delivered afterwards. */
export class LoginNeeded extends Error {}

/**
 * The participant's own login. A refresh token is valid once, and a second use of it ends the login: so a refresh is
 * never retried, only one runs at a time, and the new tokens are stored before they are used.
 */
export class PortalTokens {
  private renewing: Promise<string> | undefined;

  constructor(
    private readonly api: string,
    private readonly store: Store,
  ) {}

  /** Opens a link from a mail or text message to the participant. */
  async open(linkToken: string): Promise<void> {
    await this.ask('/api/portal/session', { token: linkToken });
  }

  /** @param refused the rejected token: another one is needed */
  async token(refused?: string): Promise<string> {
    if (refused === undefined) return (await this.held()).portal_token;
    this.renewing ??= this.renew(refused).finally(() => {
      this.renewing = undefined;
    });
    return this.renewing;
  }

  /** Reads the tokens here, not before: those that were read while another refresh ran are used up. */
  private async renew(refused: string): Promise<string> {
    const { portal_token, refresh_token } = await this.held();
    return portal_token === refused ? this.ask('/api/portal/refresh', { refresh_token }) : portal_token;
  }

  private async held(): Promise<Tokens> {
    const tokens = await this.store.get<Tokens>('tokens');
    if (!tokens) throw new LoginNeeded('there is no login on this device');
    return tokens;
  }

  private async ask(path: string, body: object): Promise<string> {
    try {
      const tokens = await call<Tokens>(this.api + path, { body }, { attempts: 1, firstWaitMs: 0 });
      await this.store.put('tokens', tokens);
      return tokens.portal_token;
    } catch (fault) {
      throw fault instanceof Refused && fault.status === 401 ? new LoginNeeded(fault.message) : fault;
    }
  }
}
