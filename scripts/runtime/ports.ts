import { createServer, type Server } from 'node:net';
import { randomInt } from 'node:crypto';
import { errorCode } from './processes.js';
import { StartError } from './start-error.js';

/** A port that is reserved until just before its part starts. */
export interface Reservation {
  port: number;
  release(): Promise<void>;
}

/**
 * `auto` stays below the ephemeral range (from 32768 on Linux, 49152 elsewhere): an outgoing connection could take a
 * port of that range while its part is being restarted.
 */
const AUTO = { from: 20_000, to: 32_000 };

/** The address of a port, and the setting that it comes from. */
export interface Address {
  host: string;
  setting: string;
}

/**
 * Reserves all ports or none.
 * @param addressOf the address of each, or of all @param wanted setting name → number or `auto`
 * @throws StartError naming every taken port, and every address that cannot be used, with its setting
 */
export async function reservePorts<Name extends string>(
  addressOf: string | ((name: Name) => string | Address),
  wanted: Record<Name, number | 'auto'>,
): Promise<Record<Name, Reservation>> {
  const held: Partial<Record<Name, Reservation>> = {};
  const faults: string[] = [];
  for (const [name, port] of Object.entries(wanted) as [Name, number | 'auto'][]) {
    const address = typeof addressOf === 'string' ? addressOf : addressOf(name);
    const { host, setting } = typeof address === 'string' ? { host: address, setting: undefined } : address;
    try {
      held[name] = port === 'auto' ? await reserveAny(host) : await reserve(host, port);
    } catch (fault) {
      faults.push(faultOf(name, port, { host, setting }, fault));
    }
  }
  if (faults.length > 0) {
    await Promise.all(Object.values<Reservation | undefined>(held).map((reservation) => reservation?.release()));
    throw new StartError([...new Set(faults)].join('\n'));
  }
  return held as Record<Name, Reservation>;
}

/** Errors of an address that is not of this machine, or none. */
const NO_ADDRESS = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL', 'EAFNOSUPPORT'];

function faultOf(
  name: string,
  port: number | 'auto',
  { host, setting }: { host: string; setting: string | undefined },
  fault: unknown,
): string {
  if (setting !== undefined && NO_ADDRESS.includes(errorCode(fault) ?? ''))
    return `${setting} ${host} is not an address of this machine.`;
  if (errorCode(fault) === 'EADDRINUSE')
    return `Port ${port} on ${host} is taken by another program: set ${name} to another one, or to auto.`;
  if (errorCode(fault) === 'EACCES')
    return `Port ${port} on ${host} may not be used by this user: set ${name} to one above 1023, or to auto.`;
  return `${name} ${port} cannot be used on the address ${host}: ${(fault as Error).message}.`;
}

async function reserveAny(host: string): Promise<Reservation> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    try {
      return await reserve(host, randomInt(AUTO.from, AUTO.to));
    } catch (fault) {
      if (errorCode(fault) !== 'EADDRINUSE') throw fault;
    }
  }
  throw new Error(`no free port was found between ${AUTO.from} and ${AUTO.to}`);
}

async function reserve(host: string, port: number): Promise<Reservation> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen({ host, port, exclusive: true }, done);
  });
  return { port, release: () => closed(server) };
}

const closed = (server: Server) =>
  new Promise<void>((done, failed) => {
    if (!server.listening) done();
    else server.close((fault) => (fault ? failed(fault) : done()));
  });
