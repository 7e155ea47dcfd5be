import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import PostalMime, { type Address, type Mailbox } from 'postal-mime';
import { readIfThere } from '../files.js';

export interface MailAddress {
  address: string;
  name: string;
}

/** One mail in the format of maildev's API, which test tools support. */
export interface StoredMail {
  id: string;
  subject: string;
  from: MailAddress[];
  to: MailAddress[];
  cc: MailAddress[];
  replyTo: MailAddress[];
  messageId: string | null;
  /** The Date header; `time` is the time of arrival. Both ISO 8601 UTC. */
  date: string | null;
  time: string;
  text: string;
  html: string;
  headers: Record<string, string>;
  attachments: { fileName: string | null; contentType: string; length: number }[];
  envelope: { from: string; to: string[] };
  size: number;
  /** How often it was repeated: a mailbox merges mails with the same Message-ID. */
  repeated?: number;
}

/** A request to a gateway for text or push messages. */
export interface StoredMessage {
  id: string;
  time: string;
  body: unknown;
  key?: string;
}
export const CHANNELS = ['sms', 'push'] as const;
export type Channel = (typeof CHANNELS)[number];

/** Sortable by arrival, and valid as a file name. */
const newId = () => `${new Date().toISOString().replaceAll(/[-:.]/g, '')}-${randomBytes(4).toString('hex')}`;

/** Mails (the raw .eml and its content as .json) and messages in a folder, which survives a restart. */
export class MailStore {
  readonly #mails: StoredMail[];
  readonly #messages: Record<Channel, StoredMessage[]>;
  /** By Message-ID and recipients, and by channel and Idempotency-Key. */
  readonly #known = new Map<string, string>();
  /** Channels whose last line is incomplete: the next message begins another one. */
  readonly #torn = new Set<Channel>();

  constructor(private readonly folder: string) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#mails = readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .sort()
      .flatMap((name) => whole<StoredMail>(name, readFileSync(join(folder, name), 'utf8')));
    const messages = (channel: Channel) => {
      const text = readIfThere(this.#messageFile(channel)) ?? '';
      if (text !== '' && !text.endsWith('\n')) this.#torn.add(channel);
      return text
        .split('\n')
        .filter(Boolean)
        .flatMap((line) => whole<StoredMessage>(`${channel}.jsonl`, line));
    };
    this.#messages = { sms: messages('sms'), push: messages('push') };
    for (const mail of this.#mails) this.#remember(mail);
    for (const channel of CHANNELS)
      for (const { key, id } of this.#messages[channel])
        if (key !== undefined) this.#known.set(`${channel} ${key}`, id);
  }

  /** Resolves when it is on the disk: only then may the sender get a confirmation. */
  async add(raw: Buffer, envelope: StoredMail['envelope']): Promise<StoredMail> {
    const mail = await PostalMime.parse(raw);
    const known = this.#known.get(keyOf(mail.messageId ?? '', envelope.to));
    const twin = known === undefined ? undefined : this.mail(known);
    if (twin) {
      twin.repeated = (twin.repeated ?? 0) + 1;
      this.#keep(twin);
      return twin;
    }
    const stored: StoredMail = {
      id: newId(),
      subject: mail.subject ?? '',
      from: mailboxes(mail.from ? [mail.from] : []),
      to: mailboxes(mail.to ?? []),
      cc: mailboxes(mail.cc ?? []),
      replyTo: mailboxes(mail.replyTo ?? []),
      messageId: mail.messageId ?? null,
      date: mail.date ? isoOrAsIs(mail.date) : null,
      time: new Date().toISOString(),
      text: mail.text ?? '',
      html: mail.html ?? '',
      headers: Object.fromEntries(mail.headers.map((header) => [header.key, header.value])),
      attachments: mail.attachments.map(({ filename, mimeType, content }) => ({
        fileName: filename ?? null,
        contentType: mimeType,
        length: typeof content === 'string' ? content.length : content.byteLength,
      })),
      envelope,
      size: raw.length,
    };
    writeFileSync(this.#file(stored.id, 'eml'), raw, { mode: 0o600 });
    this.#keep(stored);
    this.#mails.push(stored);
    this.#remember(stored);
    return stored;
  }

  #keep(mail: StoredMail): void {
    const draft = this.#file(mail.id, 'new');
    writeFileSync(draft, JSON.stringify(mail), { mode: 0o600 });
    renameSync(draft, this.#file(mail.id, 'json'));
  }

  #remember(mail: StoredMail): void {
    if (mail.messageId !== null) this.#known.set(keyOf(mail.messageId, mail.envelope.to), mail.id);
  }

  /** Like gateways, treats a repeat under the same key as a duplicate. */
  addMessage(channel: Channel, body: unknown, key?: string): StoredMessage {
    const known = this.#known.get(`${channel} ${key ?? ''}`);
    const twin = known === undefined ? undefined : this.#messages[channel].find(({ id }) => id === known);
    if (twin) return twin;
    const message: StoredMessage = {
      id: newId(),
      time: new Date().toISOString(),
      body,
      ...(key !== undefined && { key }),
    };
    if (key !== undefined) this.#known.set(`${channel} ${key}`, message.id);
    const line = `${this.#torn.has(channel) ? '\n' : ''}${JSON.stringify(message)}\n`;
    this.#torn.add(channel);
    appendFileSync(this.#messageFile(channel), line, { mode: 0o600 });
    this.#torn.delete(channel);
    this.#messages[channel].push(message);
    return message;
  }

  /** Oldest first, as maildev lists them. */
  mails(): readonly StoredMail[] {
    return this.#mails;
  }
  mail(id: string): StoredMail | undefined {
    return this.#mails.find((mail) => mail.id === id);
  }
  messages(channel: Channel): readonly StoredMessage[] {
    return this.#messages[channel];
  }

  /** The raw mail. */
  source(mail: StoredMail): string {
    return readFileSync(this.#file(mail.id, 'eml'), 'utf8');
  }

  /** Removes one mail, or all. */
  remove(id?: string): void {
    for (const mail of this.#mails.filter((one) => id === undefined || one.id === id)) {
      for (const kind of ['json', 'eml'] as const) rmSync(this.#file(mail.id, kind), { force: true });
      this.#mails.splice(this.#mails.indexOf(mail), 1);
    }
  }

  clearMessages(channel: Channel): void {
    rmSync(this.#messageFile(channel), { force: true });
    this.#messages[channel] = [];
  }

  #file(id: string, kind: 'eml' | 'json' | 'new'): string {
    return join(this.folder, `${id}.${kind}`);
  }
  #messageFile(channel: Channel): string {
    return join(this.folder, `${channel}.jsonl`);
  }
}

/** The stored value, or none: what a crash or a full disk left incomplete does not keep the others from being read. */
function whole<T>(name: string, text: string): T[] {
  try {
    return [JSON.parse(text) as T];
  } catch (fault) {
    if (!(fault instanceof SyntaxError)) throw fault;
    console.error(`${name}: a part of what was kept is incomplete, and is passed over`);
    return [];
  }
}

const keyOf = (messageId: string, to: readonly string[]): string => `${messageId} ${[...to].sort().join(' ')}`;

/** Groups ("Team: a@x, b@x;") count as their members. */
const mailboxes = (addresses: Address[]): MailAddress[] =>
  addresses
    .flatMap((one): Mailbox[] => ('group' in one && one.group ? one.group : [one as Mailbox]))
    .map(({ address, name }) => ({ address: address ?? '', name: name ?? '' }));

function isoOrAsIs(date: string): string {
  const time = new Date(date);
  return Number.isNaN(time.getTime()) ? date : time.toISOString();
}
