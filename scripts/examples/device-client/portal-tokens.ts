import { Refused, call } from './call.js';
import type { Store } from './store.js';

interface Tokens {
  portal_token: string;
  refresh_token: string;
}

/** The login is over: the participant needs a new link. What the device holds stays, and is delivered after it. */
export class LoginNeeded extends Error {}

/**
 * The participant's own login. A refresh token is good once, and a second use of it ends the login: so a refresh is
 * never repeated, there is one at a time, and the new tokens are kept before they are used.
 */
export class PortalTokens {
  private renewing: Promise<string> | undefined;

  constructor(
    private readonly api: string,
    private readonly store: Store,
  ) {}

  /** Opens a link that the participant got by mail or text message. */
  async open(linkToken: string): Promise<void> {
    await this.ask('/api/portal/session', { token: linkToken });
  }

  /** @param refused the token that the service did not take: another one is wanted */
  async token(refused?: string): Promise<string> {
    const tokens = await this.store.get<Tokens>('tokens');
    if (!tokens) throw new LoginNeeded('there is no login on this device');
    if (tokens.portal_token !== refused) return tokens.portal_token;
    this.renewing ??= this.ask('/api/portal/refresh', { refresh_token: tokens.refresh_token }).finally(() => {
      this.renewing = undefined;
    });
    return this.renewing;
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
